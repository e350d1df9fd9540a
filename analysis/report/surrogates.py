"""The section on surrogate safety measures, and the cost in time next to other numbers."""

from __future__ import annotations

import math

from analysis.comparison import SURROGATES
from analysis.drawing.svg import inline
from analysis.figures.surrogates import OF_ORACLE, SPEED, speed_of, time_cost_figure
from analysis.report import html_tables
from analysis.report.gather import Report
from analysis.report.html import Markup, folded, paragraph, section, tag

TITLE = "Time and near misses"


def surrogates(report: Report) -> Markup:
    """Return the cost in time, the surrogate measures, and their paired differences."""
    table = report.tables["time_cost"]
    if not any(math.isfinite(cells[SPEED].value) for _, cells in table.rows()):
        return section("surrogates", TITLE, paragraph("Missing: not in the records."))
    rows = report.contrasts.table
    rows = rows[rows["measure"].isin(list(SURROGATES))] if len(rows) else rows
    differences = (
        folded("Paired differences as a table", html_tables.differences(rows)) if len(rows) else ""
    )
    note = " An arm that buys safety with time is further left and lower."
    caption = tag("figcaption", tag("b", "Collisions and speed."), note)
    figure = tag("figure", caption, Markup(inline(time_cost_figure(table))))
    lacking = " no drive of oracle was read, so they are missing;"
    text = (
        "A drive is measured until its first violation or its end. A mean speed includes standing."
        " Relative numbers are next to oracle on the same route with the same seed, speeds over the"
        f" stretch that both drove;{'' if speed_of(table) == OF_ORACLE else lacking}"
        " the delay is known where both reached the goal, which selects easy routes. Gaps, times"
        " and decelerations are the most dangerous of each drive, over all road users. Hard braking"
        " and stops are without reason if ground truth has no road user in or entering the way, no"
        " signal, bend or goal. None of these is among the tests of the page."
    )
    shown = [
        paragraph(text, class_="quiet"),
        tag("div", figure, class_="figures"),
        html_tables.estimates(report.tables["surrogates"]),
        differences,
    ]
    return section("surrogates", TITLE, shown)
