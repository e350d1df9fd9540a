"""The section of paired differences: families of comparisons, and the drives route by route."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.comparison import add_time_difference, compute_route_means
from analysis.contrasts import DISTURBED, SYSTEMS, ArmContrasts
from analysis.drawing.canvas import Canvas
from analysis.figures.driving import render_differences_figure, render_pairs_figure
from analysis.figures.matrix import render_matrix_figure
from analysis.report import html_tables
from analysis.report.evidence import render_figure, render_figure_group
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Content,
    Markup,
    format_counted_noun,
    render_details,
    render_paragraph,
    render_section,
    render_tag,
)
from analysis.tables.writing import format_p
from harness.records.arms import format_arm_label

MOST_LISTED_PAIRS = 10
"""Pairs of systems that are listed; more are a matrix."""
DISTURBED_NOTE = "minus the same system without disturbance"


def render_differences_section(report: ReportContents) -> Markup:
    """Return the paired differences, and the drives route by route."""
    contrasts = report.contrasts
    if contrasts.table.empty:
        text = "Only one arm, or no two arms with a common route and seed: nothing to pair."
        return render_section("differences", "Paired differences", render_paragraph(text))
    rendered = []
    # a figure for every family and tested measure
    for family in dict.fromkeys(contrasts.table["family"]):
        for measure in ("driving score", "violations, %"):
            rows = add_time_difference(contrasts.select_measure(measure, family), contrasts.table)
            unit = "points" if measure == "driving score" else "percentage points"
            name = measure.removesuffix(", %").capitalize()
            canvas = render_family_figure(rows, name, unit, is_pairs=family.startswith(SYSTEMS))
            count = f"{int(rows['clear'].sum())} of {len(rows)} significant"
            note = f"{DISTURBED_NOTE}; {count}" if family == DISTURBED else count
            rendered.append(render_figure(canvas, f"{name}, {family}", note))
    # what the figures mean, and all numbers
    text = (
        "Attempts are paired by route and seed. 95 % confidence intervals are a bootstrap over"
        " routes. p is from random sign flips of routes. Page-wide p is adjusted for all tests of"
        " the page. A difference is statistically significant if its interval excludes zero, or all"
        " routes differ equally, and page-wide p is below 0.05. Lists show significant differences"
        " filled, matrices show them framed. All other differences are not significant, which does"
        " not mean equal. The tests of the page are of driving score and violations only. The table"
        " also has route completion, collisions, speed and time. In figures, time is the difference"
        " in the time to goal, over pairs in which both drives reached it. Near misses have a"
        " section of their own."
    )
    return render_section(
        "differences",
        "Paired differences",
        render_paragraph(text, class_="quiet"),
        render_figure_group(rendered),
        *(render_paragraph(reason, class_="quiet") for reason in contrasts.refused),
        *render_one_sided_hazards(contrasts),
        render_tag("h3", "Route by route"),
        render_figure_group(render_route_figures(contrasts, report.collection.factors)),
        render_details(
            "All differences as a table", html_tables.render_differences_table(contrasts.scores)
        ),
    )


def render_family_figure(rows: pd.DataFrame, name: str, unit: str, *, is_pairs: bool) -> Canvas:
    """Draw all differences of a family: as a list, or many pairs of systems as a matrix.

    Args:
        rows: of one measure.
        name: of the measure.
        unit: of the differences.
        is_pairs: whether each pair of systems has a row.
    """
    if is_pairs and len(rows) > MOST_LISTED_PAIRS:
        better = "driving score" in name.lower()
        return render_matrix_figure(rows, f"{name}, {unit}", higher_is_better=better)
    return render_differences_figure(rows, f"difference, {unit}")


def render_one_sided_hazards(contrasts: ArmContrasts) -> Iterator[Content]:
    """Yield the hazards that ran in one arm of a pair only, and the sensitivity to such pairs."""
    pairs = [pair for pair in contrasts.pairs if len(pair.one_sided)]
    if not pairs:
        return
    # hazards of one side, and what other choices of pairs would give
    listed = [
        pair.one_sided.assign(first=pair.a.name, second=pair.b.name).replace(
            {"left out": {True: "yes", False: "no"}}
        )
        for pair in pairs
    ]
    other = [pair.sensitivity.assign(first=pair.a.name, second=pair.b.name) for pair in pairs]
    left_out = sum(pair.left_out for pair in pairs)
    yield render_paragraph(
        (
            f"In {format_counted_noun(left_out, 'pair')} a hazard was placed in one arm only: left"
            " out of the tests."
            if left_out
            else "No pair has a hazard that was placed in one arm only."
        )
        + " Pairs with a hazard that was placed in both arms and triggered in one only are kept,"
        " because whether a hazard is triggered depends on the drive.",
        class_="quiet",
    )
    yield render_details(
        "Hazards that ran in one arm only", html_tables.render_text_table(pd.concat(listed), 3)
    )
    columns = ["first", "second", "chosen", "measure", "difference", "low", "high", "p", "pairs"]
    rest = pd.concat(other)
    if len(rest):
        rounded = rest[columns].round(3).astype(object).where(rest[columns].notna(), "-")
        rounded["p"] = [format_p(p, 3) for p in rest["p"]]
        yield render_details(
            "Sensitivity: other choices of pairs", html_tables.render_text_table(rounded, 4)
        )


def render_route_figures(contrasts: ArmContrasts, factors: Sequence[str]) -> Iterator[Markup]:
    """Yield the dots and lines of all pairs of arms, those that differ significantly first.

    Among equals, disturbed against undisturbed comes before systems.
    """
    clear = contrasts.table[contrasts.table["clear"]]
    names = set(zip(clear["arm_a"], clear["arm_b"], strict=True))
    for pair in sorted(contrasts.pairs, key=lambda pair: (pair.a.name, pair.b.name) not in names):
        arms = (format_arm_label(pair.a.arm, factors), format_arm_label(pair.b.arm, factors))
        canvas, hidden = render_pairs_figure(
            compute_route_means(pair, "driving_score"), arms, "driving score"
        )
        note = "Mean over seeds of each route; red where the second arm is worse."
        note += f" {hidden} with the smallest differences not shown." if hidden else ""
        yield render_figure(canvas, f"{arms[1]} against {arms[0]}", note)
