"""A campaign in a few numbers for each arm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage, fault_of
from harness.records.reading import Campaign
from harness.records.surrogates import surrogates_in
from harness.vocabulary import PATTERNS


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSummary:
    """One attempt in a few numbers."""

    driving_score: float  # 0 to 100
    collided: bool
    completion: float  # 0 to 1
    violated: bool
    time_to_goal: float  # s; NaN if the goal was not reached without violation, or not recorded
    patterns: tuple[int, ...]  # totals over all frames
    hazards: int
    hazards_absent: int  # had no place: not run in this attempt
    usage: MessageUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSummary:
    """One arm."""

    arm: Arm
    attempts: int
    driving_score: float  # mean, 0 to 100
    collision_rate: float  # % of attempts
    route_completion: float  # mean %
    violations: int
    time_to_goal: float  # mean s of the attempts that reached the goal; NaN where none did
    patterns: dict[str, int]  # totals over all frames
    hazards: int  # of all attempts
    hazards_absent: int  # of those, had no place in their attempt
    without_messages: int  # attempts


def summarise(
    folder: Path, attempts: Sequence[AttemptKey]
) -> tuple[list[ArmSummary], dict[Arm, str]]:
    """Return a row for each arm in the order of the plan, and which arms show nothing, and why."""
    campaign = Campaign(folder)
    there = campaign.attempts()
    summaries, broken = read_summaries(campaign, [key for key in attempts if key in there])
    for problem in broken.values():
        raise problem
    faults = faults_of(summaries)
    return rows_of(
        {key: summary for key, summary in summaries.items() if key.arm not in faults}
    ), faults


def faults_of(summaries: Mapping[AttemptKey, AttemptSummary]) -> dict[Arm, str]:
    """Return the arms whose attempts do not show what they are called after, and why."""
    faults = {
        arm: fault_of([attempt.usage for attempt in of_arm])
        for arm, of_arm in by_arm(summaries).items()
    }
    return {arm: fault for arm, fault in faults.items() if fault}


def read_summaries(
    campaign: Campaign, keys: Sequence[AttemptKey]
) -> tuple[dict[AttemptKey, AttemptSummary], dict[AttemptKey, UserError]]:
    """Read the results of many attempts; return the marks, and what could not be read."""
    summaries, broken = {}, {}
    for key in keys:
        result = summary_or_problem(campaign, key)
        if isinstance(result, AttemptSummary):
            summaries[key] = result
        else:
            broken[key] = result
    return summaries, broken


def summary_or_problem(campaign: Campaign, key: AttemptKey) -> AttemptSummary | UserError:
    """Return an attempt's marks, or what is wrong with its result."""
    try:
        return summary_of(campaign, key)
    except UserError as problem:
        return problem


def rows_of(summaries: Mapping[AttemptKey, AttemptSummary]) -> list[ArmSummary]:
    """Return a row for each arm."""
    return [row_of(arm, group) for arm, group in by_arm(summaries).items()]


def by_arm(summaries: Mapping[AttemptKey, AttemptSummary]) -> dict[Arm, list[AttemptSummary]]:
    """Return the marks of each arm."""
    arms: dict[Arm, list[AttemptSummary]] = {}
    for key, summary in summaries.items():
        arms.setdefault(key.arm, []).append(summary)
    return arms


def summary_of(campaign: Campaign, key: AttemptKey) -> AttemptSummary:
    """Read one attempt's result and keep the few numbers; ten thousand whole ones are too many."""
    result = campaign.result(key)
    ours = result["crucible"]
    try:
        total = ours["patterns"]["total"]
        return AttemptSummary(
            driving_score=float(ours["driving_score"]),
            collided=bool(ours["collided"]),
            completion=float(ours["completion"]),
            violated=ours["violation"] is not None,
            time_to_goal=surrogates_in(result)["time_to_goal"],
            patterns=tuple([int(total[name]) for name in PATTERNS]),
            hazards=len(ours["hazards"]),
            hazards_absent=sum(hazard["cause"] == "no_place" for hazard in ours["hazards"]),
            usage=MessageUsage.of(result),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise UserError(f"{campaign.file_of(key)}: not a whole result ({problem!r})") from None


def row_of(arm: Arm, summaries: Sequence[AttemptSummary]) -> ArmSummary:
    """Return one row from the marks of its attempts."""
    patterns = map(sum, zip(*(summary.patterns for summary in summaries), strict=True))
    times = [one.time_to_goal for one in summaries if not math.isnan(one.time_to_goal)]
    return ArmSummary(
        arm=arm,
        attempts=len(summaries),
        driving_score=mean(summary.driving_score for summary in summaries),
        collision_rate=100 * mean(summary.collided for summary in summaries),
        route_completion=100 * mean(summary.completion for summary in summaries),
        violations=sum(summary.violated for summary in summaries),
        time_to_goal=mean(times) if times else math.nan,
        patterns=dict(zip(PATTERNS, patterns, strict=True)),
        hazards=sum(summary.hazards for summary in summaries),
        hazards_absent=sum(summary.hazards_absent for summary in summaries),
        without_messages=sum(summary.usage.without_messages for summary in summaries),
    )


def mean(values: Iterable[float]) -> float:
    """Return the mean of some values, of which there must be one."""
    listed = list(values)
    return sum(listed) / len(listed)
