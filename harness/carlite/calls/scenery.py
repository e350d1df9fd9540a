"""Calls about what stands at the road and what rays meet."""

from __future__ import annotations

from harness.carlite.calls.family import Family
from harness.carlite.rpc import Session
from harness.carlite.wire import codec
from harness.carlite.wire.records import LabelledPoint
from harness.carlite.world import World

calls = Family()
NOTHING = LabelledPoint((0.0, 0.0, 0.0), 0)


@calls.value
def get_names_of_all_objects(world: World, session: Session) -> list[str]:
    """Return the names of all pieces of scenery."""
    return world.episode.scenery_state.names()


@calls.value
def get_environment_objects(world: World, session: Session, label: object) -> object:
    """Return the pieces of scenery with a label, 255 standing for all."""
    wanted = codec.integer(label, "label")
    return [codec.write(piece) for piece in world.episode.scenery_state.objects(wanted)]


@calls.value
def get_all_level_BBs(world: World, session: Session, label: object) -> object:  # noqa: N802
    """Return the boxes of scenery and actors with a label, 255 standing for all."""
    wanted = codec.integer(label, "label")
    return [codec.write(box) for box in world.episode.scenery_state.boxes(wanted)]


@calls.void
def enable_environment_objects(
    world: World, session: Session, objects: object, enabled: object
) -> None:
    """Show or hide pieces of scenery."""
    ids = [codec.wide(one, "object") for one in codec.items(objects, "objects")]
    world.episode.show_scenery(ids, codec.flag(enabled, "enabled"))


@calls.value
def project_point(
    world: World, session: Session, location: object, direction: object, distance: object
) -> object:
    """Return the first surface a ray meets, if any."""
    start, way = codec.vector(location, "location"), codec.vector(direction, "direction")
    point = world.episode.scenery_state.project(start, way, codec.number(distance, "distance"))
    return [point is not None, codec.write(point or NOTHING)]


@calls.value
def cast_ray(world: World, session: Session, start: object, end: object) -> object:
    """Return all surfaces between two places."""
    ends = codec.vector(start, "start"), codec.vector(end, "end")
    return [codec.write(point) for point in world.episode.scenery_state.cast(*ends)]
