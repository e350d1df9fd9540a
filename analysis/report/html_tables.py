"""Tables of estimates in the page: each cell with its interval, and with its n where it differs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.comparison import SURROGATES
from analysis.report.html import Content, Markup, grid, paragraph, signed, tag
from analysis.statistics.intervals import Estimate
from analysis.tables.table import Table
from analysis.tables.writing import format_p

NOTHING = "-"
MOST_ROWS = 400
"""Of a table in the page; the files have all."""


def estimates(table: Table) -> Markup:
    """Return a table of estimates with its title."""
    rows = table.rows()
    title = tag("h3", table.title)
    if not rows:
        return tag("div", title, paragraph("No data.", class_="quiet"))
    measures = table.measures
    head = [*table.by, *measures, "n", "routes"]
    body = [line(names, cells, measures, table.digits) for names, cells in rows[:MOST_ROWS]]
    more = len(rows) - len(body)
    rest = paragraph(f"{more} more rows are in {table.name}.csv.", class_="quiet") if more else ""
    return tag("div", title, grid(head, body, len(table.by)), rest)


def line(
    names: Sequence[str],
    cells: Mapping[str, Estimate],
    measures: Sequence[str],
    digits: Mapping[str, int],
) -> list[Content]:
    """Return a row: names, cells, and the most attempts and routes that a cell rests on."""
    n = max(estimate.n for estimate in cells.values())
    routes = max(estimate.routes for estimate in cells.values())
    shown: list[Content] = [cell(cells[name], digits.get(name, 1), n) for name in measures]
    return [*names, *shown, str(n), str(routes)]


def cell(estimate: Estimate, digits: int, n: int) -> Content:
    """Return a value, below it its interval, and its n if it is not the row's."""
    cell_n = tag("small", f"n {estimate.n}") if estimate.n != n else ""
    if not math.isfinite(estimate.value):
        return [tag("span", NOTHING), cell_n]
    value = tag("span", f"{estimate.value:.{digits}f}")
    if not math.isfinite(estimate.low):
        return [value, tag("small", NOTHING), cell_n]
    return [value, tag("small", f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"), cell_n]


def differences(rows: pd.DataFrame) -> Markup:
    """Return differences with intervals, tests and what they rest on."""
    head = ["second", "first", "measure", "second, value", "first, value", "second minus first"]
    head += ["p", "p, page", "pairs", "routes"]
    body = [
        [
            str(row["arm_b"]),
            str(row["arm_a"]),
            str(row["measure"]),
            f"{row['b']:.{digits_of(row)}f}",
            f"{row['a']:.{digits_of(row)}f}",
            difference(row),
            format_p(row["p"], 4),
            format_p(row["p page"], 4),
            str(row["pairs"]),
            str(row["routes"]),
        ]
        for _, row in rows.head(MOST_ROWS).iterrows()
    ]
    return grid(head, body, 3)


def difference(row: pd.Series) -> Content:
    """Return a difference and its interval."""
    digits = digits_of(row)
    value = tag("strong" if row["clear"] else "span", signed(row["difference"], digits))
    if not math.isfinite(row["low"]):
        return [value, tag("small", NOTHING)]
    low, high = signed(row["low"], digits), signed(row["high"], digits)
    return [value, tag("small", f"{low} to {high}")]


def digits_of(row: pd.Series) -> int:
    """Return the digits of a measure's differences."""
    return 2 if row["measure"] in SURROGATES else 1


def text_table(frame: pd.DataFrame, names: int = 1) -> Markup:
    """Return a table of texts."""
    return grid(map(str, frame.columns), frame.astype(str).to_numpy().tolist(), names)
