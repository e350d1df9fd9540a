"""Passing standing road users: the path moves aside, little more than its lane allows."""

from __future__ import annotations

import numpy as np

from agents.driving.footprint import compute_footprint_corners
from agents.driving.path import RoutePath
from agents.driving.prediction import STANDING, compute_track_motion
from agents.driving.settings import EgoVehicleModel
from agents.driving.tracking import RoadUserTracks
from harness.types.vocabulary import PEDESTRIAN, Floats

ROOM, ROOM_FOR_PEOPLE = 0.6, 1.0
"""Metres wanted between the ego's side and a standing vehicle or cyclist; a pedestrian."""

OVER_THE_LINE = 0.3
"""Metres by which the ego's side may leave the lane."""

SIGHT = 40.0
"""Metres ahead of the ego within which standing road users count."""

EASE = 8.0
"""Metres over which the path moves aside."""


def shift_path_aside(
    path: RoutePath, tracks: RoadUserTracks, station: float, car: EgoVehicleModel
) -> RoutePath:
    """Return the path moved aside where something stands close to it.

    Args:
        path: the route.
        tracks: N road users in the world.
        station: metres along the path, of the ego's centre.
        car: the ego's body.

    Returns:
        The same path if nothing stands close to it.
    """
    # only what stands
    tracks = tracks[compute_track_motion(tracks)[0] < STANDING[tracks.classes]]
    stations = path.route.station
    rightwards, leftwards = np.zeros(len(stations)), np.zeros(len(stations))
    if len(tracks):
        # (N, 4) along and aside of the path, and the room at the ego's side
        corners = compute_footprint_corners(
            tracks.position, tracks.yaw, tracks.size[:, 0], tracks.size[:, 1]
        )
        along, aside = path.locate_boxes(corners, station - 10.0, station + SIGHT)
        on_the_left = aside.mean(1) < 0.0
        clearance = np.where(on_the_left, -aside.max(1), aside.min(1)) - 0.5 * car.width
        wished = np.where(tracks.classes == PEDESTRIAN, ROOM_FOR_PEOPLE, ROOM) - clearance
        # the stretch next to each, and how far the lane allows to move aside there
        reach = 0.5 * car.length + 0.5 * EASE
        most = 0.5 * path.route.lane_width - 0.5 * car.width + OVER_THE_LINE
        # to the right of what stands on the left, and the other way round
        for i in np.flatnonzero((wished > 0.0) & (clearance > -most.max())):
            nearby = (stations > along[i].min() - reach) & (stations < along[i].max() + reach)
            side = rightwards if on_the_left[i] else leftwards
            side[nearby] = np.maximum(side[nearby], np.minimum(wished[i], most[nearby]))
    if not (rightwards.any() or leftwards.any()):
        return path
    return path.shift_right(smooth_path_shift(rightwards - leftwards))


def smooth_path_shift(shift: Floats) -> Floats:
    """Return the shift smoothed along the path; rows are a metre apart."""
    window = np.hanning(int(EASE) + 3)[1:-1]
    padded = np.pad(shift, len(window) // 2, mode="edge")
    return np.convolve(padded, window / window.sum(), mode="valid")
