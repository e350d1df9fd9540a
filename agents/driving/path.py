"""The route as a curve: where a point lies along it, and where a station lies in the world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.types.vocabulary import Floats, Route

BEHIND, AHEAD = 5.0, 20.0
"""Metres around the last known station in which the car is looked for."""

MAX_STRETCH = 4.0
"""How much longer a box may be along the path than in the world before it is projected whole."""

BEND_REACH = 2.0
"""Metres to either side over which the bend of the path is measured."""


class RoutePath:
    """A route's centre line by arc length; extended straight beyond both ends."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self._station = route.station
        self._xy = route.xyz[:, :2]
        self._yaw = np.unwrap(route.yaw)
        ahead = np.interp(self._station + BEND_REACH, self._station, self._yaw)
        behind = np.interp(self._station - BEND_REACH, self._station, self._yaw)
        self._bend = (ahead - behind) / (2.0 * BEND_REACH)

    @property
    def length(self) -> float:
        """Metres from start to goal."""
        return float(self._station[-1])

    def shift_right(self, rightwards: Floats) -> RoutePath:
        """Return a path that runs so many metres to the right of this one, at the same stations.

        Args:
            rightwards: (stations,) metres; negative is to the left.
        """
        right = np.stack([-np.sin(self._yaw), np.cos(self._yaw)], -1)
        xyz = self.route.xyz.copy()
        xyz[:, :2] += rightwards[:, None] * right
        swerve = np.arctan(np.gradient(rightwards, self._station))
        return RoutePath(replace(self.route, xyz=xyz, yaw=self._yaw + swerve))

    def interpolate_points(self, station: Floats) -> tuple[Floats, Floats]:
        """Return points (…, 2) and headings at stations of any shape.

        Args:
            station: (…) metres along the path; beyond its ends it goes on straight.

        Returns:
            Metres in the world, and radians.
        """
        inside = np.clip(station, 0.0, self.length)
        yaw = np.interp(inside, self._station, self._yaw)
        x = np.interp(inside, self._station, self._xy[:, 0])
        y = np.interp(inside, self._station, self._xy[:, 1])
        beyond = station - inside
        return np.stack([x + beyond * np.cos(yaw), y + beyond * np.sin(yaw)], -1), yaw

    def compute_curvature(self, station: Floats) -> Floats:
        """Return the curvature there, 1/m, right turns positive."""
        return np.interp(station, self._station, self._bend)

    def locate_points(self, xy: Floats, near: float | None = None) -> tuple[Floats, Floats]:
        """Return stations and offsets to the right of points (N, 2).

        With `near`, only the stretch around that station counts: routes may cross themselves.

        Args:
            xy: metres in the world.
            near: metres along the path; None for the whole path.

        Returns:
            (N,) and (N,) metres.
        """
        first, last = 0, len(self._station)
        if near is not None:
            first = int(np.searchsorted(self._station, near - BEHIND))
            last = int(np.searchsorted(self._station, near + AHEAD, side="right"))
            first = min(first, len(self._station) - 2)
            last = max(last, first + 2)
        return self._project_points(xy, first, last)

    def locate_on_stretch(self, xy: Floats, start: float, end: float) -> tuple[Floats, Floats]:
        """Return stations and offsets of points (N, 2) with respect to one stretch of the path.

        Args:
            xy: metres in the world.
            start: metres along the path.
            end: metres along the path.

        Returns:
            (N,) and (N,) metres.
        """
        first = int(np.searchsorted(self._station, start, side="right")) - 1
        first = min(max(first, 0), len(self._station) - 2)
        last = max(int(np.searchsorted(self._station, end)) + 1, first + 2)
        return self._project_points(xy, first, last)

    def locate_boxes(self, corners: Floats, start: float, end: float) -> tuple[Floats, Floats]:
        """Return stations and offsets (N, 4) of boxes with respect to one stretch of the path.

        Far inside a bend, the corners of a box may be nearest to different parts of the path, so
        that it would seem to cover all between. Such a box is projected at its centre.

        Args:
            corners: (N, 4, 2) metres in the world.
            start: metres along the path.
            end: metres along the path.
        """
        # (5 N, 2) points in one go: all corners, then all centres
        middle, last = corners.mean(1), 4 * len(corners)
        along, aside = self.locate_on_stretch(
            np.concatenate([corners.reshape(-1, 2), middle]), start, end
        )
        stations, offsets = along[:last].reshape(-1, 4), aside[:last].reshape(-1, 4)
        station, offset = along[last:], aside[last:]
        # boxes that would be longer along the path than they are in the world
        reach = np.linalg.norm(corners - middle[:, None], axis=-1)
        stretched = (np.abs(stations - station[:, None]) > MAX_STRETCH * reach).any(1)
        if not stretched.any():
            return stations, offsets
        # those are laid along the path's direction at their centre
        _, yaw = self.interpolate_points(station[stretched])
        off = (corners - middle[:, None])[stretched]
        cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
        stations[stretched] = station[stretched, None] + off[..., 0] * cos + off[..., 1] * sin
        offsets[stretched] = offset[stretched, None] + off[..., 1] * cos - off[..., 0] * sin
        return stations, offsets

    def _project_points(self, xy: Floats, first: int, last: int) -> tuple[Floats, Floats]:
        """Return stations and offsets of points, from the nearest point of a stretch."""
        points, stations = self._xy[first:last], self._station[first:last]
        # (N, points) squared metres
        east, north = xy[:, :1] - points[:, 0], xy[:, 1:] - points[:, 1]
        nearest = (east * east + north * north).argmin(1)
        # (N, 2) from the nearest point, turned into the path's direction there
        yaw = self._yaw[first:last][nearest]
        off = xy - points[nearest]
        along = off[:, 0] * np.cos(yaw) + off[:, 1] * np.sin(yaw)
        aside = off[:, 1] * np.cos(yaw) - off[:, 0] * np.sin(yaw)
        return stations[nearest] + along, aside
