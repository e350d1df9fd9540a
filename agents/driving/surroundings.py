"""Road users relative to the path: the leader, followers, and how much room they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.footprint import compute_footprint_corners
from agents.driving.path import RoutePath
from agents.driving.prediction import PredictedMotion
from agents.driving.settings import DrivingSettings, EgoVehicleModel
from agents.driving.speed import PathLeader, compute_following_acceleration
from agents.driving.tracking import RoadUserTracks
from harness.types.vocabulary import PEDESTRIAN, Floats, Mask

PASSABLE = 0.3
"""Metres at the side of a standing road user that are enough to pass."""

EASY, EASY_FOR_PEOPLE = 0.8, 1.2
"""Metres at the side of a standing vehicle or cyclist, and a pedestrian, from which the ego keeps
its speed."""

SQUEEZING_SPEED, EASY_SPEED = 3.0, 8.0
"""m/s past standing road users that leave just enough room, and ample room."""

SIGHT_BEHIND, SIGHT_AHEAD = 10.0, 70.0
"""Metres of the path behind and ahead on which others count."""

FOLLOWER_REACH, LANE_CHANGE_AHEAD = 1.8, 30.0
"""Metres aside within which a road user is a follower; metres within which lane changes count."""


@dataclass(frozen=True, slots=True, eq=False)
class PathSurroundings:
    """Road users as they lie along the path, one row each."""

    clearance: Floats  # (N,) metres between their side and the ego's; negative: in the way
    rear: Floats  # (N,) lowest station of their box
    front: Floats  # (N,) highest


def compute_path_surroundings(
    path: RoutePath, tracks: RoadUserTracks, station: float, car: EgoVehicleModel
) -> PathSurroundings:
    """Return how road users lie along the path.

    Args:
        path: the ego's.
        tracks: N road users in the world.
        station: metres along the path, of the ego's centre.
        car: the ego's body.

    Returns:
        N rows.
    """
    corners = compute_footprint_corners(
        tracks.position, tracks.yaw, tracks.size[:, 0], tracks.size[:, 1]
    )
    stations, offsets = path.locate_boxes(corners, station - SIGHT_BEHIND, station + SIGHT_AHEAD)
    clearance = np.maximum(offsets.min(1), -offsets.max(1)) - 0.5 * car.width
    return PathSurroundings(clearance, stations.min(1), stations.max(1))


def find_followers(
    path: RoutePath, tracks: RoadUserTracks, station: float, car: EgoVehicleModel
) -> Mask:
    """Return who follows the ego: they keep their distance, unless it changes into their lane.

    Args:
        path: the ego's.
        tracks: N road users in the world.
        station: metres along the path, of the ego's centre.
        car: the ego's body.

    Returns:
        (N,)
    """
    xy, yaw = path.interpolate_points(np.array(station))
    # (N,) metres ahead and aside of the ego, in the path's direction
    off = tracks.position - xy
    along = off[:, 0] * np.cos(yaw) + off[:, 1] * np.sin(yaw)
    aside = np.abs(off[:, 1] * np.cos(yaw) - off[:, 0] * np.sin(yaw))
    same_way = np.cos(tracks.yaw - yaw) > 0.5
    # where the route changes lanes, vehicles of the other lane do not keep their distance
    near = np.abs(path.route.station - station) < LANE_CHANGE_AHEAD
    changing = bool((path.route.lane_change & near).any())
    behind: Mask = (
        (along < -0.5 * car.length) & same_way & ((aside < FOLLOWER_REACH) | (not changing))
    )
    return behind


def find_leader(
    future: PredictedMotion,
    around: PathSurroundings,
    *,
    station: float,
    speed: float,
    settings: DrivingSettings,
) -> PathLeader | None:
    """Return the road user ahead on the path for which the ego has to brake most.

    Args:
        future: where road users will be.
        around: how they lie along the path.
        station: metres along the path, of the ego's centre.
        speed: of the ego, m/s.
        settings: of the driver.
    """
    # (N,) ahead, in the way, and not crossing
    aligned = (np.abs(future.heading) < 0.8) | future.standing
    in_way = aligned & (around.clearance < PASSABLE) & (around.front > station)
    in_way &= future.station > station + 0.5
    nose, now = station + 0.5 * settings.car.length, np.array(speed)
    # the nearest is not always the one to brake for: it may be faster
    leaders = [
        PathLeader(float(around.rear[i]), float(max(future.along[i], 0.0)))
        for i in np.flatnonzero(in_way)
    ]
    return min(
        leaders,
        key=lambda one: float(
            compute_following_acceleration(now, np.array(one.station - nose), one.speed, settings)
        ),
        default=None,
    )


def reduce_speed_at_standing(
    allowed: Floats,
    path: RoutePath,
    *,
    tracks: RoadUserTracks,
    future: PredictedMotion,
    around: PathSurroundings,
    car: EgoVehicleModel,
) -> Floats:
    """Return the allowed speeds, lower next to standing road users.

    Args:
        allowed: (stations,) m/s.
        path: the ego's.
        tracks: N road users in the world.
        future: where they will be.
        around: how they lie along the path.
        car: the ego's body.

    Returns:
        (stations,) m/s.
    """
    allowed, stations = allowed.copy(), path.route.station
    easy = np.where(tracks.classes == PEDESTRIAN, EASY_FOR_PEOPLE, EASY)
    close = future.standing & (around.clearance > 0.0) & (around.clearance < easy)
    reach = 0.5 * car.length + 1.0
    # the less room, the slower; from its rear to its front, and a car's half length more
    for i in np.flatnonzero(close):
        room = max(around.clearance[i] - PASSABLE, 0.0) / (easy[i] - PASSABLE)
        nearby = (stations > around.rear[i] - reach) & (stations < around.front[i] + reach)
        slow = SQUEEZING_SPEED + (EASY_SPEED - SQUEEZING_SPEED) * room
        allowed[nearby] = np.minimum(allowed[nearby], slow)
    return allowed
