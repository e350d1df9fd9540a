"""A route as the Leaderboard gives it to agents: places of the world with what to do there."""

from __future__ import annotations

import math

import numpy as np

from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Floats, Integers, Route

LEFT, RIGHT, STRAIGHT, LANE_FOLLOW, CHANGE_LEFT, CHANGE_RIGHT = range(1, 7)
"""CARLA's `RoadOption`."""
TURN = math.radians(35.0)
"""A change of course in a junction from which on it is a turn: CARLA's `GlobalRoutePlanner`."""


def list_road_options(route: Route) -> Integers:
    """Return what to do at each row of a route, (N,) of CARLA's `RoadOption`.

    In a junction: which way its lane turns from entry to exit. Between two lanes: to which side.
    """
    options = np.full(len(route.xyz), LANE_FOLLOW, np.int64)
    for first, last in list_spans(route.in_junction):
        before, after = max(first - 1, 0), min(last, len(options) - 1)
        turned = float(wrap_angle(float(route.yaw[after] - route.yaw[before])))
        turn = LEFT if turned < 0 else RIGHT
        options[first:last] = turn if abs(turned) > TURN else STRAIGHT
    for first, last in list_spans(route.lane_change):
        aside = compute_shift_aside(route, max(first - 1, 0), min(last, len(options) - 1))
        options[first:last] = CHANGE_LEFT if aside < 0 else CHANGE_RIGHT
    return options


def list_spans(flags: np.ndarray) -> list[tuple[int, int]]:
    """Return the first row of each run of true values, and the row behind it."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def compute_shift_aside(route: Route, first: int, last: int) -> float:
    """Return metres to the right from one row to another, across the course of the first."""
    away: Floats = route.xyz[last, :2] - route.xyz[first, :2]
    yaw = float(route.yaw[first])
    return float(-math.sin(yaw) * away[0] + math.cos(yaw) * away[1])
