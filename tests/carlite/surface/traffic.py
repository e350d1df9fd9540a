"""carla.TrafficLight, TrafficSign and TrafficManager."""

from __future__ import annotations

from typing import Any

import carla

from tests.carlite.surface.stage import Check, Stage, Table

RED, GREEN = carla.TrafficLightState.Red, carla.TrafficLightState.Green


def _shows(stage: Stage, state: carla.TrafficLightState) -> bool:
    return stage.after(stage.light.set_state(state)) and bool(stage.light.get_state() == state)


def _keeps_time(colour: str) -> Check:
    """Set one of a light's times and read it back."""
    return lambda s: (
        s.after(getattr(s.light, f"set_{colour}_time")(7.5))
        and getattr(s.light, f"get_{colour}_time")() == 7.5
    )


LIGHT: Table = {
    "state": lambda s: s.light.state == s.light.get_state(),
    "get_state": lambda s: s.light.get_state() in (RED, GREEN, carla.TrafficLightState.Yellow),
    "set_state": lambda s: _shows(s, GREEN) and _shows(s, RED),
    **{f"{verb}_{colour}_time": _keeps_time(colour)
       for verb in ("get", "set") for colour in ("green", "yellow", "red")},
    "get_elapsed_time": lambda s: _shows(s, GREEN) and 0.0 <= s.light.get_elapsed_time() < 0.11,
    "freeze": lambda s: (
        s.after(s.light.freeze(True)) and s.light.is_frozen() and s.after(s.light.freeze(False))
    ),
    "is_frozen": lambda s: s.light.is_frozen() is False,
    "get_pole_index": lambda s: 0 <= s.light.get_pole_index() < 8,
    "get_group_traffic_lights": lambda s: (
        s.light.id in [light.id for light in s.light.get_group_traffic_lights()]
    ),
    "reset_group": lambda s: (
        s.after(s.light.reset_group()) and s.light.get_elapsed_time() < 0.11
    ),
    "get_affected_lane_waypoints": lambda s: s.light.get_affected_lane_waypoints(),
    "get_stop_waypoints": lambda s: all(
        not waypoint.is_junction and waypoint.transform.location.distance(s.light.get_location())
        < 60.0 for waypoint in s.light.get_stop_waypoints()
    ),
    "get_light_boxes": lambda s: all(
        box.extent.z > 0.0 and box.location.distance_2d(s.light.get_location()) < 20.0
        for box in s.light.get_light_boxes()
    ) and s.light.get_light_boxes(),
    "get_opendrive_id": lambda s: s.map.get_all_landmarks_from_id(s.light.get_opendrive_id()),
}  # fmt: skip

SIGN: Table = {"trigger_volume": lambda s: s.light.trigger_volume.extent.x > 0.1}


def _manager(stage: Stage) -> Any:
    return stage.client.get_trafficmanager()


def _takes(name: str, *arguments: object, of_a_car: bool = True) -> Check:
    """Set something for a car that the manager drives, and see that it still drives."""

    def ask(stage: Stage) -> bool:
        stage.car.set_autopilot(True, _manager(stage).get_port())
        values = ([stage.car] if of_a_car else []) + list(arguments)
        return stage.after(getattr(_manager(stage), name)(*values), ticks=3)

    return ask


def _drives_at(stage: Stage) -> bool:
    """Whether a car wished to be slow is slow, and in motion."""
    stage.car.set_transform(stage.place)
    stage.car.set_autopilot(True, _manager(stage).get_port())
    _manager(stage).set_desired_speed(stage.car, 9.0)
    speeds = [stage.tick() and stage.car.get_velocity().length() for _ in range(100)]
    return 1.5 < max(speeds) < 3.2


def _ignores(stage: Stage) -> bool:
    return stage.after(_manager(stage).collision_detection(stage.car, stage.other, False))


def _plans(stage: Stage) -> bool:
    ahead = [waypoint.transform.location for waypoint in stage.waypoint.next_until_lane_end(5.0)]
    return stage.after(_manager(stage).set_path(stage.car, ahead), ticks=3)


MANAGER: Table = {
    "get_port": lambda s: _manager(s).get_port() > 0,
    "set_desired_speed": _drives_at,
    "vehicle_percentage_speed_difference": _takes("vehicle_percentage_speed_difference", 20.0),
    "vehicle_lane_offset": _takes("vehicle_lane_offset", 0.2),
    "global_percentage_speed_difference": _takes(
        "global_percentage_speed_difference", 10.0, of_a_car=False
    ),
    "global_lane_offset": _takes("global_lane_offset", 0.1, of_a_car=False),
    "update_vehicle_lights": _takes("update_vehicle_lights", True),
    "collision_detection": _ignores,
    "force_lane_change": _takes("force_lane_change", True),
    "auto_lane_change": _takes("auto_lane_change", False),
    "distance_to_leading_vehicle": _takes("distance_to_leading_vehicle", 3.0),
    "set_global_distance_to_leading_vehicle": _takes(
        "set_global_distance_to_leading_vehicle", 3.0, of_a_car=False
    ),
    **{
        f"{wish}_percentage": _takes(f"{wish}_percentage", 5.0)
        for wish in (
            "ignore_walkers", "ignore_vehicles", "ignore_lights", "ignore_signs",
            "keep_slow_lane_rule", "random_left_lanechange", "random_right_lanechange",
        )
    },
    "set_synchronous_mode": _takes("set_synchronous_mode", True, of_a_car=False),
    "set_hybrid_physics_mode": _takes("set_hybrid_physics_mode", True, of_a_car=False),
    "set_hybrid_physics_radius": _takes("set_hybrid_physics_radius", 50.0, of_a_car=False),
    "set_random_device_seed": _takes("set_random_device_seed", 3, of_a_car=False),
    "set_osm_mode": _takes("set_osm_mode", False, of_a_car=False),
    "set_respawn_dormant_vehicles": _takes("set_respawn_dormant_vehicles", False, of_a_car=False),
    "set_boundaries_respawn_dormant_vehicles": _takes(
        "set_boundaries_respawn_dormant_vehicles", 25.0, 300.0, of_a_car=False
    ),
    "set_path": _plans,
    "set_route": _takes("set_route", ["Straight", "Right"]),
    "get_next_action": lambda s: isinstance(_manager(s).get_next_action(s.car), list),
    "get_all_actions": lambda s: isinstance(_manager(s).get_all_actions(s.car), list),
    "shut_down": lambda s: s.after(s.car.set_autopilot(False), _manager(s).shut_down()),
}  # fmt: skip
