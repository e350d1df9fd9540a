"""Calls about traffic lights and signs."""

from __future__ import annotations

from harness.carlite.actors import Kind
from harness.carlite.calls.family import Family
from harness.carlite.errors import CallError
from harness.carlite.rpc import Session
from harness.carlite.wire import codec
from harness.carlite.world import World

calls = Family()
STATES = 5
SHORTEST_STAGE = 0.0
LONGEST_STAGE = 1e6


def _light(world: World, actor: object) -> int:
    number = codec.integer(actor, "actor")
    world.episode.population.find(number, Kind.TRAFFIC_LIGHT)
    return number


def _changed(world: World, actor: object) -> int:
    """Return the id of a light that is about to be changed."""
    number = _light(world, actor)
    world.episode.touched = True
    return number


def _seconds(value: object) -> float:
    return min(max(codec.number(value, "seconds"), SHORTEST_STAGE), LONGEST_STAGE)


@calls.void
def set_traffic_light_state(world: World, session: Session, actor: object, state: object) -> None:
    """Show a colour until the cycle goes on."""
    wanted = codec.integer(state, "state")
    if not 0 <= wanted < STATES:
        raise CallError(f"set_traffic_light_state: unknown state {wanted}")
    world.episode.lights.set_state(_changed(world, actor), wanted)


@calls.void
def set_traffic_light_green_time(
    world: World, session: Session, actor: object, seconds: object
) -> None:
    """Change how long a light is green."""
    world.episode.lights.set_times(_changed(world, actor), green=_seconds(seconds))


@calls.void
def set_traffic_light_yellow_time(
    world: World, session: Session, actor: object, seconds: object
) -> None:
    """Change how long a light is yellow."""
    world.episode.lights.set_times(_changed(world, actor), yellow=_seconds(seconds))


@calls.void
def set_traffic_light_red_time(
    world: World, session: Session, actor: object, seconds: object
) -> None:
    """Change how long everything is red after a light was yellow."""
    world.episode.lights.set_times(_changed(world, actor), red=_seconds(seconds))


@calls.void
def freeze_all_traffic_lights(world: World, session: Session, frozen: object) -> None:
    """Stop or resume all cycles."""
    world.episode.touched = True
    world.episode.lights.freeze(codec.flag(frozen, "frozen"))


@calls.void
def freeze_traffic_light(world: World, session: Session, actor: object, frozen: object) -> None:
    """Stop or resume all cycles: as in CARLA one light cannot be frozen alone."""
    _changed(world, actor)
    world.episode.lights.freeze(codec.flag(frozen, "frozen"))


@calls.void
def reset_all_traffic_lights(world: World, session: Session) -> None:
    """Restart all cycles."""
    world.episode.touched = True
    world.episode.lights.reset_all()


@calls.void
def reset_traffic_light_group(world: World, session: Session, actor: object) -> None:
    """Restart the cycle of a light's group."""
    world.episode.lights.reset_group(_changed(world, actor))


@calls.value
def get_group_traffic_lights(world: World, session: Session, actor: object) -> list[int]:
    """Return the lights that take turns with a light, itself included."""
    return world.episode.lights.group_of(_light(world, actor))


@calls.value
def get_light_boxes(world: World, session: Session, actor: object) -> object:
    """Return the boxes of a light's heads, in the world."""
    place = world.episode.table.position[world.episode.table.slot(_light(world, actor))]
    return [codec.write(box) for box in world.episode.scenery_state.light_boxes(place)]
