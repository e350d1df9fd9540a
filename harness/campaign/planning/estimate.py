"""What a campaign will take: by its own finished attempts, or by those of another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from harness.campaign.planning.plan import Plan
from harness.errors import UserError
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.ledger import tries
from harness.records.reading import read_json

SAMPLE = 300
"""Finished attempts that are looked at; more would not make the guess any better."""
STARTING = 1.5
"""Seconds that a process takes before its attempt's own clock starts."""
SECONDS_PER_METRE, BYTES_PER_METRE = 0.12, 900.0
"""Of route, as ideal systems took in Crucible05 with V2Xverse's traffic, on carlite, two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is left to do, and what it will take."""

    done: int
    left: int
    seconds: float  # of wall-clock, for all that is left
    bytes: float
    samples: int  # finished attempts measured; 0: a rule of thumb


def estimate(plan: Plan, folder: Path) -> Estimate:
    """Return what is left of a plan, and what it will take."""
    there = tries(folder)
    finished = {key: there[key] for key in plan.attempts if key in there}
    left = [key for key in plan.attempts if key not in finished]
    metres = {assignment.route.name: assignment.route.length for assignment in plan.assignments}
    samples = measured(finished)
    if samples:
        seconds, size = by_arm(left, samples)
    else:
        way = sum(metres[key.route] for key in left)
        seconds, size = SECONDS_PER_METRE * way, BYTES_PER_METRE * way
    at_a_time = max(min(plan.at_a_time, len(left)), 1)
    seconds = (seconds + STARTING * len(left)) / at_a_time
    return Estimate(
        done=len(finished), left=len(left), seconds=seconds, bytes=size, samples=len(samples)
    )


def measured(finished: Mapping[AttemptKey, Path]) -> dict[AttemptKey, tuple[float, float]]:
    """Return seconds and bytes of some finished attempts, evenly spread."""
    keys = list(finished)
    samples = {}
    for key in keys[:: max(len(keys) // SAMPLE, 1)]:
        try:
            seconds = float(read_json(finished[key] / "timing.json")["seconds"]["total"])
            size = sum(path.stat().st_size for path in finished[key].iterdir())
        except (UserError, OSError, KeyError, TypeError, ValueError):
            continue
        samples[key] = (seconds, float(size))
    return samples


def by_arm(
    left: Sequence[AttemptKey], samples: Mapping[AttemptKey, tuple[float, float]]
) -> tuple[float, float]:
    """Return seconds and bytes of all that is left: each as the mean of its arm.

    Where nothing of it has been driven yet, as the mean of all.
    """
    groups: dict[Arm, list[tuple[float, float]]] = {}
    for key, sample in samples.items():
        groups.setdefault(key.arm, []).append(sample)
    overall = mean(list(samples.values()))
    means = {arm: mean(group) for arm, group in groups.items()}
    expected = [means.get(key.arm, overall) for key in left]
    return sum(pair[0] for pair in expected), sum(pair[1] for pair in expected)


def mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the means of both."""
    return fmean(pair[0] for pair in pairs), fmean(pair[1] for pair in pairs)
