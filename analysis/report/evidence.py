"""The sections with numbers: driving, differences, errors, odds, messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from analysis.arms import arms_in, of_arms
from analysis.comparison import by_route, with_time
from analysis.contrasts import DISTURBED, Contrasts
from analysis.drawing.canvas import Canvas
from analysis.drawing.svg import inline
from analysis.figures.driving import (
    arm_of,
    differences_figure,
    measure_figure,
    overview_figures,
    pairs_figure,
    seeds_figure,
)
from analysis.figures.perception import (
    ages_figure,
    along_route_figure,
    bands_figure,
    bytes_figure,
    most_in,
    most_in_windows,
    odds_figure,
    odds_range,
    windows_figure,
)
from analysis.regression.by_condition import ConditionFits
from analysis.regression.estimators import COMPANION, PAPER, TIMING_FAIR, WINDOW
from analysis.report import html_tables
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, paragraph, plural, section, tag
from analysis.tables.table import Table
from harness.records.arms import in_order, label

MOST_FIGURES = 18
"""Of one kind, one for each arm or pair; the tables have all."""
ONE_ERROR, ONE_DEVIATION = "for one more error", "for one more SD of the rate"
FITS = {
    TIMING_FAIR: ("Timing-fair: over the same stretch of the same route", ONE_DEVIATION),
    WINDOW: ("Companion, not timing-fair: Firth, last 10 s", ONE_DEVIATION),
    COMPANION: ("Companion, not timing-fair: GEE, last 10 s", ONE_DEVIATION),
    PAPER: ("The paper's, not timing-fair: attempts taken as independent", ONE_ERROR),
}


def figure(canvas: Canvas, title: str, note: str = "") -> Markup:
    """Return a drawing with its caption above it."""
    return tag("figure", tag("figcaption", tag("b", title), note), Markup(inline(canvas)))


def figures(rendered: Iterable[Markup]) -> Markup:
    """Return drawings side by side, as many as there is room for, and how many were left out."""
    every = list(rendered)
    more = len(every) - MOST_FIGURES
    rest = f"{more} more figures are left out; their values are in the tables."
    return tag(
        "div",
        tag("div", every[:MOST_FIGURES], class_="figures"),
        paragraph(rest, class_="quiet") if more > 0 else "",
    )


def table_section(report: Report, name: str) -> Content:
    """Return a table, if the report has it."""
    return html_tables.estimates(report.tables[name]) if name in report.tables else ""


def overview(report: Report) -> Content:
    """Return the first figures of the page."""
    table = report.tables["driving"]
    if not table.rows():
        return ""
    return section(
        "overview",
        "Driving score and collision rate",
        [
            tag(
                "div",
                [tag("figure", Markup(inline(canvas))) for canvas in overview_figures(table)],
                class_="figures",
            ),
            table_section(report, "time_cost"),
        ],
        paragraph(
            "Each row is an arm: a system, and what disturbs the messages it gets (none: nothing)."
            " Mean or share over drives with its 95 % confidence interval; n is the number of"
            " drives. The driving score is the share of the route that was driven, times a factor"
            " below 1 for an infraction. Intervals of two arms may overlap although their paired"
            " difference is statistically significant.",
            class_="quiet",
        ),
    )


def driving(report: Report) -> Markup:
    """Return table II and its two figures."""
    table = report.tables["driving"]
    measures = (
        ("DS", "driving score", "Driving score", "0 to 100, mean"),
        ("violations %", "drives with violation, %", "Violations", "Drives that end in one"),
    )
    rendered = [
        figure(measure_figure(table, measure, label), title, note)
        for measure, label, title, note in (measures if table.rows() else ())
    ]
    text = (
        "Mean or share over attempts, its 95 % confidence interval below it: a bootstrap over"
        " routes, or Wilson's interval where each route counts once; - where there is one route or"
        " no spread."
        " n is the number of attempts."
    )
    shown = [table_section(report, name) for name in ("driving", "metrics")]
    return section("driving", "Driving", paragraph(text, class_="quiet"), figures(rendered), shown)


def differences(report: Report) -> Markup:
    """Return the paired differences, and the drives route by route."""
    contrasts = report.contrasts
    if contrasts.table.empty:
        text = "Only one arm, or no two arms with a common route and seed: nothing to pair."
        return section("differences", "Paired differences", paragraph(text))
    rendered = []
    for family in dict.fromkeys(contrasts.table["family"]):
        note = "minus the same system without disturbance" if family == DISTURBED else family
        for measure in ("driving score", "violations, %"):
            rows = with_time(contrasts.of(measure, family), contrasts.table)
            unit = "points" if measure == "driving score" else "percentage points"
            name = measure.removesuffix(", %").capitalize()
            canvas = differences_figure(rows.head(40), f"difference, {unit}")
            rendered.append(
                figure(canvas, f"{name}, {family}", note if family == DISTURBED else "")
            )
    text = (
        "Attempts are paired by route and seed; 95 % confidence intervals are a bootstrap"
        " over routes; p is from random sign flips of routes, alone and adjusted for all tests of"
        " the page. Filled: statistically significant, which means that the interval"
        " excludes zero, or all routes differ equally, and the page-wide p is below 0.05."
        " Everything else is not significant, which does not mean equal. Route completion and"
        " collisions are not among the tests of the page, and neither is the cost in time, which"
        " the table has too; the time to goal is known where both drives of a pair reached it. Near"
        " misses are in the section on these."
    )
    return section(
        "differences",
        "Paired differences",
        paragraph(text, class_="quiet"),
        figures(rendered),
        *(paragraph(reason, class_="quiet") for reason in contrasts.refused),
        *one_sided(contrasts),
        tag("h3", "Route by route"),
        figures(route_by_route(contrasts, report.collection.factors)),
        folded("All differences as a table", html_tables.differences(contrasts.scores)),
    )


def one_sided(contrasts: Contrasts) -> Iterator[Content]:
    """Yield the hazards that ran in one arm of a pair only, and the sensitivity to such pairs."""
    pairs = [pair for pair in contrasts.pairs if len(pair.one_sided)]
    if not pairs:
        return
    listed = [pair.one_sided.assign(first=pair.a.name, second=pair.b.name) for pair in pairs]
    other = [pair.sensitivity.assign(first=pair.a.name, second=pair.b.name) for pair in pairs]
    left_out = sum(pair.left_out for pair in pairs)
    yield paragraph(
        f"In {left_out or 'no'} pair{'s' * (left_out != 1)} a hazard was placed in one arm only"
        f"{': left out of the tests' if left_out else ''}. Where it was placed in both arms and"
        " triggered in one only, the pair is kept: whether a"
        " hazard is triggered depends on the drive.",
        class_="quiet",
    )
    yield folded("Hazards that ran in one arm only", html_tables.text_table(pd.concat(listed), 3))
    columns = ["first", "second", "chosen", "measure", "difference", "low", "high", "p", "pairs"]
    rest = pd.concat(other)
    if len(rest):
        rounded = rest[columns].round(3).astype(object).where(rest[columns].notna(), "-")
        yield folded("Sensitivity: other choices of pairs", html_tables.text_table(rounded, 4))


def route_by_route(contrasts: Contrasts, factors: Sequence[str]) -> Iterator[Markup]:
    """Yield the dots and lines of disturbed against undisturbed, then of systems."""
    for pair in contrasts.pairs:
        arms = (label(pair.a.arm, factors), label(pair.b.arm, factors))
        canvas, hidden = pairs_figure(by_route(pair, "driving_score"), arms, "driving score")
        note = "Mean over seeds of each route; red where the second arm is worse."
        note += f" {hidden} routes with the smallest differences are not shown." if hidden else ""
        yield figure(canvas, f"{arms[1]} against {arms[0]}", note)


def seeds(report: Report) -> Markup:
    """Return the spread over seeds."""
    table = report.tables["seeds"]
    if not table.rows():
        return section("seeds", "Seeds", paragraph("No attempt has a result."))
    rendered = [
        figure(seeds_figure(table, "DS", "driving score"), "Driving score by seed"),
        figure(seeds_figure(table, "violations %", "violations, %"), "Violations by seed"),
    ]
    return section(
        "seeds",
        "Seeds",
        paragraph("Each circle is one seed's mean over its routes.", class_="quiet"),
        figures(rendered),
        folded("Each seed as a table", table_section(report, "seeds")),
    )


def errors(report: Report) -> Markup:
    """Return tables III and IV, the time before violations, distance, and figure 8."""
    attempts = report.collection.attempts
    parts: list[Content] = [glossary(), table_section(report, "patterns")]
    parts.append(table_section(report, "patterns_disturbed"))
    violated = attempts[attempts["violated"].astype(bool)]
    groups = [
        (label(arm, report.collection.factors), violated[of_arms(violated, [arm])])
        for arm in sorted(arms_in(violated), key=in_order)
    ]
    if groups:
        most = most_in_windows(violated)
        rendered = [
            figure(windows_figure(rows, most), name, plural(len(rows), "violation"))
            for name, rows in groups
        ]
        parts.append(tag("h3", "Before a violation"))
        parts.append(
            paragraph(
                "Distribution over violations: median (dot), quartiles (thick line), 5 to 95 %"
                " (thin line). t3 is the last 5 s before the violation, t2 the 5 s before t3, t1"
                " the mean for 5 s over all earlier time. In each row t1 is at the top.",
                class_="quiet",
            )
        )
        parts += [
            figures(rendered),
            folded("As a table", table_section(report, "before_violation")),
        ]
    if "along_route" in report.tables:
        parts += along_route(report.tables["along_route"])
        parts.append(folded("As a table", table_section(report, "along_route")))
        parts.append(table_section(report, "precision"))
    if "bands" in report.tables:
        parts.append(tag("h3", "By distance from the ego"))
        text = "Each row, from the top: 0 to 30 m, 30 to 50 m, 50 to 100 m; 95 % intervals."
        parts.append(paragraph(text, class_="quiet"))
        parts.append(figures(bands(report.tables["bands"])))
        parts.append(folded("Errors by distance", table_section(report, "bands")))
        parts.append(common_stretch(report))
        parts.append(folded("Precision by distance", table_section(report, "precision_bands")))
    return section("errors", "Errors of cooperative perception", *parts)


def common_stretch(report: Report) -> Content:
    """Return the errors of pairs over the road that both drove."""
    if not report.tables["common_stretch"].rows():
        return ""
    text = paragraph(
        "A collision ends a drive, so the errors of two arms come from different stretches of"
        " road; the table above has the exposure (ground-truth boxes, metres, seconds). Here each"
        " pair is compared on the stretch that both of its drives drove.",
        class_="quiet",
    )
    return tag(
        "div", text, folded("Errors on the common stretch", table_section(report, "common_stretch"))
    )


def glossary() -> Markup:
    """Return the meaning of the six patterns."""
    return paragraph(
        "L...: cooperation misled; the ego alone was right (filled dots). C...: cooperation did not"
        " correct an error of the ego alone (hollow dots). The error: ",
        tag("b", "ME"),
        " missed (false negative), ",
        tag("b", "LE"),
        " mislocalised, ",
        tag("b", "AE"),
        " additional detection (false positive).",
        class_="quiet",
    )


def along_route(table: Table) -> list[Content]:
    """Return figure 8: a panel for each setting, or one for all if there is one system."""
    arms = table.arms()
    if len({system for system, *_ in arms}) == 1:
        panels = {f"{arms[0][0]}, all settings": arms}
    else:
        settings = dict.fromkeys(arm[1:] for arm in arms)
        panels = {
            arm_of(setting): [arm for arm in arms if arm[1:] == setting] for setting in settings
        }
    rendered = [
        figure(along_route_figure(table, panel_arms), name) for name, panel_arms in panels.items()
    ]
    return [tag("h3", "Figure 8. Average precision along the route"), figures(rendered)]


def bands(table: Table) -> Iterator[Markup]:
    """Yield a figure of errors by distance for each arm."""
    rows = table.rows()
    most = most_in(rows)
    for arm in table.arms():
        arm_rows = [(names[-1], cells) for names, cells in rows if names[: table.arm] == arm]
        yield figure(bands_figure(arm_rows, most), arm_of(arm))


def odds(report: Report) -> Markup:
    """Return the regressions of every condition."""
    ranges = {
        unit: odds_range(
            fit for fits in report.regressions for fit in fits.fits if FITS[fit.method][1] == unit
        )
        for unit in (ONE_ERROR, ONE_DEVIATION)
    }
    parts = [part for fits in report.regressions for part in odds_of(fits, report, ranges)]
    text = (
        "Associations of the six error patterns with violations, by condition. The timing-fair"
        " regression compares each violation with all drives of the same route over the ten seconds"
        " of road before it. The companions compare the last ten seconds before a violation with"
        " the last ten before the goal: where errors depend on the place, they have false"
        " positives. They are shown for comparison, and no key finding rests on them. An odds ratio"
        " above one means that drives with a higher rate of an error violate more often; it does"
        " not mean that the error is the cause."
    )
    nothing = "" if parts else paragraph("No attempt has a result: nothing to regress.")
    return section("odds", "Errors and violations", paragraph(text, class_="quiet"), parts, nothing)


def odds_of(
    condition_fits: ConditionFits, report: Report, ranges: Mapping[str, tuple[float, float]]
) -> Iterator[Markup]:
    """Yield one condition's figures and diagnostics."""
    yield tag("h3", f"Condition {condition_fits.condition}")
    fits = {fit.method: fit for fit in condition_fits.fits}
    tested = report.declaration.odds.get(condition_fits.condition)
    rendered = [
        figure(
            odds_figure(
                fits[method], unit, ranges[unit], tested if method == TIMING_FAIR else None
            ),
            title,
        )
        for method, (title, unit) in FITS.items()
        if method in fits
    ]
    if rendered:
        yield figures(rendered)
    for method, reason in condition_fits.refused.items():
        yield paragraph(f"{FITS[method][0]}: not fitted, {reason}.")
    checks: list[Content] = []
    if condition_fits.set_checks is not None:
        checks += [
            tag("h4", "Over the same stretch"),
            html_tables.text_table(condition_fits.set_checks),
        ]
    checks += [tag("h4", "Last 10 s"), html_tables.text_table(condition_fits.checks)]
    yield folded("Diagnostics", checks)
    if condition_fits.fits:
        yield folded(
            "All coefficients", [terms(fit.method, fit.terms) for fit in condition_fits.fits]
        )


def terms(method: str, frame: pd.DataFrame) -> Markup:
    """Return a fit as a table."""
    shown = frame.copy()
    for name in shown.select_dtypes("number"):
        shown[name] = [f"{value:.3g}" for value in shown[name]]
    return tag("div", tag("h4", method), html_tables.text_table(shown))


def messages(report: Report) -> Markup:
    """Return the ages of messages, and how much was sent."""
    if "messages" not in report.tables:
        reason = "with --results-only" if report.results_only else "of an unpacked campaign"
        text = f"Left out: this report was made {reason}."
        return section("messages", "Messages", paragraph(text))
    if not report.tables["messages"].rows():
        return section("messages", "Messages", paragraph("No message was sent."))
    rendered = [
        figure(
            ages_figure(report.tables["ages"]),
            "Age at delivery",
            "Median, quartiles, 5 to 95 % of delivered messages; n is the number of drives",
        ),
        figure(
            bytes_figure(report.tables["messages"]), "Sent", "kB/s, with 95 % confidence intervals"
        ),
    ]
    names = ("messages", "ages", "fates", "ages_used")
    return section(
        "messages", "Messages", figures(rendered), *(table_section(report, n) for n in names)
    )
