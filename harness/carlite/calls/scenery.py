"""Calls about what stands at the road and what rays meet."""

from __future__ import annotations

from harness.carlite.calls.family import CallFamily
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.wire.records import LabelledPoint
from harness.carlite.world import ServerWorld

calls = CallFamily()
NOTHING = LabelledPoint((0.0, 0.0, 0.0), 0)


@calls.register_value
def get_names_of_all_objects(world: ServerWorld, session: ClientSession) -> list[str]:
    """Return the names of all pieces of scenery."""
    return world.episode.scenery_state.list_names()


@calls.register_value
def get_environment_objects(world: ServerWorld, session: ClientSession, label: object) -> object:
    """Return the pieces of scenery with a label, 255 standing for all."""
    wanted = codec.decode_integer(label, "label")
    return [
        codec.encode_record(piece) for piece in world.episode.scenery_state.list_objects(wanted)
    ]


@calls.register_value
def get_all_level_BBs(world: ServerWorld, session: ClientSession, label: object) -> object:  # noqa: N802
    """Return the boxes of scenery and actors with a label, 255 standing for all."""
    wanted = codec.decode_integer(label, "label")
    return [codec.encode_record(box) for box in world.episode.scenery_state.list_boxes(wanted)]


@calls.register_void
def enable_environment_objects(
    world: ServerWorld, session: ClientSession, objects: object, enabled: object
) -> None:
    """Show or hide pieces of scenery."""
    ids = [
        codec.decode_wide_integer(one, "object") for one in codec.decode_items(objects, "objects")
    ]
    world.episode.show_scenery(ids, codec.decode_flag(enabled, "enabled"))


@calls.register_value
def project_point(
    world: ServerWorld,
    session: ClientSession,
    location: object,
    direction: object,
    distance: object,
) -> object:
    """Return the first surface a ray meets, if any."""
    start, way = (
        codec.decode_vector(location, "location"),
        codec.decode_vector(direction, "direction"),
    )
    point = world.episode.scenery_state.find_first_surface(
        start, way, codec.decode_number(distance, "distance")
    )
    return [point is not None, codec.encode_record(point or NOTHING)]


@calls.register_value
def cast_ray(world: ServerWorld, session: ClientSession, start: object, end: object) -> object:
    """Return all surfaces between two places."""
    ends = codec.decode_vector(start, "start"), codec.decode_vector(end, "end")
    return [
        codec.encode_record(point) for point in world.episode.scenery_state.find_all_surfaces(*ends)
    ]
