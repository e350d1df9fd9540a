"""The section on surrogate safety measures, and the cost in time next to other numbers."""

from __future__ import annotations

import math

from analysis.comparison import COMPARED_SURROGATES
from analysis.drawing.svg import render_inline_svg
from analysis.figures.surrogates import (
    OF_ORACLE,
    SPEED,
    choose_speed_measure,
    render_time_cost_figure,
)
from analysis.report import html_tables
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Markup,
    render_details,
    render_paragraph,
    render_section,
    render_tag,
)

TITLE = "Time and near misses"


def render_surrogates_section(report: ReportContents) -> Markup:
    """Return the cost in time, the surrogate measures, and their paired differences."""
    table = report.tables["time_cost"]
    if not any(math.isfinite(cells[SPEED].value) for _, cells in table.list_rows()):
        return render_section("surrogates", TITLE, render_paragraph("Missing: not in the records."))
    # differences of these measures, if there are pairs
    rows = report.contrasts.table
    rows = rows[rows["measure"].isin(list(COMPARED_SURROGATES))] if len(rows) else rows
    differences = (
        render_details(
            "Paired differences as a table",
            html_tables.render_differences_table(rows, shows_early_ends=True),
        )
        if len(rows)
        else ""
    )
    note = (
        " An arm that collides less because it drives slower is further left and lower. Both axes"
        " reach as far as the markers, not to 0. A line joins a disturbed arm and the same arm"
        " undisturbed. Markers that would hide each other are set apart, with a line to the true"
        " place. Of more than six arms, the table has the intervals."
    )
    caption = render_tag("figcaption", render_tag("b", "Collisions and speed."), note)
    figure = render_tag(
        "figure", caption, Markup(render_inline_svg(render_time_cost_figure(table)))
    )
    lacking = " no drive of oracle was read, so they are missing;"
    text = (
        "A drive is measured until its first violation or its end. A mean speed includes standing."
        " Relative numbers are next to oracle on the same route with the same seed, speeds over the"
        f" stretch that both drove;{'' if choose_speed_measure(table) == OF_ORACLE else lacking}"
        " the delay is known where both reached the goal, which selects easy routes. Gaps, times"
        " and decelerations are the most dangerous of each drive, over all road users. Hard braking"
        " and stops are without reason if ground truth has no road user in or entering the way, no"
        " signal, bend or goal. None of these is among the tests of the page."
    )
    shown = [
        render_paragraph(text, class_="quiet"),
        render_tag("div", figure, class_="figures"),
        html_tables.render_estimates_table(table),
        html_tables.render_estimates_table(report.tables["surrogates"]),
        html_tables.render_estimates_table(report.tables["surrogate_rates"]),
        differences,
    ]
    return render_section("surrogates", TITLE, shown)
