"""Tables of estimates in the page: each cell with its interval, and with its n where it differs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.comparison import COMPARED_SURROGATES
from analysis.report.html import (
    Content,
    Markup,
    format_rest,
    format_signed_difference,
    render_grid_table,
    render_paragraph,
    render_tag,
)
from analysis.statistics.intervals import IntervalEstimate
from analysis.surrogates import EARLY
from analysis.tables.table import EstimatesTable
from analysis.tables.writing import format_p

NOTHING = "-"
MOST_ROWS = 400
"""Of a table in the page; the files have all."""


def render_estimates_table(table: EstimatesTable) -> Markup:
    """Return a table of estimates with its title."""
    rows = table.list_rows()
    title = render_tag("h3", table.title)
    if not rows:
        return render_tag("div", title, render_paragraph("No data.", class_="quiet"))
    measures = table.measures
    head = [*table.by, *measures, "n", "routes"]
    body = [
        render_estimate_row(names, cells, measures, table.digits)
        for names, cells in rows[:MOST_ROWS]
    ]
    more = len(rows) - len(body)
    rest = (
        render_paragraph(format_rest(more, "row", f"{table.name}.csv"), class_="quiet")
        if more
        else ""
    )
    return render_tag("div", title, render_grid_table(head, body, len(table.by)), rest)


def render_estimate_row(
    names: Sequence[str],
    cells: Mapping[str, IntervalEstimate],
    measures: Sequence[str],
    digits: Mapping[str, int],
) -> list[Content]:
    """Return a row: names, cells, and the most attempts and routes that a cell rests on."""
    n = max(estimate.n for estimate in cells.values())
    routes = max(estimate.routes for estimate in cells.values())
    shown: list[Content] = [
        render_estimate_cell(cells[name], digits.get(name, 1), n) for name in measures
    ]
    return [*names, *shown, str(n), str(routes)]


def render_estimate_cell(estimate: IntervalEstimate, digits: int, n: int) -> Content:
    """Return a value, below it its interval, and its n if it is not the row's."""
    cell_n = render_tag("small", f"n {estimate.n}") if estimate.n != n else ""
    if not math.isfinite(estimate.value):
        return [render_tag("span", NOTHING), cell_n]
    value = render_tag("span", f"{estimate.value:.{digits}f}")
    if not math.isfinite(estimate.low):
        return [value, render_tag("small", NOTHING), cell_n]
    return [
        value,
        render_tag("small", f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}"),
        cell_n,
    ]


def render_differences_table(rows: pd.DataFrame, *, shows_early_ends: bool = False) -> Markup:
    """Return differences with intervals, tests and what they rest on.

    Of more rows than a page holds, those of the page's tests come first, and
    the number of the others is stated.

    Args:
        rows: of the differences.
        shows_early_ends: whether a column counts the pairs of which one drive ended earlier.
    """
    shown = rows
    if len(rows) > MOST_ROWS:
        tested = rows["p page"].notna()
        shown = pd.concat([rows[tested], rows[~tested]]).head(MOST_ROWS)
    head = ["second", "first", "measure", "second, value", "first, value", "second minus first"]
    head += ["p", "p, page", "pairs", "routes", *([EARLY] * shows_early_ends)]
    body = [
        [
            str(row["arm_b"]),
            str(row["arm_a"]),
            str(row["measure"]),
            f"{row['b']:.{get_measure_digits(row)}f}",
            f"{row['a']:.{get_measure_digits(row)}f}",
            render_difference_cell(row),
            format_p(row["p"], 4),
            format_p(row["p page"], 4),
            str(row["pairs"]),
            str(row["routes"]),
            *([str(row[EARLY])] if shows_early_ends else ()),
        ]
        for _, row in shown.iterrows()
    ]
    more = len(rows) - len(shown)
    rest = format_rest(more, "row", "differences.csv")
    return render_tag(
        "div",
        render_grid_table(head, body, 3),
        render_paragraph(rest, class_="quiet") if more else "",
    )


def render_difference_cell(row: pd.Series) -> Content:
    """Return a difference and its interval."""
    digits = get_measure_digits(row)
    value = render_tag(
        "strong" if row["clear"] else "span", format_signed_difference(row["difference"], digits)
    )
    if not math.isfinite(row["low"]):
        return [value, render_tag("small", NOTHING)]
    low, high = (
        format_signed_difference(row["low"], digits),
        format_signed_difference(row["high"], digits),
    )
    return [value, render_tag("small", f"{low} to {high}")]


def get_measure_digits(row: pd.Series) -> int:
    """Return the digits of a measure's differences."""
    return 2 if row["measure"] in COMPARED_SURROGATES else 1


def render_text_table(frame: pd.DataFrame, names: int = 1) -> Markup:
    """Return a table of texts."""
    return render_grid_table(map(str, frame.columns), frame.astype(str).to_numpy().tolist(), names)
