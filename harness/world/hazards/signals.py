"""Holds a junction's lights for the moment a hazard needs them, and lets them go again."""

from __future__ import annotations

from collections.abc import Iterable

import carla
import numpy as np

from harness.world.attempt_context import Stage
from harness.world.hazards.track import Track

NEAR = 3.0
"""Metres from a lane at which a stop line's waypoint belongs to it."""


class HeldLights:
    """Green for the ego and for others that are named, red for the rest of the junction.

    Where lights are frozen already, nothing is changed: whoever froze them wants them so.
    """

    def __init__(self, stage: Stage, station: float, also: Iterable[carla.Waypoint] = ()) -> None:
        lights = [
            each
            for each in stage.world.get_actors().filter("traffic.traffic_light")
            if isinstance(each, carla.TrafficLight)
        ]
        track = Track(stage.map, stage.route)
        own = next((each for each in lights if _rules_route(each, track, station)), None)
        self._group = [] if own is None else own.get_group_traffic_lights()
        lanes = list(also)
        self._green = {own.id} if own is not None else set()
        self._green |= {each.id for each in self._group if _rules_any(each, lanes)}
        self.held = False

    @property
    def exist(self) -> bool:
        """Whether the ego has a light there."""
        return bool(self._group)

    def hold(self) -> None:
        """Set and freeze them."""
        if self.held or not self._group or self._group[0].is_frozen():
            return
        self.held = True
        for each in self._group:
            green = each.id in self._green
            each.set_state(carla.TrafficLightState.Green if green else carla.TrafficLightState.Red)
        self._group[0].freeze(True)

    def release(self) -> None:
        """Let them go on."""
        if self.held:
            self._group[0].freeze(False)
            self.held = False


def _rules_route(light: carla.TrafficLight, track: Track, station: float) -> bool:
    """Say whether a light's stop line lies on the route, not far before a station."""
    for waypoint in light.get_stop_waypoints():
        place = waypoint.transform.location
        at, right = track.project(np.array([place.x, place.y]))
        yaw = np.radians(waypoint.transform.rotation.yaw) - track.pose(float(at)).yaw
        if abs(right) < 1.5 and np.cos(yaw) > 0.7 and -12.0 < station - at < 45.0:
            return True
    return False


def _rules_any(light: carla.TrafficLight, lanes: list[carla.Waypoint]) -> bool:
    """Say whether a light's stop line lies on one of these lanes, just before the junction."""
    return any(
        stop.road_id == lane.road_id and stop.lane_id * lane.lane_id > 0
        for stop in light.get_stop_waypoints()
        for lane in lanes
    )
