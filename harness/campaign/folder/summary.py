"""A campaign in a few numbers for each arm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage, find_arm_fault
from harness.records.reading import CampaignRecords
from harness.records.surrogates import read_surrogates
from harness.types.record_names import PATTERNS


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSummary:
    """One attempt in a few numbers."""

    driving_score: float  # 0 to 100
    collided: bool
    completion: float  # 0 to 1
    violated: bool
    time_to_goal: float  # s; NaN if the goal was not reached without violation, or not recorded
    patterns: tuple[int | None, ...]  # totals over all frames; None: not known
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
    patterns: dict[str, int | None]  # totals over all frames; None: not known
    hazards: int  # of all attempts
    hazards_absent: int  # of those, had no place in their attempt
    without_messages: int  # attempts


def summarise_campaign(
    folder: Path, attempts: Sequence[AttemptKey]
) -> tuple[list[ArmSummary], dict[Arm, str]]:
    """Return a row for each arm in the order of the plan, and which arms show nothing, and why."""
    campaign = CampaignRecords(folder)
    there = campaign.find_attempts()
    summaries, broken = read_summaries(campaign, [key for key in attempts if key in there])
    for problem in broken.values():
        raise problem
    faults = list_arm_faults(summaries)
    return make_summary_rows(
        {key: summary for key, summary in summaries.items() if key.arm not in faults}
    ), faults


def list_arm_faults(summaries: Mapping[AttemptKey, AttemptSummary]) -> dict[Arm, str]:
    """Return the arms whose attempts do not show what they are called after, and why."""
    faults = {
        arm: find_arm_fault([attempt.usage for attempt in of_arm])
        for arm, of_arm in group_summaries_by_arm(summaries).items()
    }
    return {arm: fault for arm, fault in faults.items() if fault}


def read_summaries(
    campaign: CampaignRecords, keys: Sequence[AttemptKey]
) -> tuple[dict[AttemptKey, AttemptSummary], dict[AttemptKey, UserError]]:
    """Read the results of many attempts; return the marks, and what could not be read."""
    summaries, broken = {}, {}
    for key in keys:
        result = try_reading_summary(campaign, key)
        if isinstance(result, AttemptSummary):
            summaries[key] = result
        else:
            broken[key] = result
    return summaries, broken


def try_reading_summary(campaign: CampaignRecords, key: AttemptKey) -> AttemptSummary | UserError:
    """Return an attempt's marks, or what is wrong with its result."""
    try:
        return read_attempt_summary(campaign, key)
    except UserError as problem:
        return problem


def make_summary_rows(summaries: Mapping[AttemptKey, AttemptSummary]) -> list[ArmSummary]:
    """Return a row for each arm."""
    return [
        make_summary_row(arm, group) for arm, group in group_summaries_by_arm(summaries).items()
    ]


def group_summaries_by_arm(
    summaries: Mapping[AttemptKey, AttemptSummary],
) -> dict[Arm, list[AttemptSummary]]:
    """Return the marks of each arm."""
    arms: dict[Arm, list[AttemptSummary]] = {}
    for key, summary in summaries.items():
        arms.setdefault(key.arm, []).append(summary)
    return arms


def read_attempt_summary(campaign: CampaignRecords, key: AttemptKey) -> AttemptSummary:
    """Read one attempt's result and keep the few numbers; ten thousand whole ones are too many."""
    result = campaign.read_result(key)
    ours = result["crucible"]
    try:
        total = ours["patterns"]["total"]
        return AttemptSummary(
            driving_score=float(ours["driving_score"]),
            collided=bool(ours["collided"]),
            completion=float(ours["completion"]),
            violated=ours["violation"] is not None,
            time_to_goal=read_surrogates(result)["time_to_goal"],
            patterns=tuple([parse_count(total[name]) for name in PATTERNS]),
            hazards=len(ours["hazards"]),
            hazards_absent=sum(hazard["cause"] == "no_place" for hazard in ours["hazards"]),
            usage=MessageUsage.from_result(result),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise UserError(
            f"{campaign.get_result_path(key)}: not a whole result ({problem!r})"
        ) from None


def make_summary_row(arm: Arm, summaries: Sequence[AttemptSummary]) -> ArmSummary:
    """Return one row from the marks of its attempts."""
    patterns = map(sum_counts, zip(*(summary.patterns for summary in summaries), strict=True))
    times = [one.time_to_goal for one in summaries if not math.isnan(one.time_to_goal)]
    return ArmSummary(
        arm=arm,
        attempts=len(summaries),
        driving_score=compute_mean_value(summary.driving_score for summary in summaries),
        collision_rate=100 * compute_mean_value(summary.collided for summary in summaries),
        route_completion=100 * compute_mean_value(summary.completion for summary in summaries),
        violations=sum(summary.violated for summary in summaries),
        time_to_goal=compute_mean_value(times) if times else math.nan,
        patterns=dict(zip(PATTERNS, patterns, strict=True)),
        hazards=sum(summary.hazards for summary in summaries),
        hazards_absent=sum(summary.hazards_absent for summary in summaries),
        without_messages=sum(summary.usage.without_messages for summary in summaries),
    )


def parse_count(value: Any) -> int | None:
    """Return a count; null where the system does not say what it detects."""
    return None if value is None else int(value)


def sum_counts(counts: Iterable[int | None]) -> int | None:
    """Return the sum of counts; None if one of them is not known."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def compute_mean_value(values: Iterable[float]) -> float:
    """Return the mean of some values, of which there must be one."""
    listed = list(values)
    return sum(listed) / len(listed)
