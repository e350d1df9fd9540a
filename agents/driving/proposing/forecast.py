"""Where road users will be if all keep their velocity, and how they lie along the route."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.footprint import GroundRectangles
from agents.driving.path import RoutePath
from agents.driving.tracking import RoadUserTracks
from harness.types.vocabulary import Floats, Mask

SIGHT_BEHIND, SIGHT_AHEAD = 15.0, 60.0
"""Metres of the route behind and ahead of the ego on which others are looked for."""

STANDS = 0.5
"""m/s below which a road user stands."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoxForecast:
    """N road users at T times, the first of which is now."""

    bodies: GroundRectangles  # (N, T) in the world
    standing: Mask  # (N,)
    along: Floats  # (N, T) m/s in the direction of the route
    rear: Floats  # (N, T) lowest station of each
    front: Floats  # (N, T) highest
    low: Floats  # (N, T) metres right of the route, of the leftmost point
    high: Floats  # (N, T) of the rightmost

    def __len__(self) -> int:
        return len(self.standing)


def forecast_boxes(
    tracks: RoadUserTracks, path: RoutePath, *, ego_station: float, times: Floats
) -> BoxForecast:
    """Return the boxes at constant velocity and heading, as PDM-Closed forecasts them.

    Source: Dauner et al., CoRL 2023, by its published code.

    Args:
        tracks: N road users in the world.
        path: the route.
        ego_station: metres along the route, of the ego's centre.
        times: (T,) seconds from now, the first 0.
    """
    count, moments = len(tracks), len(times)
    # (N, T, 2) centres; headings stay
    centre = tracks.position[:, None] + tracks.velocity[:, None] * times[:, None]
    yaw = np.repeat(tracks.yaw[:, None], moments, axis=1)
    length = np.repeat(0.5 * tracks.size[:, :1], moments, axis=1)
    width = np.repeat(0.5 * tracks.size[:, 1:], moments, axis=1)
    # (N, T) along the route, and how far each body reaches along and aside
    station, offset = path.locate_on_stretch(
        centre.reshape(-1, 2), ego_station - SIGHT_BEHIND, ego_station + SIGHT_AHEAD
    )
    station, offset = station.reshape(count, moments), offset.reshape(count, moments)
    course = path.interpolate_points(station)[1]
    cos, sin = np.abs(np.cos(yaw - course)), np.abs(np.sin(yaw - course))
    ahead, aside = length * cos + width * sin, length * sin + width * cos
    vx, vy = tracks.velocity[:, :1], tracks.velocity[:, 1:]
    return BoxForecast(
        bodies=GroundRectangles(centre, yaw, length, width),
        standing=np.hypot(vx, vy)[:, 0] < STANDS,
        along=vx * np.cos(course) + vy * np.sin(course),
        rear=station - ahead,
        front=station + ahead,
        low=offset - aside,
        high=offset + aside,
    )
