"""Where vehicles may appear: spots on driving lanes, about 25 m apart, outside junctions."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.randomness import make_random_stream
from harness.carlite.towns.model import LaneKind, TownLanes

SPACING = 25.0
FROM_ENDS = 7.0
LIFT = 0.4
NARROWEST = 2.5
CLEAR = 6.0


def build_spawn_points(lanes: TownLanes) -> Floats:
    """Return spawn points as rows of x, y, z, pitch, yaw, roll.

    They come in a fixed shuffled order, so that the first few are already all over the town.
    """
    driving = np.flatnonzero((lanes.kind == LaneKind.DRIVING) & (lanes.junction < 0))
    poses = [pose for lane in driving.tolist() for pose in _place_on_lane(lanes, lane)]
    if not poses:
        return np.zeros((0, 6))
    points = _drop_close_points(np.array(poses))
    return points[make_random_stream(0, "spawn points").permutation(len(points))]


def _place_on_lane(lanes: TownLanes, lane: int) -> list[tuple[float, ...]]:
    # stations, evenly, away from both ends
    room = float(lanes.length[lane]) - 2 * FROM_ENDS
    if room < 0:
        return []
    span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
    stations = FROM_ENDS + np.linspace(0.0, room, int(room / SPACING) + 2)[:-1]
    if room < SPACING:
        stations = np.array([FROM_ENDS + room / 2])
    poses: list[tuple[float, ...]] = []
    for station in stations:
        # the samples before and behind the station
        after = int(np.searchsorted(lanes.station[span], station))
        near, far = lanes.points[span][after - 1], lanes.points[span][after]
        part = (station - lanes.station[span][after - 1]) / np.diff(lanes.station[span])[after - 1]
        if lanes.width[span][after] < NARROWEST:
            continue
        # between them, slightly above the road
        x, y, z = near + part * (far - near)
        dx, dy, dz = far - near
        pitch = math.atan2(dz, math.hypot(dx, dy))
        poses.append((float(x), float(y), float(z) + LIFT, pitch, math.atan2(dy, dx), 0.0))
    return poses


def _drop_close_points(points: Floats) -> Floats:
    """Drop points too near to an earlier one, as where lanes overlap."""
    kept: list[int] = []
    for index, point in enumerate(points):
        if not kept or np.linalg.norm(points[kept, :3] - point[:3], axis=1).min() > CLEAR / 2:
            kept.append(index)
    return points[kept]
