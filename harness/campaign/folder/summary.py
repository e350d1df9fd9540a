"""A campaign in a few numbers for each arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.records.arms import Arm
from harness.records.heard import Heard, fault_of
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.vocabulary import PATTERNS


@dataclass(frozen=True, slots=True)
class Marks:
    """One attempt in a few numbers."""

    driving_score: float  # 0 to 100
    collided: bool
    completion: float  # 0 to 1
    violated: bool
    patterns: tuple[int, ...]  # totals over all frames
    hazards: int
    hazards_absent: int  # had no place: not run in this attempt
    heard: Heard


@dataclass(frozen=True, slots=True)
class Row:
    """One arm."""

    arm: Arm
    attempts: int
    driving_score: float  # mean, 0 to 100
    collision_rate: float  # % of attempts
    route_completion: float  # mean %
    violations: int
    patterns: dict[str, int]  # totals over all frames
    hazards: int  # of all attempts
    hazards_absent: int  # of those, had no place in their attempt
    without_messages: int  # attempts


def summarise(folder: Path, attempts: Sequence[AttemptKey]) -> tuple[list[Row], dict[Arm, str]]:
    """Return a row for each arm in the order of the plan, and which arms show nothing, and why."""
    campaign = Campaign(folder)
    there = campaign.attempts()
    marks, broken = read_marks(campaign, [key for key in attempts if key in there])
    for problem in broken.values():
        raise problem
    faults = faults_of(marks)
    return rows_of({key: mark for key, mark in marks.items() if key.arm not in faults}), faults


def faults_of(marks: Mapping[AttemptKey, Marks]) -> dict[Arm, str]:
    """Return the arms whose attempts do not show what they are called after, and why."""
    faults = {
        arm: fault_of([attempt.heard for attempt in of_arm])
        for arm, of_arm in by_arm(marks).items()
    }
    return {arm: fault for arm, fault in faults.items() if fault}


def read_marks(
    campaign: Campaign, keys: Sequence[AttemptKey]
) -> tuple[dict[AttemptKey, Marks], dict[AttemptKey, UserError]]:
    """Read the results of many attempts; return the marks, and what could not be read."""
    marks, broken = {}, {}
    for key in keys:
        result = tried_marks(campaign, key)
        if isinstance(result, Marks):
            marks[key] = result
        else:
            broken[key] = result
    return marks, broken


def tried_marks(campaign: Campaign, key: AttemptKey) -> Marks | UserError:
    """Return an attempt's marks, or what is wrong with its result."""
    try:
        return marks_of(campaign, key)
    except UserError as problem:
        return problem


def rows_of(marks: Mapping[AttemptKey, Marks]) -> list[Row]:
    """Return a row for each arm."""
    return [row_of(arm, group) for arm, group in by_arm(marks).items()]


def by_arm(marks: Mapping[AttemptKey, Marks]) -> dict[Arm, list[Marks]]:
    """Return the marks of each arm."""
    arms: dict[Arm, list[Marks]] = {}
    for key, mark in marks.items():
        arms.setdefault(key.arm, []).append(mark)
    return arms


def marks_of(campaign: Campaign, key: AttemptKey) -> Marks:
    """Read one attempt's result and keep the few numbers; ten thousand whole ones are too many."""
    result = campaign.result(key)
    ours = result["crucible"]
    try:
        total = ours["patterns"]["total"]
        return Marks(
            driving_score=float(ours["driving_score"]),
            collided=bool(ours["collided"]),
            completion=float(ours["completion"]),
            violated=ours["violation"] is not None,
            patterns=tuple([int(total[name]) for name in PATTERNS]),
            hazards=len(ours["hazards"]),
            hazards_absent=sum(hazard["cause"] == "no_place" for hazard in ours["hazards"]),
            heard=Heard.of(result),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise UserError(f"{campaign.file_of(key)}: not a whole result ({problem!r})") from None


def row_of(arm: Arm, marks: Sequence[Marks]) -> Row:
    """Return one row from the marks of its attempts."""
    patterns = map(sum, zip(*(mark.patterns for mark in marks), strict=True))
    return Row(
        arm=arm,
        attempts=len(marks),
        driving_score=mean(mark.driving_score for mark in marks),
        collision_rate=100 * mean(mark.collided for mark in marks),
        route_completion=100 * mean(mark.completion for mark in marks),
        violations=sum(mark.violated for mark in marks),
        patterns=dict(zip(PATTERNS, patterns, strict=True)),
        hazards=sum(mark.hazards for mark in marks),
        hazards_absent=sum(mark.hazards_absent for mark in marks),
        without_messages=sum(mark.heard.without_messages for mark in marks),
    )


def mean(values: Iterable[float]) -> float:
    """Return the mean of some values, of which there must be one."""
    listed = list(values)
    return sum(listed) / len(listed)
