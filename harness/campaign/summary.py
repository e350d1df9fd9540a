"""A campaign in a few numbers for each system and condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
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


@dataclass(frozen=True, slots=True)
class Row:
    """One system under one condition."""

    system: str
    condition: str
    attempts: int
    driving_score: float  # mean, 0 to 100
    collision_rate: float  # % of attempts
    route_completion: float  # mean %
    violations: int
    patterns: dict[str, int]  # totals over all frames


def summarise(folder: Path, attempts: Sequence[AttemptKey]) -> list[Row]:
    """Return a row for each system and condition, in the order of the plan."""
    campaign = Campaign(folder)
    there = campaign.attempts()
    marks, broken = read_marks(campaign, [key for key in attempts if key in there])
    for problem in broken.values():
        raise problem
    return rows_of(marks)


def read_marks(
    campaign: Campaign, keys: Sequence[AttemptKey]
) -> tuple[dict[AttemptKey, Marks], dict[AttemptKey, UserError]]:
    """Read the results of many attempts; return the marks, and what could not be read."""
    marks, broken = {}, {}
    for key in keys:
        found = tried_marks(campaign, key)
        if isinstance(found, Marks):
            marks[key] = found
        else:
            broken[key] = found
    return marks, broken


def tried_marks(campaign: Campaign, key: AttemptKey) -> Marks | UserError:
    """Return an attempt's marks, or what is wrong with its result."""
    try:
        return marks_of(campaign, key)
    except UserError as problem:
        return problem


def rows_of(marks: Mapping[AttemptKey, Marks]) -> list[Row]:
    """Return a row for each system and condition."""
    arms: dict[tuple[str, str], list[Marks]] = {}
    for key, each in marks.items():
        arms.setdefault((key.system, key.condition), []).append(each)
    return [row_of(system, condition, each) for (system, condition), each in arms.items()]


def marks_of(campaign: Campaign, key: AttemptKey) -> Marks:
    """Read one attempt's result and keep the few numbers; ten thousand whole ones are too many."""
    ours = campaign.result(key)["crucible"]
    try:
        total = ours["patterns"]["total"]
        return Marks(
            float(ours["driving_score"]),
            bool(ours["collided"]),
            float(ours["completion"]),
            ours["violation"] is not None,
            tuple([int(total[name]) for name in PATTERNS]),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise UserError(f"{campaign.file_of(key)}: not a whole result ({problem!r})") from None


def row_of(system: str, condition: str, marks: Sequence[Marks]) -> Row:
    """Return one row from the marks of its attempts."""
    patterns = map(sum, zip(*(each.patterns for each in marks), strict=True))
    return Row(
        system,
        condition,
        len(marks),
        mean(each.driving_score for each in marks),
        100 * mean(each.collided for each in marks),
        100 * mean(each.completion for each in marks),
        sum(each.violated for each in marks),
        dict(zip(PATTERNS, patterns, strict=True)),
    )


def mean(values: Iterable[float]) -> float:
    """Return the mean of some values, of which there must be one."""
    listed = list(values)
    return sum(listed) / len(listed)
