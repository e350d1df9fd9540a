"""The calls of the Traffic Manager, as the wheel's remote proxy makes them."""

from __future__ import annotations

from collections.abc import Callable

from harness.carlite.errors import CallError

LARGEST = 1e9

Convert = Callable[[object], object]


def _actor(value: object) -> int:
    """Actors arrive as whole records; only the id matters here."""
    return _id(value[0]) if isinstance(value, (list, tuple)) and value else _id(value)


def _id(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**32:
        raise CallError("expected an actor")
    return value


def _actors(value: object) -> list[int]:
    return [_actor(item) for item in _list(value)]


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise CallError("expected a finite number")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, (bool, int)):
        raise CallError("expected true or false")
    return bool(value)


def _seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CallError("expected an integer")
    return value & (2**64 - 1)


def _list(value: object) -> list[object]:
    if not isinstance(value, (list, tuple)):
        raise CallError("expected a list")
    return list(value)


def _path(value: object) -> list[tuple[float, float, float]]:
    points = [_list(item) for item in _list(value)]
    if any(len(point) != 3 for point in points):
        raise CallError("expected a list of locations")
    return [(_number(x), _number(y), _number(z)) for x, y, z in points]


def _route(value: object) -> list[int]:
    if isinstance(value, bytes):
        return list(value)
    return [_id(item) for item in _list(value)]


CALLS: dict[str, tuple[Convert, ...]] = {
    "register_vehicle": (_actors,),
    "unregister_vehicle": (_actors,),
    "set_percentage_speed_difference": (_actor, _number),
    "set_global_percentage_speed_difference": (_number,),
    "set_desired_speed": (_actor, _number),
    "set_lane_offset": (_actor, _number),
    "set_global_lane_offset": (_number,),
    "update_vehicle_lights": (_actor, _flag),
    "set_collision_detection": (_actor, _actor, _flag),
    "set_force_lane_change": (_actor, _flag),
    "set_auto_lane_change": (_actor, _flag),
    "set_distance_to_leading_vehicle": (_actor, _number),
    "set_global_distance_to_leading_vehicle": (_number,),
    "set_percentage_ignore_walkers": (_actor, _number),
    "set_percentage_ignore_vehicles": (_actor, _number),
    "set_percentage_running_light": (_actor, _number),
    "set_percentage_running_sign": (_actor, _number),
    "keep_slow_lane_rule_percentage": (_actor, _number),
    "random_left_lanechange_percentage": (_actor, _number),
    "random_right_lanechange_percentage": (_actor, _number),
    "set_synchronous_mode": (_flag,),
    "set_synchronous_mode_timeout_in_milisecond": (_number,),
    "synchronous_tick": (),
    "health_check_remote_TM": (),
    "set_hybrid_physics_mode": (_flag,),
    "set_hybrid_physics_radius": (_number,),
    "set_random_device_seed": (_seed,),
    "set_osm_mode": (_flag,),
    "set_path": (_actor, _path, _flag),
    "remove_custom_path": (_id, _flag),
    "update_custom_path": (_id, _path),
    "set_imported_route": (_actor, _route, _flag),
    "remove_imported_route": (_id, _flag),
    "update_imported_route": (_id, _route),
    "set_respawn_dormant_vehicles": (_flag,),
    "set_boundaries_respawn_dormant_vehicles": (_number, _number),
    "set_max_boundaries": (_number, _number),
    "get_next_action": (_id,),
    "get_all_actions": (_id,),
    "shut_down": (),
}


ASKING = frozenset(("get_next_action", "get_all_actions"))
"""Calls that only the world can answer. All others are orders, or have nothing to do with it."""

SETTLED: dict[str, object] = {"health_check_remote_TM": None, "synchronous_tick": True}
"""Calls whose answer is always the same."""


def understood(name: object, arguments: object) -> tuple[str, list[object]]:
    """Return a call's name and converted arguments; `CallError` says what is wrong with it."""
    converts = CALLS.get(name) if isinstance(name, str) else None
    if converts is None:
        raise CallError(f"the Traffic Manager has no call {str(name)[:80]!r}")
    values = _list(arguments)
    if len(values) != len(converts):
        raise CallError(f"{name}: expected {len(converts)} arguments, got {len(values)}")
    try:
        return str(name), [convert(v) for convert, v in zip(converts, values, strict=True)]
    except CallError as error:
        raise CallError(f"{name}: {error}") from None
