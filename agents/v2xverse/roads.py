"""Where one may drive, as the planner wants it: a picture of 48 by 24 m round the ego."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.common.safe_reading import OPENDRIVE_MAP, read_text_within
from harness.types.vocabulary import Floats, Integers, Pose, Route

AHEAD, BEHIND, ASIDE, PER_METRE = 36.0, 12.0, 12.0, 4
REACH = 45.0
"""Metres from the ego within which a lane may show."""
NOT_SAMPLED = 1.0
"""Metres between two places of a lane's centre."""


class TownRoads:
    """Lanes as places along their centres, and how wide they are there."""

    def __init__(self, centres: Floats, widths: Floats) -> None:
        self.centres, self._widths = centres, widths

    @staticmethod
    def from_route(route: Route, maps: str | None) -> TownRoads:
        """Return all lanes of the route's town if its map is at hand, else the route's own."""
        file = Path(maps or "") / f"{route.town}.xodr"
        if maps is None or not file.is_file():
            return TownRoads(route.xyz[:, :2], route.lane_width)
        import carla  # noqa: PLC0415

        lanes = carla.Map(route.town, read_text_within(file, OPENDRIVE_MAP)).generate_waypoints(
            NOT_SAMPLED
        )
        # (waypoints, 2) and (waypoints,)
        places = [lane.transform.location for lane in lanes]
        return TownRoads(
            np.array([[place.x, place.y] for place in places]),
            np.array([lane.lane_width for lane in lanes]),
        )

    def render_picture(self, ego_in_world: Pose) -> Integers:
        """Return (192, 96) of 0 and 1: rows from ahead to behind, columns from left to right."""
        # (waypoints, 2) near the ego, in its frame
        here = np.array([ego_in_world.x, ego_in_world.y])
        near = np.linalg.norm(self.centres - here, axis=1) < REACH
        ahead = np.array([np.cos(ego_in_world.yaw), np.sin(ego_in_world.yaw)])
        aside = np.array([-ahead[1], ahead[0]])
        away = self.centres[near] - here
        # in pixels; a disc for each, as wide as the lane
        rows = (AHEAD - away @ ahead) * PER_METRE - 0.5
        columns = (ASIDE + away @ aside) * PER_METRE - 0.5
        radii = np.hypot(self._widths[near] / 2, NOT_SAMPLED / 2) * PER_METRE
        picture = np.zeros((int((AHEAD + BEHIND) * PER_METRE), int(2 * ASIDE * PER_METRE)), int)
        for row, column, radius in zip(rows, columns, radii, strict=True):
            render_disc(picture, row, column, radius)
        return picture


def render_disc(picture: Integers, row: float, column: float, radius: float) -> None:
    """Draw a disc."""
    low = np.maximum(np.ceil([row - radius, column - radius]).astype(int), 0)
    high = np.minimum(np.floor([row + radius, column + radius]).astype(int) + 1, picture.shape)
    if (high > low).all():
        rows, columns = np.ogrid[low[0] : high[0], low[1] : high[1]]
        inside = (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
        picture[low[0] : high[0], low[1] : high[1]][inside] = 1
