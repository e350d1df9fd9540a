"""Calls about actors in general: what can be spawned, spawning, looking up, destroying."""

from __future__ import annotations

from functools import cache

from harness.carlite.blueprints import library
from harness.carlite.calls.family import Family
from harness.carlite.calls.motion import pose
from harness.carlite.rpc import Session
from harness.carlite.wire import codec
from harness.carlite.wire.records import (
    ActorDefinition,
    ActorDescription,
    AttributeDefinition,
    BoundingBox,
)
from harness.carlite.world import World
from harness.carlite.world.population import Resident

calls = Family()


@cache
def definitions() -> list[object]:
    """Return the records of all blueprints, which never change."""
    return [
        codec.write(
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
        for uid, blueprint in enumerate(library().values(), start=1)
    ]


def record(world: World, session: Session, resident: Resident) -> list[object]:
    """Return the record by which a client knows an actor."""
    streams = world.episode.observation.has_stream(resident.id)
    return resident.record(session.token(resident.id) if streams else b"")


@calls.value
def get_actor_definitions(world: World, session: Session) -> object:
    """Return all blueprints."""
    return definitions()


@calls.value
def get_spectator(world: World, session: Session) -> object:
    """Return the spectator."""
    return record(world, session, world.episode.spectator)


@calls.value
def spawn_actor(world: World, session: Session, description: object, transform: object) -> object:
    """Spawn an actor."""
    wanted = codec.read(ActorDescription, description)
    resident = world.episode.spawn(wanted, pose(transform))
    return record(world, session, resident)


@calls.value
def spawn_actor_with_parent(
    world: World,
    session: Session,
    description: object,
    transform: object,
    parent: object,
    attachment: object,
    socket: object = "",
) -> object:
    """Spawn an actor that moves along with another; every attachment is rigid here."""
    wanted = codec.read(ActorDescription, description)
    parent_id = codec.integer(parent, "parent")
    resident = world.episode.spawn(wanted, pose(transform), parent_id)
    return record(world, session, resident)


@calls.value
def destroy_actor(world: World, session: Session, actor: object) -> bool:
    """Destroy an actor and what is attached to it."""
    world.episode.destroy(codec.integer(actor, "actor"))
    return True


@calls.value
def get_actors_by_id(world: World, session: Session, actors: object) -> object:
    """Return the records of those actors that exist."""
    ids = [codec.integer(one, "actor") for one in codec.items(actors, "actors")]
    residents = [world.episode.population.get(one) for one in ids]
    return [record(world, session, resident) for resident in residents if resident is not None]


@calls.value
def get_actor_bounding_box(world: World, session: Session, actor: object) -> object:
    """Return an actor's box; an empty one for actors that are gone, which clients ask for too."""
    resident = world.episode.population.get(codec.integer(actor, "actor"))
    return codec.write(resident.box if resident else BoundingBox((0, 0, 0), (0, 0, 0)))
