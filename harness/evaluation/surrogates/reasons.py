"""Whether the ego had a reason to brake or to stop: phantom braking is braking without one.

There is no common definition of phantom braking (false positive braking in reports to NHTSA and in
UN R152's false reaction test, where nothing stands in the path). Ours, by ground truth: at no
moment from `reason_before` seconds before the episode until its end (of a stop: until the ego
stands) was there, within the stopping distance and `reason_margin` metres ahead on the route,

- a road user in the corridor that the ego's body sweeps along the route, `reason_side` metres wider
  on either side and by the ego's offset from the route, now or within `reason_ahead` seconds if it
  moves on at constant velocity, and not behind the ego;
- a red or yellow light, or a stop sign that has not been heeded yet;
- a bend that asks for more than `reason_sideways` at the speed driven;
- the goal.

The stopping distance is v² / (2 · `reason_deceleration`) at the highest speed of that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.evaluation.surrogates.boxes import build_rectangles
from harness.evaluation.surrogates.motion import RoadUserMotion
from harness.evaluation.surrogates.rules import SurrogateRules
from harness.types.vocabulary import Floats

EVERY = 4
"""Ticks between the moments that are looked at."""
GRID = np.stack(np.meshgrid(np.linspace(-0.5, 0.5, 5), np.linspace(-0.5, 0.5, 3)), -1).reshape(
    -1, 2
)
"""Points of a body, in its lengths and widths."""
STEP, SPACING = 0.5, 1.0
"""Seconds between the places that a road user is moved on to; metres along the corridor."""
BEND_REACH = 2.0
"""Metres to either side over which a bend is measured."""
OVER_LINE = 5.0
"""Metres by which the ego's centre may be beyond a stop line that it still waits at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalInterval:
    """A stop line that was shown red or yellow, or a stop sign, ahead on the route."""

    station: float  # m along the route
    start: int  # first tick
    last: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EgoWay:
    """The ego's route, how far along it was in each tick, and the signals that it met."""

    xy: Floats  # (M, 2) of the route
    station: Floats  # (T,) m along the route
    signals: Sequence[SignalInterval] = ()

    def select_ticks(self, first: int, last: int) -> EgoWay:
        """Return the same of some ticks."""
        signals = tuple(
            SignalInterval(station=s.station, start=s.start - first, last=s.last - first)
            for s in self.signals
        )
        return EgoWay(xy=self.xy, station=self.station[max(first, 0) : last + 1], signals=signals)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DriveSurroundings:
    """What reasons are looked for in."""

    motion: RoadUserMotion
    velocity: Floats  # (N, 2) of the others
    speed: Floats  # (T,) of the ego
    way: EgoWay


def has_reason(around: DriveSurroundings, first: int, last: int, rules: SurrogateRules) -> bool:
    """Return whether there was a reason from `reason_before` the first tick until the last.

    Args:
        around: motion, speeds and the way of the drive.
        first: tick at which the episode begins.
        last: its last tick.
        rules: how far and how long reasons are looked for.
    """
    motion, way = around.motion, around.way
    begin = max(first - round(rules.reason_before / motion.tick_seconds), 0)
    # the stopping distance at the highest speed, from the ego's front
    fastest = float(np.abs(around.speed[begin : last + 1]).max(initial=0.0))
    reach = fastest**2 / (2 * rules.reason_deceleration) + rules.reason_margin
    reach += float(motion.ego_size[0]) / 2
    goal = float(compute_stations(way.xy)[-1])
    # every fourth tick and the last one: goal and signals, bends, road users
    for tick in sorted({*range(begin, last + 1, EVERY), last}):
        station = float(way.station[tick])
        if station + reach >= goal or has_signal_ahead(way, tick, reach):
            return True
        if fastest**2 * compute_sharpest_bend(way.xy, station, reach) > rules.reason_sideways:
            return True
        if has_road_user_ahead(around, tick, (station, reach), rules):
            return True
    return False


def has_signal_ahead(way: EgoWay, tick: int, reach: float) -> bool:
    """Return whether a signal within reach asked to stop in a tick."""
    return any(
        signal.start <= tick <= signal.last
        and -OVER_LINE <= signal.station - way.station[tick] <= reach
        for signal in way.signals
    )


def compute_sharpest_bend(route: Floats, station: float, reach: float) -> float:
    """Return the largest curvature of a stretch of the route, 1/m.

    Args:
        route: (M, 2) metres in the world.
        station: metres along the route, where the stretch starts.
        reach: metres, its length.
    """
    along = compute_stations(route)
    # (M - 1,) directions of the route's pieces, and (M - 1,) where their middles are
    yaw = np.unwrap(np.arctan2(*np.diff(route, axis=0).T[::-1]))
    middle = (along[1:] + along[:-1]) / 2
    # (places,) the turn from `BEND_REACH` behind to `BEND_REACH` ahead of each place
    at = np.arange(station, station + reach, SPACING)
    turns = np.interp(at + BEND_REACH, middle, yaw) - np.interp(at - BEND_REACH, middle, yaw)
    return float(np.abs(turns).max(initial=0.0)) / (2 * BEND_REACH)


def has_road_user_ahead(
    around: DriveSurroundings, tick: int, stretch: tuple[float, float], rules: SurrogateRules
) -> bool:
    """Return whether a road user is in the corridor in a tick, or on its way into it.

    The stretch of the route that counts is given as its start and its length.
    """
    motion, route = around.motion, around.way.xy
    rows = np.flatnonzero(motion.tick == tick)
    away = motion.place[rows, :2] - motion.ego[tick, :2]
    yaw = motion.ego[tick, 3]
    # only road users ahead of the ego's centre
    rows = rows[away[:, 0] * np.cos(yaw) + away[:, 1] * np.sin(yaw) > 0]
    if not len(rows):
        return False
    station, reach = stretch
    along = compute_stations(route)
    # (places, 2) the middle of the corridor, and its half width
    at = np.arange(station, min(station + reach, along[-1]) + SPACING, SPACING)
    line = np.column_stack([np.interp(at, along, route[:, axis]) for axis in (0, 1)])
    offset = float(np.hypot(*(line[0] - motion.ego[tick, :2])))
    half = motion.ego_size[1] / 2 + rules.reason_side + offset
    boxes = build_rectangles(motion.place[rows], motion.size[rows])
    # (K, 15, 2) points of every body, in the world
    local = GRID * boxes[:, None, 2:4]
    cos, sin = np.cos(boxes[:, 4])[:, None], np.sin(boxes[:, 4])[:, None]
    turned = [local[..., 0] * cos - local[..., 1] * sin, local[..., 0] * sin + local[..., 1] * cos]
    points = boxes[:, None, :2] + np.stack(turned, -1)
    # (K, times, 15, 2) the same points, moved on at constant velocity
    times = np.arange(0.0, rules.reason_ahead + STEP / 2, STEP)
    moved = points[:, None] + times[:, None, None] * around.velocity[rows][:, None, None]
    flat = moved.reshape(-1, 2)
    ahead = flat[np.hypot(*(flat - motion.ego[tick, :2]).T) <= reach + half]
    if not len(ahead):
        return False
    # (points, places) distance of every point from the middle of the corridor
    gaps = np.hypot(ahead[:, None, 0] - line[:, 0], ahead[:, None, 1] - line[:, 1])
    return bool((gaps <= half).any())


def compute_stations(route: Floats) -> Floats:
    """Return metres along a polyline at its points."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(route, axis=0).T))])
