"""Cells of the study's tables: values, differences and odds ratios from CSV files, as Markdown."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = dict[str, str]

SYSTEMS = (
    "oracle", "ideal_single", "single", "ideal_late", "late", "early", "fcooper", "attfuse",
    "disconet", "v2vnet", "v2xvit", "codriving",
)  # fmt: skip
SURELY = 0.05


def rows_of(file: Path) -> list[Row]:
    """Return a CSV file's rows, none where it is missing."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.DictReader(text))


def print_table(lines: Iterable[Sequence[str]]) -> None:
    """Print a table whose first line has the names of its columns."""
    for number, line in enumerate(lines):
        print("| " + " | ".join(line) + " |")
        if number == 0:
            print("| " + " | ".join(["---"] * len(line)) + " |")


def system_of(arm: str) -> str:
    """Return an arm's system."""
    return arm.partition("/")[0]


def in_order(arms_known: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return systems and conditions, systems as the study has them, undisturbed first."""
    return sorted(arms_known, key=lambda arm: (SYSTEMS.index(arm[0]), arm[1] != "none", arm[1]))


def value(row: Row, digits: int = 1) -> str:
    """Return a value with its interval, nothing where it is missing."""
    if not row["value"]:
        return ""
    text = number(row["value"], digits)
    if not row["low"]:
        return text
    return f"{text} ({number(row['low'], digits)} to {number(row['high'], digits)})"


def difference(row: Row, digits: int = 1) -> str:
    """Return a difference with its interval."""
    middle, low, high = (row[name] for name in ("difference", "low", "high"))
    if not low:
        return f"{signed(middle, digits)} (equal on all routes)"
    return f"{signed(middle, digits)} ({signed(low, digits)} to {signed(high, digits)})"


def with_p(row: Row, column: str = "p holm", digits: int = 1) -> str:
    """Return a difference with its interval and p within its family; bold where p is small."""
    text = difference(row, digits)
    if not row[column]:
        return text
    p = float(row[column])
    text = f"**{text}**" if p < SURELY else text
    return f"{text}; {'< 0.001' if p < 0.001 else f'{p:.3f}'}"


def odds(
    row: Row,
    *,
    value: str = "odds_ratio",
    bounds: tuple[str, str] = ("low", "high"),
    p: str = "p_holm",
) -> str:
    """Return an odds ratio with its interval; an asterisk where p is small after Holm."""
    if not row[value]:
        return ""
    star = "*" if row[p] and float(row[p]) < SURELY else ""
    interval = " to ".join(f"{float(row[name]):.2f}" for name in bounds if row[name])
    return f"{float(row[value]):.2f}{star} ({interval})"


def number(text: str, digits: int) -> str:
    """Return a number with so many digits behind the point."""
    return f"{float(text):.{digits}f}"


def signed(text: str, digits: int = 1) -> str:
    """Return a difference with its sign."""
    return f"{float(text):+.{digits}f}".replace("-", "\N{MINUS SIGN}")
