"""Calls about actors in general: what can be spawned, spawning, looking up, destroying."""

from __future__ import annotations

from functools import cache

from harness.carlite.blueprints import build_blueprint_library
from harness.carlite.calls.family import CallFamily
from harness.carlite.calls.motion import read_pose
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.wire.records import (
    ActorDefinition,
    ActorDescription,
    AttributeDefinition,
    BoundingBox,
)
from harness.carlite.world import ServerWorld
from harness.carlite.world.population import Resident

calls = CallFamily()


@cache
def encode_blueprint_definitions() -> list[object]:
    """Return the records of all blueprints, which never change."""
    return [
        codec.encode_record(
            ActorDefinition(
                uid,
                blueprint.id,
                blueprint.tags,
                tuple(
                    AttributeDefinition(
                        id=a.id,
                        type=a.type,
                        value=a.value,
                        recommended=a.recommended,
                        modifiable=a.modifiable,
                        restricted=a.restrict,
                    )
                    for a in blueprint.attributes
                ),
            )
        )
        for uid, blueprint in enumerate(build_blueprint_library().values(), start=1)
    ]


def encode_actor_record(
    world: ServerWorld, session: ClientSession, resident: Resident
) -> list[object]:
    """Return the record by which a client knows an actor."""
    streams = world.episode.observation.has_stream(resident.id)
    return resident.encode_record(session.make_token(resident.id) if streams else b"")


@calls.register_value
def get_actor_definitions(world: ServerWorld, session: ClientSession) -> object:
    """Return all blueprints."""
    return encode_blueprint_definitions()


@calls.register_value
def get_spectator(world: ServerWorld, session: ClientSession) -> object:
    """Return the spectator."""
    return encode_actor_record(world, session, world.episode.spectator)


@calls.register_value
def spawn_actor(
    world: ServerWorld, session: ClientSession, description: object, transform: object
) -> object:
    """Spawn an actor."""
    wanted = codec.decode_record(ActorDescription, description)
    resident = world.episode.spawn_resident(wanted, read_pose(transform))
    return encode_actor_record(world, session, resident)


@calls.register_value
def spawn_actor_with_parent(
    world: ServerWorld,
    session: ClientSession,
    description: object,
    transform: object,
    parent: object,
    attachment: object,
    socket: object = "",
) -> object:
    """Spawn an actor that moves along with another; every attachment is rigid here."""
    wanted = codec.decode_record(ActorDescription, description)
    parent_id = codec.decode_integer(parent, "parent")
    resident = world.episode.spawn_resident(wanted, read_pose(transform), parent_id)
    return encode_actor_record(world, session, resident)


@calls.register_value
def destroy_actor(world: ServerWorld, session: ClientSession, actor: object) -> bool:
    """Destroy an actor and what is attached to it."""
    world.episode.destroy_resident(codec.decode_integer(actor, "actor"))
    return True


@calls.register_value
def get_actors_by_id(world: ServerWorld, session: ClientSession, actors: object) -> object:
    """Return the records of those actors that exist."""
    ids = [codec.decode_integer(one, "actor") for one in codec.decode_items(actors, "actors")]
    residents = [world.episode.population.get_resident(one) for one in ids]
    return [
        encode_actor_record(world, session, resident)
        for resident in residents
        if resident is not None
    ]


@calls.register_value
def get_actor_bounding_box(world: ServerWorld, session: ClientSession, actor: object) -> object:
    """Return an actor's box; an empty one for actors that are gone, which clients ask for too."""
    resident = world.episode.population.get_resident(codec.decode_integer(actor, "actor"))
    return codec.encode_record(resident.box if resident else BoundingBox((0, 0, 0), (0, 0, 0)))
