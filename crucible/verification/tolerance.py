"""How far an attempt that was driven again may differ, where another processor explains it.

Kernels of torch differ with the processor, by up to 3e-5 before the sigmoid. A box that lies at a
threshold may then be reported or not, which changes counts, and the ego brakes a step earlier or
later. How a drive ends stays (decisions 0105 and 0111).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.common.errors import UserError
from harness.types.record_names import PATTERNS

IDENTICAL, WITHIN, DIFFERS = "identical", "within tolerance", "differs"
VERDICTS = (IDENTICAL, WITHIN, DIFFERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorTolerance:
    """What another processor may change in an attempt.

    Attributes:
        score: driving score, in points.
        completion: share of the route.
        seconds: of simulated time, of the first violation.
        duration_share: of the longer of two drives that end at the goal.
        count_share: of the larger of two counts of a pattern.
        count: of a pattern, where that share is less.
    """

    score: float
    completion: float
    seconds: float
    duration_share: float
    count_share: float
    count: int


ANOTHER_PROCESSOR = ProcessorTolerance(
    score=1.0, completion=0.01, seconds=0.2, duration_share=0.02, count_share=0.25, count=5
)
"""Seconds are one planning step; the other values contain all differences of the measured table."""


def list_intolerable_differences(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    tolerance: ProcessorTolerance = ANOTHER_PROCESSOR,
) -> list[str]:
    """Return what differs between two results by more than another processor explains.

    Args:
        old: a result.
        new: that of the attempt that was driven again.
        tolerance: what may differ.
    """
    try:
        return list(_iter_differences(old, new, tolerance))
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(f"not a whole result ({problem!r})") from None


def _iter_differences(
    old: Mapping[str, Any], new: Mapping[str, Any], tolerance: ProcessorTolerance
) -> Iterator[str]:
    """Yield them: infractions, violation or time to the goal, score, completion, counts."""
    lasted = [float(result["meta"]["duration_game"]) for result in (old, new)]
    old, new = old["crucible"], new["crucible"]
    if old["infractions"] != new["infractions"]:
        yield f"infractions {old['infractions']} -> {new['infractions']}"
    first, second = old["violation"], new["violation"]
    if (first is None) != (second is None) or (first and first["kind"] != second["kind"]):
        yield f"violation {_name_violation(first)} -> {_name_violation(second)}"
    elif first is not None:
        yield from _compare_numbers(
            "time of the violation", first["time"], second["time"], may=tolerance.seconds
        )
    else:
        yield from _compare_numbers("duration", *lasted, may=tolerance.duration_share * max(lasted))
    yield from _compare_numbers(
        "driving score", old["driving_score"], new["driving_score"], may=tolerance.score
    )
    yield from _compare_numbers(
        "completion", old["completion"], new["completion"], may=tolerance.completion
    )
    for name in PATTERNS:
        one, other = (int(result["patterns"]["total"][name]) for result in (old, new))
        may = max(tolerance.count, tolerance.count_share * max(one, other))
        yield from _compare_numbers(f"count of {name}", one, other, may=may)


def _name_violation(violation: Mapping[str, Any] | None) -> str:
    """Return its kind."""
    return "none" if violation is None else str(violation["kind"])


def _compare_numbers(name: str, old: float, new: float, *, may: float) -> Iterator[str]:
    """Yield a line if two numbers differ by more than they may; rounding of the last digit may."""
    if not abs(float(old) - float(new)) <= may + 1e-9:
        yield f"{name} {old:g} -> {new:g}, more than {may:g} apart"
