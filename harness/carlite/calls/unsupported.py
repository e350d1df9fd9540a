"""Calls that a CARLA server answers and this one refuses, or has nothing to do for."""

from __future__ import annotations

from harness.carlite.calls.family import Family
from harness.carlite.rpc import Reply

calls = Family()

calls.accept(
    "load_map_layer",
    "unload_map_layer",
    "update_lights_state",
    "update_day_night_cycle",
    "draw_debug_shape",
    "clear_debug_shape",
    "clear_debug_string",
    "stop_recorder",
    "stop_replayer",
    "set_replayer_time_factor",
    "set_replayer_ignore_hero",
    "set_replayer_ignore_spectator",
    "set_annotations_traverse_translucency",
    "enable_sensor_for_ros",
    "disable_sensor_for_ros",
)
calls.refuse(
    "carlite does not record",
    Reply.VALUE,
    "start_recorder",
    "show_recorder_file_info",
    "show_recorder_collisions",
    "show_recorder_actors_blocked",
    "replay_file",
)
calls.refuse(
    "actors have no components or bones here",
    Reply.VALUE,
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
calls.refuse(
    "there are no textures here",
    Reply.VOID,
    "apply_color_texture_to_objects",
    "apply_float_color_texture_to_objects",
)
calls.refuse(
    "other physics engines are not built in", Reply.VOID, "enable_carsim", "use_carsim_road"
)
calls.refuse("other physics engines are not built in", Reply.VOID, "enable_chrono_physics")
calls.refuse("cameras have no graphics buffers here", Reply.VOID, "enable_gbuffers")
calls.refuse("cameras have no graphics buffers here", Reply.VALUE, "get_gbuffer_token")
calls.refuse("V2X sensors are not simulated", Reply.VOID, "send", "set_ignored_vehicles")


@calls.value
def query_lights_state(world: object, session: object, client: object) -> list[object]:
    """Return the street lamps that can be switched: none."""
    return []


@calls.value
def are_gbuffers_enabled(world: object, session: object, sensor: object) -> bool:
    """Whether a camera sends graphics buffers: never."""
    return False


@calls.value
def is_sensor_enabled_for_ros(world: object, session: object, stream_id: object) -> bool:
    """Whether a sensor publishes to ROS: never."""
    return False
