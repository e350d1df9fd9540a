"""Estimates along recorded campaigns: attempts in their order, on a made-up clock.

`recorded_durations.csv` has the attempts of six campaigns. `seconds` is what each took
on a machine whose load changed. `steady_seconds` is its ticks times the median seconds of a tick of
its system in the campaign: what it would have taken under constant load. The errors with the latter
are those of the estimator; the rest comes from the load, which no estimator knows.
"""

from __future__ import annotations

import csv
import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.campaign.planning.estimate import SECONDS_PER_METRE, STARTING
from harness.common.piece_rates import WorkPiece
from harness.common.remaining_time import WorkForecast

FILE = Path(__file__).with_name("recorded_durations.csv")
SHARES = (0.25, 0.5, 0.75)
SERVER_START = 3.0
"""Seconds that the first attempt of a worker takes in addition."""
ALIKE = 0.3
"""Largest error that counts as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAttempt:
    """An attempt, and what it took.

    Attributes:
        way: shares of the route by shares of the drive's time; () for in proportion.
    """

    arm: str
    route: str
    metres: float  # of its route
    seconds: float
    steady_seconds: float
    completion: float  # share of the route
    way: Sequence[tuple[float, float]] = ()

    def find_share(self, driven: float) -> float:
        """Return the share of the route at a share of the drive's time."""
        if not self.way:
            return driven * self.completion
        times, shares = zip(*self.way, strict=True)
        return float(np.interp(driven, times, shares))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """An attempt on a lane, from its begin to its end."""

    began: float
    moved: float  # the process, and the server, have started
    ended: float
    lane: int
    number: int


class SetClock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def read_recorded_campaigns() -> dict[str, list[RecordedAttempt]]:
    """Return the attempts of each campaign in the order in which they ended."""
    campaigns: dict[str, list[RecordedAttempt]] = {}
    with FILE.open() as lines:
        for row in csv.DictReader(lines):
            attempt = RecordedAttempt(
                arm=row["arm"],
                route=row["route"],
                metres=float(row["metres"]),
                seconds=float(row["seconds"]),
                steady_seconds=float(row["steady_seconds"]),
                completion=float(row["completion"]),
            )
            campaigns.setdefault(row["campaign"], []).append(attempt)
    return campaigns


def replay_campaign(
    attempts: Sequence[RecordedAttempt],
    lanes: int,
    *,
    steady: bool = True,
    by_route: bool = True,
    with_ends: bool = True,
    absolute: bool = False,
) -> list[float]:
    """Return the relative errors of the estimate at each share of the whole time.

    Args:
        attempts: in the order in which they begin.
        lanes: attempts at a time.
        steady: under constant load.
        by_route: pieces name their routes.
        with_ends: drives note when they move, and how far they have come when they end.
        absolute: expected seconds count before anything has finished.
    """
    clock = SetClock()
    pieces = [
        WorkPiece(
            kind=one.arm,
            group=one.route if by_route else None,
            expected=STARTING + SECONDS_PER_METRE * one.metres,
        )
        for one in attempts
    ]
    forecast = WorkForecast(deque(pieces), lanes=lanes, absolute=absolute, clock=clock)
    runs = schedule_runs([one.steady_seconds if steady else one.seconds for one in attempts], lanes)
    end = max(run.ended for run in runs)
    # ends come before begins of the same moment
    events = [(run.ended, 0, run) for run in runs] + [(run.began, 1, run) for run in runs]
    events += [(run.moved, 2, run) for run in runs if with_ends]
    events.sort(key=lambda event: (event[0], event[1], event[2].number))
    errors, running = [], dict[int, ReplayedRun]()
    for share in SHARES:
        at = share * end
        while events and events[0][0] <= at:
            clock.now, what, run = events.pop(0)
            if what == 1:
                forecast.begin_piece(run.lane, pieces[run.number])
                running[run.lane] = run
            elif what == 2:
                forecast.note_share(run.lane, 0.0, from_start=True)
            else:
                if with_ends:
                    forecast.note_share(run.lane, attempts[run.number].completion)
                forecast.end_piece(run.lane)
                del running[run.lane]
        clock.now = at
        for run in running.values():
            if at > run.moved:
                driven = (at - run.moved) / (run.ended - run.moved)
                forecast.note_share(run.lane, attempts[run.number].find_share(driven))
        left = forecast.estimate_remaining().seconds
        assert left is not None
        errors.append(left / (end - at) - 1)
    return errors


def schedule_runs(seconds: Sequence[float], lanes: int) -> list[ReplayedRun]:
    """Return when attempts run if each begins on the lane that is free first.

    Args:
        seconds: of each attempt's drive.
        lanes: attempts at a time.
    """
    free = [(0.0, lane) for lane in range(lanes)]
    used: set[int] = set()
    runs = []
    for number, drive in enumerate(seconds):
        began, lane = heapq.heappop(free)
        moved = began + STARTING + (0.0 if lane in used else SERVER_START)
        ended = moved + drive
        used.add(lane)
        runs.append(ReplayedRun(began=began, moved=moved, ended=ended, lane=lane, number=number))
        heapq.heappush(free, (ended, lane))
    return runs
