"""Traffic lights on a route: where they stop one, what they show, who crossed them on red."""

from __future__ import annotations

import math
from dataclasses import dataclass

import carla
import numpy as np

from harness.types.geometry import wrap_angle
from harness.types.vocabulary import LightAhead, LightState, Route
from harness.world.attempt_context import AttemptContext

ON_ROUTE = 1.5
"""Metres from the route within which a stop line's lane is the route's."""
ALIGNED = math.radians(45)
STATES: dict[carla.TrafficLightState, LightState] = {
    carla.TrafficLightState.Green: "green",
    carla.TrafficLightState.Yellow: "yellow",
    carla.TrafficLightState.Red: "red",
}


@dataclass(frozen=True, slots=True)
class RouteStopLine:
    """A stop line on the route, and the light that rules it."""

    light: carla.TrafficLight
    station: float
    clear_station: float


class RouteLights:
    """The lights a route passes."""

    def __init__(self, context: AttemptContext) -> None:
        lights = context.world.get_actors().filter("traffic.traffic_light")
        lines = [
            RouteStopLine(light, station, find_junction_clear_station(context.route, station))
            for light in lights
            for station in find_stop_stations(context.route, light)
        ]
        self._lines = sorted(lines, key=lambda line: line.station)

    def list_lights_ahead(self, station: float) -> tuple[LightAhead, ...]:
        """Return the lights whose junction has not been left yet."""
        return tuple(
            LightAhead(line.station, line.clear_station, get_light_state(line.light))
            for line in self._lines
            if line.clear_station >= station
        )

    def find_red_crossings(self, before: float, now: float) -> tuple[int, ...]:
        """Return the lights whose stop line was crossed in a tick while they were red.

        Args:
            before: metres along the route, a tick ago.
            now: metres along the route.

        Returns:
            Ids of the lights.
        """
        return tuple(
            line.light.id
            for line in self._lines
            if before < line.station <= now and get_light_state(line.light) == "red"
        )


def get_light_state(light: carla.TrafficLight) -> LightState:
    """Return what a light shows."""
    return STATES.get(light.get_state(), "off")


def find_stop_stations(route: Route, light: carla.TrafficLight) -> list[float]:
    """Return where on the route this light's stop lines are."""
    stations = []
    for waypoint in light.get_stop_waypoints():
        # (rows,) m between the stop line and the route
        place, yaw = waypoint.transform.location, math.radians(waypoint.transform.rotation.yaw)
        # only rows that lead the same way: the stop line of the opposite lane is near as well
        gaps = np.hypot(route.xyz[:, 0] - place.x, route.xyz[:, 1] - place.y)
        turned = np.abs(wrap_angle(route.yaw - yaw))
        gaps = np.where(turned < ALIGNED, gaps, np.inf)
        row = int(gaps.argmin())
        if gaps[row] <= ON_ROUTE:
            ahead = (place.x - route.xyz[row, 0]) * math.cos(yaw) + (
                place.y - route.xyz[row, 1]
            ) * math.sin(yaw)
            stations.append(float(route.station[row] + ahead))
    return stations


def find_junction_clear_station(route: Route, station: float) -> float:
    """Return where the junction behind a stop line has been left."""
    row = int(np.searchsorted(route.station, station))
    inside = np.flatnonzero(route.in_junction[row:])
    if not len(inside):
        return route.length
    start = row + int(inside[0])
    outside = np.flatnonzero(~route.in_junction[start:])
    return float(route.station[start + int(outside[0])]) if len(outside) else route.length


def set_lights_green(world: carla.World) -> None:
    """Show green everywhere, for ever, as V2Xverse does."""
    lights = world.get_actors().filter("traffic.traffic_light")
    for light in lights:
        light.set_state(carla.TrafficLightState.Green)
    for light in lights:
        light.freeze(True)
