"""Calls that a CARLA server answers and this one refuses, or has nothing to do for."""

from __future__ import annotations

from harness.carlite.calls.family import CallFamily
from harness.carlite.rpc import ReplyKind

calls = CallFamily()

calls.accept_calls(
    "load_map_layer",
    "unload_map_layer",
    "update_lights_state",
    "update_day_night_cycle",
    "draw_debug_shape",
    "clear_debug_shape",
    "clear_debug_string",
    "set_annotations_traverse_translucency",
    "enable_sensor_for_ros",
    "disable_sensor_for_ros",
)
calls.refuse_calls(
    "actors have no components or bones here",
    ReplyKind.VALUE,
    "get_actor_component_names",
    "get_actor_component_world_transform",
    "get_actor_component_relative_transform",
    "get_actor_bone_names",
    "get_actor_bone_world_transforms",
    "get_actor_bone_relative_transforms",
    "get_vehicle_bone_world_transforms",
    "get_actor_socket_names",
    "get_actor_socket_world_transforms",
    "get_actor_socket_relative_transforms",
)
calls.refuse_calls(
    "there are no textures here",
    ReplyKind.VOID,
    "apply_color_texture_to_objects",
    "apply_float_color_texture_to_objects",
)
calls.refuse_calls(
    "other physics engines are not built in", ReplyKind.VOID, "enable_carsim", "use_carsim_road"
)
calls.refuse_calls(
    "other physics engines are not built in", ReplyKind.VOID, "enable_chrono_physics"
)
calls.refuse_calls("cameras have no graphics buffers here", ReplyKind.VOID, "enable_gbuffers")
calls.refuse_calls("cameras have no graphics buffers here", ReplyKind.VALUE, "get_gbuffer_token")
calls.refuse_calls("sensors see all vehicles here", ReplyKind.VOID, "set_ignored_vehicles")


@calls.register_value
def query_lights_state(world: object, session: object, client: object) -> list[object]:
    """Return the street lamps that can be switched: none."""
    return []


@calls.register_value
def are_gbuffers_enabled(world: object, session: object, sensor: object) -> bool:
    """Whether a camera sends graphics buffers: never."""
    return False


@calls.register_value
def is_sensor_enabled_for_ros(world: object, session: object, stream_id: object) -> bool:
    """Whether a sensor publishes to ROS: never."""
    return False
