"""How an attempt ended, and where that was: its class of failure and measures of behaviour.

The moment that counts is the first violation, or the smallest gap to a moving road user of a drive
without one. Measures are what archives divide failures by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.types.record_names import PATTERNS
from studies.search.candidates import SearchOutcome
from studies.search.objectives import OBJECTIVES, AttemptRecords, build_ego_pairs, find_least_gap

LAST = 3.0
"""Seconds before the moment whose error patterns are compared."""
CLEAN, STANDING = "clean", "ego standing"
"""Classes of attempts that are no failures: no violation; struck while it stood."""
NO_MESSAGE = 10.0
"""Seconds: the age where the ego has no message."""
MODES = (*PATTERNS, "none")


@dataclass(frozen=True, slots=True)
class DecisiveMoment:
    """The moment that counts, with the records."""

    records: AttemptRecords
    frame: int  # ticks

    @property
    def time(self) -> float:
        """Return the seconds since the ego stood ready."""
        return self.frame * self.records.tick

    @property
    def step(self) -> Any:
        """Return the row of the last planning step up to the moment."""
        frames = self.records.frames
        return frames.iloc[max(int((frames.frame <= self.frame).sum()) - 1, 0)]

    @property
    def newest(self) -> Any:
        """Return the row of the newest message that the ego has; nothing without any."""
        messages = self.records.messages
        usable = messages[messages.delivered_time <= self.step.time + 1e-6]
        return usable.loc[usable.capture_time.idxmax()] if len(usable) else None


def find_decisive_moment(records: AttemptRecords) -> DecisiveMoment:
    """Return the moment that counts; of a drive without any other road user the end."""
    violation = records.result["violation"]
    if violation is not None:
        return DecisiveMoment(records, int(violation["frame"]))
    frame = find_least_gap(records, build_ego_pairs(records), moving=True)[1]
    return DecisiveMoment(records, int(records.frames.frame.max()) if frame is None else frame)


def measure_message_age(moment: DecisiveMoment) -> float:
    """Return the age in s of the newest message at the planning step before; 10 without any."""
    newest = moment.newest
    return NO_MESSAGE if newest is None else round(moment.step.time - newest.capture_time, 6)


def measure_displacement(moment: DecisiveMoment) -> float:
    """Return by how many m the pose in the newest message is off, as measured; 0 without any."""
    newest = moment.newest
    return 0.0 if newest is None else float(np.hypot(newest.measured_x, newest.measured_y))


def measure_ego_speed(moment: DecisiveMoment) -> float:
    """Return the ego's speed in m/s at the violation, or at the planning step of least gap."""
    violation = moment.records.result["violation"]
    return float(moment.step.speed if violation is None else violation["ego_speed"])


def measure_station_share(moment: DecisiveMoment) -> float:
    """Return how far along the route the ego is, as a share of the route's length."""
    route = moment.records.route
    length = float(np.hypot(*np.diff(route, axis=0).T).sum())
    return float(np.clip(moment.step.station / length, 0.0, 1.0))


def find_error_pattern(moment: DecisiveMoment) -> float:
    """Return the number, 0 to 5, of the error pattern that is counted most in the last 3 s.

    In the order LCME, LCLE, LADE, CCME, CCLE, CADE; of equals the first; 6 if none is counted.
    """
    frames = moment.records.frames
    last = frames[(frames.time <= moment.time + 1e-6) & (frames.time > moment.time - LAST)]
    counts = last[list(PATTERNS)].sum().to_numpy()
    return float(np.argmax(counts) if counts.any() else len(PATTERNS))


BEHAVIOUR_MEASURES: dict[str, Callable[[DecisiveMoment], float]] = {
    "message_age": measure_message_age,
    "displacement": measure_displacement,
    "ego_speed": measure_ego_speed,
    "station_share": measure_station_share,
    "error_pattern": find_error_pattern,
}
"""Measures of behaviour by name; all are in the ledger."""


def classify_attempt(records: AttemptRecords) -> tuple[str, bool]:
    """Return the class of an attempt, and whether that is a failure of the ego.

    A failure is a first violation, as campaigns count them, in which the ego was not standing. Its
    class is the kind of violation, and the class of the road user that was struck.
    """
    violation = records.result["violation"]
    if violation is None:
        return CLEAN, False
    if violation["ego_stationary"]:
        return STANDING, False
    actors = records.actors.set_index("actor_id")["class"]
    struck = violation["with_actor"]
    kind = str(violation["kind"])
    return (f"{kind}: {actors[struck]}" if struck in actors.index and struck else kind), True


def make_search_outcome(records: AttemptRecords) -> SearchOutcome:
    """Return what the ledger keeps of an attempt."""
    moment = find_decisive_moment(records)
    name, failed = classify_attempt(records)
    return SearchOutcome(
        outcome=name,
        failed=failed,
        objectives={name: function(records) for name, function in OBJECTIVES.items()},
        measures={name: function(moment) for name, function in BEHAVIOUR_MEASURES.items()},
    )
