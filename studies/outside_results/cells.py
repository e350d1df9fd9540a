"""Cells of the tables: short texts for a terminal, numbers alone for files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd

from analysis.report.html import format_counted_noun
from analysis.statistics.intervals import IntervalEstimate
from analysis.tables.writing import format_p

P_VALUES = ("p", "p Holm")
"""Columns of p values, which have three decimals."""


@dataclass(frozen=True, slots=True)
class SuccessCount:
    """Successes, and the drives or scenes that they are of."""

    successes: int
    of: int


@dataclass(frozen=True, slots=True)
class DriveMean:
    """A mean, and the number of drives that it is of; NaN for none."""

    value: float
    drives: int


Cell: TypeAlias = str | int | float | SuccessCount | DriveMean | IntervalEstimate
Row: TypeAlias = dict[str, Cell]


def format_rows(rows: Sequence[Row]) -> list[list[str]]:
    """Return the texts of rows as a terminal shows them."""
    return [[format_cell(name, cell) for name, cell in row.items()] for row in rows]


def format_cell(name: str, cell: Cell) -> str:
    """Return the text of a cell; `-` where there is nothing.

    Args:
        name: of its column.
        cell: its content.
    """
    match cell:
        case SuccessCount(successes, of):
            return f"{successes}/{of}" if of else "-"
        case DriveMean(value, drives):
            return f"{format_number(value)} ({format_counted_noun(drives, 'drive')})"
        case IntervalEstimate():
            return format_difference(cell)
        case float():
            return format_p(cell, 3) if name in P_VALUES else format_number(cell)
        case _:
            return str(cell)


def format_difference(estimate: IntervalEstimate) -> str:
    """Return a difference with its interval; one route has none."""
    if math.isnan(estimate.low):
        return f"{estimate.value:+.1f} (-)"
    return f"{estimate.value:+.1f} ({estimate.low:+.1f} to {estimate.high:+.1f})"


def format_number(value: float) -> str:
    """Return a number with two decimals, `-` for none."""
    return "-" if math.isnan(value) else f"{value:.2f}"


def make_number_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table of a file: every number has a column of its own, and all its digits.

    A difference has `low` and `high` next to it, successes the number that they are of, a mean the
    number of its drives. What is not known is empty.
    """
    return pd.DataFrame(
        [
            {column: value for name, cell in row.items() for column, value in spread(name, cell)}
            for row in rows
        ]
    )


def spread(name: str, cell: Cell) -> list[tuple[str, str | int | float]]:
    """Return the columns of a file that a cell has, with their values."""
    match cell:
        case SuccessCount(successes, of):
            return [(f"{name}, successes", successes), (f"{name}, of", of)]
        case DriveMean(value, drives):
            return [(name, value), (f"{name}, drives", drives)]
        case IntervalEstimate(value=value, low=low, high=high):
            return [(name, value), ("low", low), ("high", high)]
        case _:
            return [(name, cell)]
