"""What a campaign will take: by its own attempts, by this machine's, or by a rule of thumb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from harness.campaign.planning.paces import SystemPace, read_attempt_cost
from harness.campaign.planning.plan import CampaignPlan
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.ledger import find_finished_tries

SAMPLE = 300
"""Finished attempts that are looked at; more would not make the guess any better."""
STARTING = 1.5
"""Seconds that a process takes before its attempt's own clock starts."""
SECONDS_PER_METRE, BYTES_PER_METRE = 0.12, 900.0
"""Of route, as ideal systems took in Crucible05 with V2Xverse's traffic, on carlite, two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEstimate:
    """What is left to do, and what it will take."""

    done: int
    left: int
    seconds: float  # of wall-clock, for all that is left
    bytes: float
    samples: int  # finished attempts of this campaign that were measured
    remembered: int = 0  # attempts that this machine drove before
    unknown: tuple[str, ...] = ()  # systems by a rule of thumb


def estimate_campaign(
    plan: CampaignPlan, folder: Path, paces: Mapping[str, SystemPace] | None = None
) -> CampaignEstimate:
    """Return what is left of a plan, and what it will take; paces are by system.

    Args:
        plan: of the campaign.
        folder: of the campaign; it need not exist.
        paces: seconds and bytes for each metre, from other campaigns.

    Returns:
        Wall-clock seconds and bytes of what is left.
    """
    paces = paces or {}
    there = find_finished_tries(folder)
    finished = {key: there[key] for key in plan.attempts if key in there}
    left = [key for key in plan.attempts if key not in finished]
    metres = {assignment.route.name: assignment.route.length for assignment in plan.assignments}
    # attempts of this campaign are the best measure, else what is remembered of systems
    samples = measure_finished_attempts(finished)
    systems = [] if samples else list(dict.fromkeys(key.arm.system for key in left))
    if samples:
        seconds, size = estimate_by_arm(left, samples)
    else:
        pairs = [estimate_by_metre(metres[key.route], paces.get(key.arm.system)) for key in left]
        seconds, size = (sum(column) for column in zip(*pairs, strict=True)) if pairs else (0, 0)
    # a worker and its simulator take turns and keep one core busy
    at_a_time = max(min(plan.at_a_time, len(left), plan.cores or plan.at_a_time), 1)
    return CampaignEstimate(
        done=len(finished),
        left=len(left),
        seconds=(seconds + STARTING * len(left)) / at_a_time,
        bytes=size,
        samples=len(samples),
        remembered=sum(paces[system].attempts for system in systems if system in paces),
        unknown=tuple(system for system in systems if system not in paces),
    )


def estimate_by_metre(metres: float, pace: SystemPace | None) -> tuple[float, float]:
    """Return seconds and bytes of a route at a pace; by a rule of thumb where none is known."""
    if pace is None:
        return SECONDS_PER_METRE * metres, BYTES_PER_METRE * metres
    return pace.seconds / pace.metres * metres, pace.bytes / pace.metres * metres


def measure_finished_attempts(
    finished: Mapping[AttemptKey, Path],
) -> dict[AttemptKey, tuple[float, float]]:
    """Return seconds and bytes of some finished attempts, evenly spread."""
    keys = list(finished)
    samples = {}
    for key in keys[:: max(len(keys) // SAMPLE, 1)]:
        taken = read_attempt_cost(finished[key])
        if taken is not None:
            samples[key] = taken
    return samples


def estimate_by_arm(
    left: Sequence[AttemptKey], samples: Mapping[AttemptKey, tuple[float, float]]
) -> tuple[float, float]:
    """Return seconds and bytes of all that is left: each as the mean of its arm.

    Where nothing of it has been driven yet, as the mean of all.
    """
    groups: dict[Arm, list[tuple[float, float]]] = {}
    for key, sample in samples.items():
        groups.setdefault(key.arm, []).append(sample)
    overall = compute_mean_cost(list(samples.values()))
    means = {arm: compute_mean_cost(group) for arm, group in groups.items()}
    expected = [means.get(key.arm, overall) for key in left]
    return sum(pair[0] for pair in expected), sum(pair[1] for pair in expected)


def compute_mean_cost(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the means of both."""
    return fmean(pair[0] for pair in pairs), fmean(pair[1] for pair in pairs)
