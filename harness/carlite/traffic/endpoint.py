"""The calls of the Traffic Manager, as the wheel's remote proxy makes them.

Why it runs in the server: decision 0013.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.carlite.errors import CallError

LARGEST = 1e9

Convert = Callable[[object], object]


def _convert_actor(value: object) -> int:
    """Actors arrive as whole records; only the id matters here."""
    return (
        _convert_actor_id(value[0])
        if isinstance(value, (list, tuple)) and value
        else _convert_actor_id(value)
    )


def _convert_actor_id(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise CallError("expected an actor")
    return value


def _convert_actors(value: object) -> list[int]:
    return [_convert_actor(item) for item in _convert_list(value)]


def _convert_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise CallError("expected a finite number")
    return float(value)


def _convert_flag(value: object) -> bool:
    if not isinstance(value, (bool, int)):
        raise CallError("expected true or false")
    return bool(value)


def _convert_seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CallError("expected an integer")
    return value & (2**64 - 1)


def _convert_list(value: object) -> list[object]:
    if not isinstance(value, (list, tuple)):
        raise CallError("expected a list")
    return list(value)


def _convert_path(value: object) -> list[tuple[float, float, float]]:
    points = [_convert_list(item) for item in _convert_list(value)]
    if any(len(point) != 3 for point in points):
        raise CallError("expected a list of locations")
    return [(_convert_number(x), _convert_number(y), _convert_number(z)) for x, y, z in points]


def _convert_route(value: object) -> list[int]:
    if isinstance(value, bytes):
        return list(value)
    return [_convert_actor_id(item) for item in _convert_list(value)]


CALLS: dict[str, tuple[Convert, ...]] = {
    "register_vehicle": (_convert_actors,),
    "unregister_vehicle": (_convert_actors,),
    "set_percentage_speed_difference": (_convert_actor, _convert_number),
    "set_global_percentage_speed_difference": (_convert_number,),
    "set_desired_speed": (_convert_actor, _convert_number),
    "set_lane_offset": (_convert_actor, _convert_number),
    "set_global_lane_offset": (_convert_number,),
    "update_vehicle_lights": (_convert_actor, _convert_flag),
    "set_collision_detection": (_convert_actor, _convert_actor, _convert_flag),
    "set_force_lane_change": (_convert_actor, _convert_flag),
    "set_auto_lane_change": (_convert_actor, _convert_flag),
    "set_distance_to_leading_vehicle": (_convert_actor, _convert_number),
    "set_global_distance_to_leading_vehicle": (_convert_number,),
    "set_percentage_ignore_walkers": (_convert_actor, _convert_number),
    "set_percentage_ignore_vehicles": (_convert_actor, _convert_number),
    "set_percentage_running_light": (_convert_actor, _convert_number),
    "set_percentage_running_sign": (_convert_actor, _convert_number),
    "keep_slow_lane_rule_percentage": (_convert_actor, _convert_number),
    "random_left_lanechange_percentage": (_convert_actor, _convert_number),
    "random_right_lanechange_percentage": (_convert_actor, _convert_number),
    "set_synchronous_mode": (_convert_flag,),
    "set_synchronous_mode_timeout_in_milisecond": (_convert_number,),
    "synchronous_tick": (),
    "health_check_remote_TM": (),
    "set_hybrid_physics_mode": (_convert_flag,),
    "set_hybrid_physics_radius": (_convert_number,),
    "set_random_device_seed": (_convert_seed,),
    "set_osm_mode": (_convert_flag,),
    "set_path": (_convert_actor, _convert_path, _convert_flag),
    "remove_custom_path": (_convert_actor_id, _convert_flag),
    "update_custom_path": (_convert_actor_id, _convert_path),
    "set_imported_route": (_convert_actor, _convert_route, _convert_flag),
    "remove_imported_route": (_convert_actor_id, _convert_flag),
    "update_imported_route": (_convert_actor_id, _convert_route),
    "set_respawn_dormant_vehicles": (_convert_flag,),
    "set_boundaries_respawn_dormant_vehicles": (_convert_number, _convert_number),
    "set_max_boundaries": (_convert_number, _convert_number),
    "get_next_action": (_convert_actor_id,),
    "get_all_actions": (_convert_actor_id,),
    "shut_down": (),
}


ASKING = frozenset(("get_next_action", "get_all_actions"))
"""Calls that only the world can answer. All others are orders, or have nothing to do with it."""

SETTLED: dict[str, object] = {"health_check_remote_TM": None, "synchronous_tick": True}
"""Calls whose answer is always the same."""


def decode_traffic_call(name: object, arguments: object) -> tuple[str, list[object]]:
    """Return a call's name and converted arguments; `CallError` says what is wrong with it."""
    converts = CALLS.get(name) if isinstance(name, str) else None
    if converts is None:
        raise CallError(f"the Traffic Manager has no call {str(name)[:80]!r}")
    values = _convert_list(arguments)
    if len(values) != len(converts):
        raise CallError(f"{name}: expected {len(converts)} arguments, got {len(values)}")
    try:
        return str(name), [convert(v) for convert, v in zip(converts, values, strict=True)]
    except CallError as error:
        raise CallError(f"{name}: {error}") from None
