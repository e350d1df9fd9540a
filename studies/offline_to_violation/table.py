"""The table of a study as words: a row for each finding, all systems together."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from studies.offline_to_violation.verdicts import ALL_SYSTEMS

HEAD = (
    *("finding", "range", "lower log loss", "95 % interval", "p"),
    *("violations, repaired less not, %", "95 % interval", "p", "verdict"),
)
SCORE_HEAD = (
    *("model", "log loss", "lower than base rate", "95 % interval"),
    *("Brier", "lower than base rate", "95 % interval", "mean p less rate"),
)
NOTHING = "-"


def list_table_rows(table: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the cells of each finding; p values are those of the family."""
    for _, row in table[table["system"] == ALL_SYSTEMS].iterrows():
        yield [
            row["finding"],
            row["range"],
            *format_estimate(row, "lower log loss", digits=4),
            format_family_p(row["Holm predictor"]),
            *format_estimate(row, "effect", digits=1, scale=100.0),
            format_family_p(row["Holm cause"]),
            row["verdict"],
        ]


def list_score_rows(scores: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the cells of each model."""
    for _, row in scores.iterrows():
        yield [
            row["model"],
            f"{row['log loss']:.4f}",
            *format_estimate(row, "lower log loss", digits=4),
            f"{row['Brier']:.4f}",
            *format_estimate(row, "lower Brier", digits=4),
            format_signed(row["too high"], 3),
        ]


def format_estimate(
    row: pd.Series, name: str, *, digits: int, scale: float = 1.0
) -> tuple[str, str]:
    """Return a value and its interval."""
    value, low, high = (scale * float(row[key]) for key in (name, f"{name} low", f"{name} high"))
    if not math.isfinite(value):
        return NOTHING, NOTHING
    known = math.isfinite(low) and math.isfinite(high)
    interval = (
        f"{format_signed(low, digits)} .. {format_signed(high, digits)}" if known else NOTHING
    )
    return format_signed(value, digits), interval


def format_signed(value: float, digits: int) -> str:
    """Return a number with its sign; what rounds to zero is +0.

    An optimiser's last digits differ between processors, and with them the sign of what is zero.
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def format_family_p(p: float) -> str:
    """Return a p value; `-` for what was not tested."""
    return f"{p:.3f}" if math.isfinite(p) else NOTHING
