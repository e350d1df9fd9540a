"""The lanes around a route, so that plots of it need no simulator."""

from __future__ import annotations

import math
from collections.abc import Iterator

import carla
import numpy as np

from harness.campaign.attempt.recorder import MapLine
from harness.types.vocabulary import Floats, Route

AROUND = 60.0
"""Metres from the route within which lanes are kept."""
SPACING = 4.0


def list_map_lines(town: carla.Map, route: Route) -> list[MapLine]:
    """Return the route, and the middle and edges of every driving lane near it."""
    lines: list[MapLine] = [("route", route.xyz)]
    for start, end in town.get_topology():
        points = [*iter_lane_waypoints(start), end]
        xyz = np.array([_get_waypoint_xyz(point) for point in points])
        if len(xyz) < 2 or not is_near_route(xyz, route):
            continue
        yaw = np.array([math.radians(point.transform.rotation.yaw) for point in points])
        half = np.array([point.lane_width / 2 for point in points])
        right = np.column_stack([-np.sin(yaw), np.cos(yaw), np.zeros(len(yaw))]) * half[:, None]
        lines += [("lane_centre", xyz), ("lane_left", xyz - right), ("lane_right", xyz + right)]
    return lines


def iter_lane_waypoints(start: carla.Waypoint) -> Iterator[carla.Waypoint]:
    """Yield the waypoints of a lane."""
    lane = (start.road_id, start.section_id, start.lane_id)
    here: carla.Waypoint | None = start
    while here is not None:
        yield here
        following = here.next(SPACING)
        here = next((w for w in following if (w.road_id, w.section_id, w.lane_id) == lane), None)


def is_near_route(xyz: Floats, route: Route) -> bool:
    """Return whether a line comes near the route."""
    gaps = np.linalg.norm(xyz[:, None, :2] - route.xyz[None, ::5, :2], axis=-1)
    return bool(gaps.min() <= AROUND)


def _get_waypoint_xyz(waypoint: carla.Waypoint) -> tuple[float, float, float]:
    place = waypoint.transform.location
    return place.x, place.y, place.z
