"""Joint outcomes of several egos: all arrived, collisions between egos, deadlock, success.

Every function reads what is recorded of each ego, so that it can be computed again from records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.evaluation.driving import DriveEvaluation
from harness.evaluation.scoring import Coefficients, score
from harness.evaluation.surrogates.reasons import SignalInterval
from harness.types.vocabulary import Floats, Integers, Mask

STANDING = 0.1
"""m/s below which an ego stands."""
DEADLOCK_SECONDS = 10.0
"""Seconds for which all egos under way must stand; the shortest time after which a preset calls a
single ego blocked is 15 s."""
HELD_WITHIN = 30.0
"""Metres before a stop line that asks to stop within which a standing ego is held by it."""
SUCCESS = 99.95
"""Points above which a scene of InterDrive is a success (CoLMDriver, ICCV 2025)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedContact:
    """A collision with another ego, as one of the two reports it."""

    ego: int  # number of the ego that reports it
    other: int
    time: float  # s
    relative_speed: float  # m/s before the impact
    x: float  # m in the world, of the ego that reports it
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoCollision:
    """A collision between two egos, counted once.

    Attributes:
        egos: numbers of the two, the lower first.
        time: seconds, of the first report.
        reported_by: numbers of the egos whose records have it.
    """

    egos: tuple[int, int]
    time: float
    relative_speed: float  # m/s before the impact
    x: float  # m in the world, of the ego that reported it first
    y: float
    reported_by: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EgoTrack:
    """An ego at its planning steps, from the first one that all egos share until its drive ended.

    Attributes:
        times: (steps,) seconds.
        speeds: (steps,) m/s.
        held: (steps,) whether a red or yellow light, or a stop sign, asks it to stop.
    """

    times: Floats
    speeds: Floats
    held: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlock:
    """Egos that stand for each other."""

    since: float  # s, when the last of them came to stand
    time: float  # s, when it counted as a deadlock
    egos: tuple[int, ...]  # those under way


def count_collisions(
    reports: Iterable[ReportedContact], *, same_seconds: float
) -> list[EgoCollision]:
    """Return the collisions between egos; what both report, or one of them again, counts once.

    Args:
        reports: of all egos.
        same_seconds: reports of one pair that are no farther apart are one collision
            (`driving.same_actor_seconds`).
    """
    collisions: list[EgoCollision] = []
    last: dict[tuple[int, int], tuple[int, float]] = {}  # place in `collisions` and time, by pair
    for report in sorted(reports, key=lambda one: (one.time, one.ego)):
        low, high = sorted((report.ego, report.other))
        pair = low, high
        at, time = last.get(pair, (-1, -math.inf))
        if report.time - time <= same_seconds:
            known = collisions[at]
            by = tuple(sorted({*known.reported_by, report.ego}))
            collisions[at] = replace(known, reported_by=by)
        else:
            at = len(collisions)
            collisions.append(
                EgoCollision(
                    egos=pair,
                    time=report.time,
                    relative_speed=report.relative_speed,
                    x=report.x,
                    y=report.y,
                    reported_by=(report.ego,),
                )
            )
        last[pair] = at, report.time
    return collisions


def find_held_steps(stations: Floats, ticks: Integers, signals: Sequence[SignalInterval]) -> Mask:
    """Return at which planning steps a stop line close ahead asked an ego to stop.

    Args:
        stations: (steps,) metres along the ego's route.
        ticks: (steps,) counted from the first.
        signals: when each stop line asked to stop.

    Returns:
        (steps,)
    """
    held: Mask = np.zeros(len(stations), np.bool_)
    for signal in signals:
        ahead = signal.station - stations
        asks = (ticks >= signal.start) & (ticks <= signal.last)
        held |= asks & (ahead >= 0.0) & (ahead <= HELD_WITHIN)
    return held


def find_deadlock(
    tracks: Sequence[EgoTrack], *, seconds: float = DEADLOCK_SECONDS
) -> Deadlock | None:
    """Return the first deadlock: all egos under way stand, and none is held by a signal.

    An ego is under way until its drive ends, at its goal or by a violation. One ego alone is no
    deadlock: what it waits for is no ego, and its own record calls it blocked.

    Args:
        tracks: of all egos; a shorter one ended earlier.
        seconds: for which they must stand.
    """
    since: float | None = None
    for step in range(max((len(track.times) for track in tracks), default=0)):
        way = [number for number, track in enumerate(tracks) if step < len(track.times)]
        stand = [tracks[one].speeds[step] < STANDING and not tracks[one].held[step] for one in way]
        if len(way) < 2 or not all(stand):
            since = None
            continue
        time = float(tracks[way[0]].times[step])
        since = time if since is None else since
        if time - since > seconds:
            return Deadlock(since=since, time=time, egos=tuple(way))
    return None


def compute_interdrive_score(
    drives: Sequence[DriveEvaluation], coefficients: Coefficients
) -> float:
    """Return InterDrive's score of a scene, 0 to 100 (CoLMDriver, ICCV 2025).

    It is the mean completion of the egos times the product of their penalties, in which red lights
    and stop signs cost nothing. Above `SUCCESS` the scene is a success.

    Args:
        drives: of all egos, ended.
        coefficients: the factor of each kind of infraction.
    """
    forgiving = replace(coefficients, red_light=1.0, stop_sign=1.0)
    marks = [score(drive, forgiving) for drive in drives]
    completion = sum(mark.completion for mark in marks) / len(marks)
    return 100 * completion * math.prod(mark.penalty for mark in marks)
