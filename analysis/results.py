"""One attempt's `result.json` as one flat row."""

from __future__ import annotations

from typing import Any

from harness.errors import UserError
from harness.judging.windows import WINDOWS
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.vocabulary import BANDS, CLASSES, PATTERNS

SPANS = ("total", *WINDOWS)
"""What errors are counted over: the whole drive, and the windows before its end."""
COUNTED = (*PATTERNS, "truth_all")
NAN = float("nan")


def read_result(campaign: Campaign, key: AttemptKey) -> dict[str, Any]:
    """Return an attempt's row; a result that lacks a part is named."""
    result = campaign.result(key)
    try:
        return row_of(result)
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(f"{campaign.file_of(key)}: not a whole result ({problem!r})") from None


def row_of(result: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a result by name; what it could not know is NaN."""
    ours = result["crucible"]
    attempt, violation = ours["attempt"], ours["violation"]
    return {
        "system": str(attempt["system"]),
        "condition": str(attempt["condition"]),
        "route": str(attempt["route"]),
        "seed": int(attempt["seed"]),
        "simulator": str(attempt["simulator"]),
        "driving_score": float(ours["driving_score"]),
        "completion": float(ours["completion"]),
        "penalty": float(ours["penalty"]),
        "collided": bool(ours["collided"]),
        "collided_with_road_user": bool(ours["collided_with_road_user"]),
        "violated": violation is not None,
        "violation": "" if violation is None else str(violation["kind"]),
        "violation_time": NAN if violation is None else float(violation["time"]),
        "violation_with": "" if violation is None else str(violation["with_type"]),
        "ego_stationary": violation is not None and bool(violation["ego_stationary"]),
        "duration": float(result["meta"]["duration_game"]),
        "route_length": float(result["meta"]["route_length"]),
        **{
            f"{name}_{span}": number(ours["patterns"][span][name])
            for span in SPANS
            for name in COUNTED
        },
        **precisions(ours["average_precision"]["cooperative"], "ap"),
        **precisions(ours["average_precision"]["ego_alone"], "ap_ego_alone"),
    }


def precisions(told: dict[str, Any], name: str) -> dict[str, float]:
    """Return the average precision, eleven-point unless named, over all and by class and band."""
    return {
        name: number(told["eleven_point"]),
        f"{name}_all_point": number(told["all_point"]),
        **{f"{name}_{part}": number(told[part]["eleven_point"]) for part in (*CLASSES, *BANDS)},
    }


def number(value: Any) -> float:
    """Return a number, NaN for what a drive was too short for."""
    return NAN if value is None else float(value)
