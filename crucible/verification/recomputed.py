"""Results once more from the records that they were made of, by the definitions of this version."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.campaign.settings.config import build_part
from harness.evaluation.driving import VIOLATIONS
from harness.evaluation.scoring import Coefficients
from harness.evaluation.windows import WINDOWS
from harness.records.reading import read_json_object, read_stored_table
from harness.types.record_names import PATTERNS

COUNTED = (*PATTERNS, "truth_all")
CLOSE = 1e-9
"""Share of themselves by which products of the same factors may differ."""


def find_result_disagreements(place: Path, scoring: Any) -> Iterator[str]:
    """Yield what a try's `result.json` says otherwise than its own records.

    The penalty is the product of the coefficients of all infractions up to and including the first
    violation, times the share inside the lanes where the settings say so; the driving score is 100
    times completion times penalty (Leaderboard 1.0); totals of patterns are sums over steps.
    """
    ours = read_json_object(place / "result.json")["crucible"]
    coefficients: Coefficients = build_part(scoring, "scoring")
    events = read_stored_table(place / "events.parquet", "events")
    kinds = [
        str(kind)
        for event, kind in zip(events["event"], events["kind"], strict=True)
        if str(event) == "infraction"
    ]
    counted = select_until_violation(kinds)
    if counted != ours["infractions"]:
        yield f"infractions are {ours['infractions']}, by events.parquet {counted}"
    penalty = compute_penalty(counted, coefficients, float(ours["outside_share"]))
    yield from check_number_equal("penalty", ours["penalty"], penalty)
    score = 100 * float(ours["completion"]) * penalty
    yield from check_number_equal("driving_score", ours["driving_score"], score)
    yield from find_unequal_totals(place, ours["patterns"])


def select_until_violation(kinds: list[str]) -> list[str]:
    """Return the infractions up to and including the first violation: nothing later counts."""
    first = next((place for place, kind in enumerate(kinds) if kind in VIOLATIONS), len(kinds))
    return kinds[: first + 1]


def compute_penalty(kinds: list[str], coefficients: Coefficients, outside_share: float) -> float:
    """Return the penalty of some infractions."""
    factors: Any = kinds
    penalty = math.prod(coefficients.get_factor(kind) for kind in factors)
    return penalty * (1 - outside_share) if coefficients.outside == "share" else penalty


def find_unequal_totals(place: Path, patterns: Mapping[str, Any]) -> Iterator[str]:
    """Yield totals of patterns that are no sums over planning steps, and windows beyond them."""
    frames = read_stored_table(place / "frames.parquet", "frames")
    for name in COUNTED:
        total = int(frames[name].to_numpy(np.int64).sum())
        yield from check_number_equal(f"patterns.total.{name}", patterns["total"][name], total)
        for window in set(WINDOWS) - {"t1"}:
            inside = patterns[window][name]
            if inside is not None and inside > total:
                yield f"patterns.{window}.{name} is {inside}, of {total} in all"


def check_number_equal(name: str, said: Any, by_records: float) -> Iterator[str]:
    """Yield a line about a number that is not what it is made of."""
    if not math.isclose(float(said), by_records, rel_tol=CLOSE, abs_tol=CLOSE):
        yield f"{name} is {said}, by its records {by_records:g}"
