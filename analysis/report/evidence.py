"""The sections with numbers: driving, differences, errors, odds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pandas as pd

from analysis.arms import list_arms, match_arms
from analysis.drawing.canvas import Canvas
from analysis.drawing.svg import render_inline_svg
from analysis.figures.driving import (
    join_arm_names,
    render_measure_figure,
    render_seeds_figure,
)
from analysis.figures.perception import (
    compute_bands_reach,
    compute_odds_range,
    compute_windows_reach,
    group_along_route_panels,
    render_along_route_figure,
    render_bands_figure,
    render_odds_figure,
    render_windows_figure,
)
from analysis.regression.by_condition import ConditionFits
from analysis.regression.estimators import (
    COMPANION_METHOD,
    PAPER_METHOD,
    TIMING_FAIR,
    WINDOW_METHOD,
)
from analysis.report import html_tables
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
from analysis.tables.table import EstimatesTable
from harness.records.arms import format_arm_label, make_arm_sort_key

BROAD = 580.0
"""Width of a drawing from which on its text is too small in half of the page."""
MOST_FIGURES = 18
"""Of one kind, one for each arm or pair; the tables have all."""
SEED_FIGURES = (
    ("DS", "driving score", "Driving score by seed"),
    ("violations %", "violations, %", "Violations by seed"),
)
ONE_ERROR, ONE_DEVIATION = "for one more error", "for one more SD of the rate"
FITS = {
    TIMING_FAIR: ("Timing-fair: over the same stretch of the same route", ONE_DEVIATION),
    WINDOW_METHOD: ("Companion, not timing-fair: Firth, last 10 s", ONE_DEVIATION),
    COMPANION_METHOD: ("Companion, not timing-fair: GEE, last 10 s", ONE_DEVIATION),
    PAPER_METHOD: ("The paper's, not timing-fair: attempts taken as independent", ONE_ERROR),
}


def render_figure(canvas: Canvas, title: str, note: str = "") -> Markup:
    """Return a drawing with its caption above it; one that is too wide for a column gets a row."""
    return render_tag(
        "figure",
        render_tag("figcaption", render_tag("b", title), note),
        Markup(render_inline_svg(canvas)),
        class_="broad" if canvas.width > BROAD else "",
    )


def render_figure_group(rendered: Iterable[Markup]) -> Markup:
    """Return drawings side by side, as many as there is room for, and how many were left out."""
    every = list(rendered)
    more = len(every) - MOST_FIGURES
    left = f"{format_counted_noun(more, 'more figure')} {'is' if more == 1 else 'are'} left out"
    rest = f"{left}; the values are in the files next to the page."
    return render_tag(
        "div",
        render_tag("div", every[:MOST_FIGURES], class_="figures"),
        render_paragraph(rest, class_="quiet") if more > 0 else "",
    )


def render_named_table(report: ReportContents, name: str) -> Content:
    """Return a table, if the report has it."""
    return html_tables.render_estimates_table(report.tables[name]) if name in report.tables else ""


def render_driving_section(report: ReportContents) -> Markup:
    """Return table II and its two figures."""
    table = report.tables["driving"]
    measures = (
        ("DS", "driving score", "Driving score", "0 to 100, mean"),
        ("violations %", "drives with violation, %", "Violations", "Drives that end in one"),
    )
    rendered = [
        render_figure(render_measure_figure(table, measure, label), title, note)
        for measure, label, title, note in (measures if table.list_rows() else ())
    ]
    text = (
        "Mean or share over attempts, its 95 % confidence interval below it: a bootstrap over"
        " routes, or Wilson's interval where each route counts once; - where there is one route or"
        " no spread."
        " n is the number of attempts."
    )
    shown = [render_named_table(report, name) for name in ("driving", "metrics")]
    return render_section(
        "driving",
        "Driving",
        render_paragraph(text, class_="quiet"),
        render_figure_group(rendered),
        shown,
    )


def render_seeds_section(report: ReportContents) -> Markup:
    """Return the spread over seeds, if any arm has more than one."""
    table = report.tables["seeds"]
    if not table.list_rows():
        return render_section("seeds", "Seeds", render_paragraph("No attempt has a result."))
    seeds = report.collection.attempts.groupby("arm")["seed"].nunique()
    if seeds.max() == 1:
        text = "Each arm has one seed: there is no spread over seeds to show."
        rendered: Content = render_paragraph(text, class_="quiet")
    else:
        rendered = [
            render_paragraph("Each dot is one seed's mean over its routes.", class_="quiet"),
            render_figure_group(
                render_figure(render_seeds_figure(table, measure, label), title)
                for measure, label, title in SEED_FIGURES
            ),
        ]
    by_seed = render_details("Each seed as a table", render_named_table(report, "seeds"))
    return render_section("seeds", "Seeds", rendered, by_seed)


def render_errors_section(report: ReportContents) -> Markup:
    """Return tables III and IV, the time before violations, distance, and figure 8."""
    attempts = report.collection.attempts
    parts: list[Content] = [render_pattern_glossary(), render_named_table(report, "patterns")]
    parts.append(render_named_table(report, "patterns_disturbed"))
    # before violations
    violated = attempts[attempts["violated"].astype(bool)]
    groups = [
        (format_arm_label(arm, report.collection.factors), violated[match_arms(violated, [arm])])
        for arm in sorted(list_arms(violated), key=make_arm_sort_key)
    ]
    if groups:
        most = compute_windows_reach(violated)
        rendered = [
            render_figure(
                render_windows_figure(rows, most), name, format_counted_noun(len(rows), "violation")
            )
            for name, rows in groups
        ]
        parts.append(render_tag("h3", "Before a violation"))
        parts.append(
            render_paragraph(
                "Distribution over violations: median (dot), quartiles (thick line), 5 to 95 %"
                " (thin line). t3 is the last 5 s before the violation, t2 the 5 s before t3, t1"
                " the mean for 5 s over all earlier time. In each row t1 is at the top.",
                class_="quiet",
            )
        )
        parts += [
            render_figure_group(rendered),
            render_details("As a table", render_named_table(report, "before_violation")),
        ]
    # along the route, and by distance: only of reports that read drives
    if "along_route" in report.tables:
        parts += render_along_route(report.tables["along_route"])
        parts.append(render_details("As a table", render_named_table(report, "along_route")))
        parts.append(render_named_table(report, "precision"))
    if "bands" in report.tables:
        parts.append(render_tag("h3", "By distance from the ego"))
        text = "Each row, from the top: 0 to 30 m, 30 to 50 m, 50 to 100 m; 95 % intervals."
        parts.append(render_paragraph(text, class_="quiet"))
        parts.append(render_figure_group(render_distance_figures(report.tables["bands"])))
        parts.append(render_details("Errors by distance", render_named_table(report, "bands")))
        parts.append(render_common_stretch(report))
        parts.append(render_precision_by_distance(report))
    return render_section("errors", "Errors of cooperative perception", *parts)


def render_precision_by_distance(report: ReportContents) -> Content:
    """Return average precision by distance, or why there is none."""
    table = render_named_table(report, "precision_bands")
    if table:
        return render_details("Precision by distance", table)
    if not report.collection.packed:
        return ""
    text = "Precision by distance is left out: packing left out the boxes of the drives."
    return render_paragraph(text, class_="quiet")


def render_common_stretch(report: ReportContents) -> Content:
    """Return the errors of pairs over the road that both drove."""
    if not report.tables["common_stretch"].list_rows():
        return ""
    text = render_paragraph(
        "A collision ends a drive, so the errors of two arms come from different stretches of"
        " road; the table above has the exposure (ground-truth boxes, metres, seconds). Here each"
        " pair is compared on the stretch that both of its drives drove.",
        class_="quiet",
    )
    return render_tag(
        "div",
        text,
        render_details(
            "Errors on the common stretch", render_named_table(report, "common_stretch")
        ),
    )


def render_pattern_glossary() -> Markup:
    """Return the meaning of the six patterns."""
    return render_paragraph(
        "L...: cooperation misled; the ego alone was right (round markers). C...: cooperation did"
        " not correct an error of the ego alone (square markers). The error: ",
        render_tag("b", "ME"),
        " missed (false negative), ",
        render_tag("b", "LE"),
        " mislocalised, ",
        render_tag("b", "AE"),
        " additional detection (false positive).",
        class_="quiet",
    )


def render_along_route(table: EstimatesTable) -> list[Content]:
    """Return figure 8: a panel for each setting, or one for all if there is one system."""
    rendered = [
        render_figure(render_along_route_figure(table, arms), name)
        for name, arms in group_along_route_panels(table).items()
    ]
    return [
        render_tag("h3", "Figure 8. Average precision along the route"),
        render_figure_group(rendered),
    ]


def render_distance_figures(table: EstimatesTable) -> Iterator[Markup]:
    """Yield a figure of errors by distance for each arm."""
    rows = table.list_rows()
    most = compute_bands_reach(rows)
    for arm in table.list_row_arms():
        arm_rows = [(names[-1], cells) for names, cells in rows if names[: table.arm] == arm]
        yield render_figure(render_bands_figure(arm_rows, most), join_arm_names(arm))


def render_odds_section(report: ReportContents) -> Markup:
    """Return the regressions of every condition."""
    # one axis for all conditions of a unit
    ranges = {
        unit: compute_odds_range(
            fit for fits in report.regressions for fit in fits.fits if FITS[fit.method][1] == unit
        )
        for unit in (ONE_ERROR, ONE_DEVIATION)
    }
    parts = [
        part for fits in report.regressions for part in render_condition_odds(fits, report, ranges)
    ]
    text = (
        "Associations of the six error patterns with violations, by condition. The timing-fair"
        " regression compares each violation with all drives of the same route over the ten seconds"
        " of road before it. The companions compare the last ten seconds before a violation with"
        " the last ten before the goal: where errors depend on the place, they have false"
        " positives. They are shown for comparison, and no key finding rests on them. An odds ratio"
        " above one means that drives with a higher rate of an error violate more often; it does"
        " not mean that the error is the cause."
    )
    nothing = "" if parts else render_paragraph("No attempt has a result: nothing to regress.")
    return render_section(
        "odds", "Errors and violations", render_paragraph(text, class_="quiet"), parts, nothing
    )


def render_condition_odds(
    condition_fits: ConditionFits, report: ReportContents, ranges: Mapping[str, tuple[float, float]]
) -> Iterator[Markup]:
    """Yield one condition's figures and diagnostics."""
    yield render_tag("h3", f"Condition {condition_fits.condition}")
    fits = {fit.method: fit for fit in condition_fits.fits}
    tested = report.declaration.odds.get(condition_fits.condition)
    # fits, and why others are missing
    rendered = [
        render_figure(
            render_odds_figure(
                fits[method], unit, ranges[unit], tested if method == TIMING_FAIR else None
            ),
            title,
        )
        for method, (title, unit) in FITS.items()
        if method in fits
    ]
    if rendered:
        yield render_figure_group(rendered)
    for method, reason in condition_fits.refused.items():
        yield render_paragraph(f"{FITS[method][0]}: not fitted, {reason}.")
    # diagnostics
    checks: list[Content] = []
    if condition_fits.set_checks is not None:
        checks += [
            render_tag("h4", "Over the same stretch"),
            html_tables.render_text_table(condition_fits.set_checks),
        ]
    checks += [render_tag("h4", "Last 10 s"), html_tables.render_text_table(condition_fits.checks)]
    yield render_details("Diagnostics", checks)
    if condition_fits.fits:
        yield render_details(
            "All coefficients",
            [render_terms_table(fit.method, fit.terms) for fit in condition_fits.fits],
        )


def render_terms_table(method: str, frame: pd.DataFrame) -> Markup:
    """Return a fit as a table."""
    shown = frame.copy()
    for name in shown.select_dtypes("number"):
        shown[name] = [f"{value:.3g}" for value in shown[name]]
    return render_tag("div", render_tag("h4", method), html_tables.render_text_table(shown))
