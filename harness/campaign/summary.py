"""A campaign in a few numbers for each system and condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.records.keys import AttemptKey
from harness.records.reading import Campaign

PATTERNS = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")


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
    arms: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key in attempts:
        if key in there:
            arms.setdefault((key.system, key.condition), []).append(campaign.result(key))
    return [row_of(system, condition, results) for (system, condition), results in arms.items()]


def row_of(system: str, condition: str, results: Sequence[dict[str, Any]]) -> Row:
    """Return one row from the results of its attempts."""
    ours = [result["crucible"] for result in results]
    n = len(results)
    return Row(
        system,
        condition,
        n,
        sum(each["driving_score"] for each in ours) / n,
        100 * sum(each["collided"] for each in ours) / n,
        100 * sum(each["completion"] for each in ours) / n,
        sum(each["violation"] is not None for each in ours),
        {name: sum(each["patterns"]["total"][name] for each in ours) for name in PATTERNS},
    )
