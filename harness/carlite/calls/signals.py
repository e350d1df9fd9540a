"""Calls about traffic lights and signs."""

from __future__ import annotations

from harness.carlite.actors import ActorKind
from harness.carlite.calls.family import CallFamily
from harness.carlite.errors import CallError
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.world import ServerWorld

calls = CallFamily()
STATES = 5
SHORTEST_STAGE = 0.0
LONGEST_STAGE = 1e6


def _check_light_id(world: ServerWorld, actor: object) -> int:
    number = codec.decode_integer(actor, "actor")
    world.episode.population.find_resident(number, ActorKind.TRAFFIC_LIGHT)
    return number


def _mark_light_changed(world: ServerWorld, actor: object) -> int:
    """Return the id of a light that is about to be changed."""
    number = _check_light_id(world, actor)
    world.episode.touched = True
    return number


def _read_stage_seconds(value: object) -> float:
    return min(max(codec.decode_number(value, "seconds"), SHORTEST_STAGE), LONGEST_STAGE)


@calls.register_void
def set_traffic_light_state(
    world: ServerWorld, session: ClientSession, actor: object, state: object
) -> None:
    """Show a colour until the cycle goes on."""
    wanted = codec.decode_integer(state, "state")
    if not 0 <= wanted < STATES:
        raise CallError(f"set_traffic_light_state: unknown state {wanted}")
    world.episode.lights.set_state(_mark_light_changed(world, actor), wanted)


@calls.register_void
def set_traffic_light_green_time(
    world: ServerWorld, session: ClientSession, actor: object, seconds: object
) -> None:
    """Change how long a light is green."""
    world.episode.lights.set_times(
        _mark_light_changed(world, actor), green=_read_stage_seconds(seconds)
    )


@calls.register_void
def set_traffic_light_yellow_time(
    world: ServerWorld, session: ClientSession, actor: object, seconds: object
) -> None:
    """Change how long a light is yellow."""
    world.episode.lights.set_times(
        _mark_light_changed(world, actor), yellow=_read_stage_seconds(seconds)
    )


@calls.register_void
def set_traffic_light_red_time(
    world: ServerWorld, session: ClientSession, actor: object, seconds: object
) -> None:
    """Change how long everything is red after a light was yellow."""
    world.episode.lights.set_times(
        _mark_light_changed(world, actor), red=_read_stage_seconds(seconds)
    )


@calls.register_void
def freeze_all_traffic_lights(world: ServerWorld, session: ClientSession, frozen: object) -> None:
    """Stop or resume all cycles."""
    world.episode.touched = True
    world.episode.lights.freeze_cycles(codec.decode_flag(frozen, "frozen"))


@calls.register_void
def freeze_traffic_light(
    world: ServerWorld, session: ClientSession, actor: object, frozen: object
) -> None:
    """Stop or resume all cycles: as in CARLA one light cannot be frozen alone."""
    _mark_light_changed(world, actor)
    world.episode.lights.freeze_cycles(codec.decode_flag(frozen, "frozen"))


@calls.register_void
def reset_all_traffic_lights(world: ServerWorld, session: ClientSession) -> None:
    """Restart all cycles."""
    world.episode.touched = True
    world.episode.lights.reset_all()


@calls.register_void
def reset_traffic_light_group(world: ServerWorld, session: ClientSession, actor: object) -> None:
    """Restart the cycle of a light's group."""
    world.episode.lights.reset_group(_mark_light_changed(world, actor))


@calls.register_value
def get_group_traffic_lights(
    world: ServerWorld, session: ClientSession, actor: object
) -> list[int]:
    """Return the lights that take turns with a light, itself included."""
    return world.episode.lights.list_group_lights(_check_light_id(world, actor))


@calls.register_value
def get_light_boxes(world: ServerWorld, session: ClientSession, actor: object) -> object:
    """Return the boxes of a light's heads, in the world."""
    table = world.episode.table
    slot = table.find_slot(_check_light_id(world, actor))
    boxes = world.episode.scenery_state.list_light_boxes(
        table.position[slot], float(table.rotation[slot, 1])
    )
    return [codec.encode_record(box) for box in boxes]
