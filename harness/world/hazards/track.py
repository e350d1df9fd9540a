"""The ego's route as a reference line: stations along, metres to the right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import carla
import numpy as np

from harness.types.vocabulary import Floats, Pose, Route

DRIVEN = carla.LaneType.Driving
WIDEST = 40.0
"""Metres beyond which a road's end is not looked for."""


class StaticScenery(Protocol):
    """Houses and trees of a world that is running."""

    def is_hidden(self, eye: Floats, target: Floats) -> bool:
        """Return whether something stands between two places (3,)."""


@dataclass(frozen=True, eq=False)
class Track:
    """A route on its map, and what stands along it, as far as that is known.

    Attributes:
        map: of the town.
        route: the reference line.
        scenery: of a running world; None where only the map is known.
    """

    map: carla.Map
    route: Route
    scenery: StaticScenery | None = None

    @cached_property
    def _yaw(self) -> Floats:
        return np.unwrap(self.route.yaw)

    def pose(self, station: float, right: float = 0.0, turned: float = 0.0) -> Pose:
        """Return the pose some metres right of the route, turned clockwise from its heading.

        Args:
            station: metres along the route.
            right: metres.
            turned: radians.
        """
        route = self.route
        x, y, z = (np.interp(station, route.station, route.xyz[:, axis]) for axis in range(3))
        yaw = float(np.interp(station, route.station, self._yaw))
        return Pose(
            float(x) - right * math.sin(yaw), float(y) + right * math.cos(yaw), float(z),
            yaw + turned,
        )  # fmt: skip

    def compute_points(self, stations: Floats, right: Floats | float = 0.0) -> Floats:
        """Return places (N, 3) at an offset from the route.

        Args:
            stations: (N,) metres along the route.
            right: metres, one or (N,).

        Returns:
            Metres in the world.
        """
        route = self.route
        x, y, z = (np.interp(stations, route.station, route.xyz[:, axis]) for axis in range(3))
        yaw = np.interp(stations, route.station, self._yaw)
        return np.stack([x - right * np.sin(yaw), y + right * np.cos(yaw), z], axis=1)

    def project_points(self, xy: Floats) -> tuple[Floats, Floats]:
        """Return station and metres to the right of places (…, 2).

        Args:
            xy: metres in the world.

        Returns:
            (…) metres along and (…) metres right.
        """
        line = self.route.xyz[:, :2]
        apart = (xy[..., 0, None] - line[:, 0]) ** 2 + (xy[..., 1, None] - line[:, 1]) ** 2
        nearest = apart.argmin(axis=-1)
        offset, yaw = xy - line[nearest], self._yaw[nearest]
        forward = offset[..., 0] * np.cos(yaw) + offset[..., 1] * np.sin(yaw)
        right = offset[..., 1] * np.cos(yaw) - offset[..., 0] * np.sin(yaw)
        return self.route.station[nearest] + forward, right

    def get_waypoint(self, station: float) -> carla.Waypoint:
        """Return the waypoint of the route's lane.

        Args:
            station: m along the route.
        """
        return self.map.get_waypoint(to_raised_location(self.pose(station)), lane_type=DRIVEN)

    def get_half_width(self, station: float) -> float:
        """Return the metres from the route's centre to its lane's edge.

        Args:
            station: m along the route.
        """
        return float(np.interp(station, self.route.station, self.route.lane_width)) / 2

    def is_at_kerb(self, station: float) -> bool:
        """Return whether no driving lane lies to the right.

        Args:
            station: m along the route.
        """
        right_lane = self.get_waypoint(station).get_right_lane()
        return right_lane is None or not right_lane.lane_type & DRIVEN

    def is_in_junction(self, station: float) -> bool:
        """Return whether the route is in a junction there.

        Args:
            station: m along the route.
        """
        row = int(np.clip(round(station), 0, len(self.route.station) - 1))
        return bool(self.route.in_junction[row])

    def measure_carriageway_left(self, station: float) -> float:
        """Return the metres from the route's centre to the left end of all driving lanes.

        Args:
            station: m along the route.
        """
        return self._measure_carriageway(station, -1.0)

    def measure_carriageway_right(self, station: float) -> float:
        """Return the metres from the route's centre to the right end of all driving lanes.

        Args:
            station: m along the route.
        """
        return self._measure_carriageway(station, 1.0)

    def _measure_carriageway(self, station: float, side: float) -> float:
        edge = self.get_half_width(station)
        while self.is_on_road(self.pose(station, side * (edge + 0.5))) and edge < WIDEST:
            edge += 0.5
        return edge

    def is_on_road(self, pose: Pose) -> bool:
        """Return whether a place lies on a driving lane.

        Args:
            pose: in the world.
        """
        waypoint = self.map.get_waypoint(
            to_raised_location(pose), project_to_road=False, lane_type=DRIVEN
        )
        return waypoint is not None


def to_raised_location(pose: Pose, above: float = 0.0) -> carla.Location:
    """Return a pose's place for CARLA."""
    return carla.Location(pose.x, pose.y, pose.z + above)


def to_raised_transform(pose: Pose, above: float = 0.0) -> carla.Transform:
    """Return a pose for CARLA.

    Args:
        pose: in the world; its yaw only is kept.
        above: m added to its height.
    """
    return carla.Transform(
        to_raised_location(pose, above), carla.Rotation(yaw=math.degrees(pose.yaw))
    )
