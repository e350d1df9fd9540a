"""Others with respect to our way: whom we follow, who follows us, how much room they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.footprint import spread
from agents.driving.path import Path
from agents.driving.prediction import Future
from agents.driving.settings import Car, DrivingSettings
from agents.driving.speed import Leader, follow
from agents.driving.tracking import Tracks
from harness.vocabulary import PEDESTRIAN, Floats, Mask

PASSABLE = 0.3
"""Metres beside a standing thing that are enough to pass."""

EASY, EASY_FOR_PEOPLE = 0.8, 1.2
"""Metres beside a standing thing at which it slows nobody down."""

SQUEEZING_SPEED, EASY_SPEED = 3.0, 8.0
"""m/s past standing things that leave just enough room, and easy room."""

SIGHT_BEHIND, SIGHT_AHEAD = 10.0, 70.0
"""Metres of our way on which others are looked for."""

OWN_LANE, LANE_CHANGE_AHEAD = 1.8, 30.0
"""Metres aside within which somebody follows us; metres within which changing lanes matters."""


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """Others as they lie along our way, one row each."""

    clearance: Floats  # (N,) metres between their side and ours if we pass; negative: in the way
    rear: Floats  # (N,) lowest station of their box
    front: Floats  # (N,) highest


def surroundings(path: Path, tracks: Tracks, station: float, car: Car) -> Surroundings:
    """Return how others lie along our way."""
    corners = spread(tracks.position, tracks.yaw, tracks.size[:, 0], tracks.size[:, 1])
    stations, offsets = path.outlines(corners, station - SIGHT_BEHIND, station + SIGHT_AHEAD)
    clearance = np.maximum(offsets.min(1), -offsets.max(1)) - 0.5 * car.width
    return Surroundings(clearance, stations.min(1), stations.max(1))


def followers(path: Path, tracks: Tracks, station: float, car: Car) -> Mask:
    """Tell who follows us: it is theirs to keep away, unless we change into their lane."""
    xy, yaw = path.at(np.array(station))
    off = tracks.position - xy
    along = off[:, 0] * np.cos(yaw) + off[:, 1] * np.sin(yaw)
    aside = np.abs(off[:, 1] * np.cos(yaw) - off[:, 0] * np.sin(yaw))
    same_way = np.cos(tracks.yaw - yaw) > 0.5
    near = np.abs(path.route.station - station) < LANE_CHANGE_AHEAD
    changing = bool((path.route.lane_change & near).any())
    behind: Mask = (along < -0.5 * car.length) & same_way & ((aside < OWN_LANE) | (not changing))
    return behind


def find_leader(
    future: Future, around: Surroundings, station: float, speed: float, settings: DrivingSettings
) -> Leader | None:
    """Return whoever ahead in our way asks for the most braking."""
    aligned = (np.abs(future.heading) < 0.8) | future.standing
    in_way = aligned & (around.clearance < PASSABLE) & (around.front > station)
    in_way &= future.station > station + 0.5
    nose, now = station + 0.5 * settings.car.length, np.array(speed)
    leaders = [
        Leader(float(around.rear[i]), float(max(future.along[i], 0.0)))
        for i in np.flatnonzero(in_way)
    ]
    return min(
        leaders,
        key=lambda one: float(follow(now, np.array(one.station - nose), one.speed, settings)),
        default=None,
    )


def slowed_by_standing(
    allowed: Floats, path: Path, tracks: Tracks, future: Future, around: Surroundings, car: Car
) -> Floats:
    """Return how fast the road may be driven past those who stand beside our way."""
    allowed, stations = allowed.copy(), path.route.station
    easy = np.where(tracks.classes == PEDESTRIAN, EASY_FOR_PEOPLE, EASY)
    close = future.standing & (around.clearance > 0.0) & (around.clearance < easy)
    reach = 0.5 * car.length + 1.0
    for i in np.flatnonzero(close):
        room = max(around.clearance[i] - PASSABLE, 0.0) / (easy[i] - PASSABLE)
        beside = (stations > around.rear[i] - reach) & (stations < around.front[i] + reach)
        slow = SQUEEZING_SPEED + (EASY_SPEED - SQUEEZING_SPEED) * room
        allowed[beside] = np.minimum(allowed[beside], slow)
    return allowed
