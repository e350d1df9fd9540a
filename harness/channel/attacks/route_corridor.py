"""The ego's way as an insider knows it: how far the ego is, what lies on the way ahead."""

from __future__ import annotations

import math

import numpy as np

from harness.types.vocabulary import Boxes, Floats, Mask, Pose, Route

LOOK_BACK, LOOK_AHEAD = 5.0, 80.0
"""Metres of the route around the last place in which the ego is looked for."""


class RouteCorridor:
    """A route, and the station that the ego has reached on it."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.station = 0.0  # m along the route

    def follow_ego(self, ego_in_world: Pose) -> None:
        """Find the ego on its route; a route may cross itself, so only near the last place."""
        route = self.route
        near = (route.station >= self.station - LOOK_BACK) & (
            route.station <= self.station + LOOK_AHEAD
        )
        away = np.hypot(route.xyz[:, 0] - ego_in_world.x, route.xyz[:, 1] - ego_in_world.y)
        self.station = float(route.station[np.argmin(np.where(near, away, math.inf))])

    def find_pose(self, station: float) -> Pose:
        """Return a place on the way; before its start and behind its end, straight on.

        Args:
            station: metres along the route.
        """
        route = self.route
        at = int(np.clip(np.searchsorted(route.station, station), 0, len(route.station) - 1))
        x, y, z = (float(value) for value in route.xyz[at])
        yaw = float(route.yaw[at])
        # at most one row's distance, but beyond the ends
        on = station - float(route.station[at])
        return Pose(x + on * math.cos(yaw), y + on * math.sin(yaw), z, yaw=yaw)

    def find_boxes_ahead(self, boxes_in_world: Boxes, *, ahead: float, aside: float) -> Mask:
        """Return which boxes stand on the way or close to it.

        Args:
            boxes_in_world: N boxes.
            ahead: metres of the way before the ego.
            aside: metres from the way.

        Returns:
            (N,)
        """
        way = self._list_way_ahead(ahead)
        away = np.linalg.norm(boxes_in_world.geometry[:, None, :2] - way[None, :, :2], axis=2)
        result: Mask = away.min(1, initial=math.inf) <= aside
        return result

    def find_direction(self, x: float, y: float, ahead: float) -> float:
        """Return the direction of the way at its place nearest to a point, radians."""
        way = self._list_way_ahead(ahead)
        return float(way[np.argmin(np.hypot(way[:, 0] - x, way[:, 1] - y)), 2])

    def _list_way_ahead(self, ahead: float) -> Floats:
        """Return (rows, 3) x, y and yaw of the way before the ego."""
        route = self.route
        chosen = (route.station >= self.station) & (route.station <= self.station + ahead)
        return np.column_stack([route.xyz[chosen, :2], route.yaw[chosen]])
