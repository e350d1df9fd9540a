"""The sections with numbers: driving, differences, errors, odds, messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.comparison import Arm, by_route
from analysis.contrasts import DISTURBED, Contrasts
from analysis.drawing.canvas import Canvas
from analysis.drawing.svg import inline
from analysis.figures.driving import (
    arm_of,
    differences_figure,
    measure_figure,
    pairs_figure,
    seeds_figure,
)
from analysis.figures.errors import (
    along_route_figure,
    bands_figure,
    most_in,
    most_in_windows,
    odds_figure,
    odds_range,
    windows_figure,
)
from analysis.figures.messages import ages_figure, bytes_figure
from analysis.regression.analyse import Findings
from analysis.regression.estimators import COMPANION, HAZARD, PAPER, PRIMARY
from analysis.report import tables as told
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, numbered, paragraph, section, tag
from analysis.tables.table import Table, in_order

MOST_FIGURES = 18
"""Of one kind, one for each arm or pair; the tables have all."""
ONE_ERROR, ONE_DEVIATION = "one error more", "one SD of the rate more"
FITS = {
    PRIMARY: ("Primary: Firth, routes clustered", ONE_DEVIATION),
    PAPER: ("The paper's: plain logit, attempts as if independent", ONE_ERROR),
    COMPANION: ("Companion: GEE, bias-reduced", ONE_DEVIATION),
    HAZARD: ("Timing-fair: within the next second", ONE_DEVIATION),
}


def figure(canvas: Canvas, title: str, note: str = "") -> Markup:
    """Return a drawing with its caption above it."""
    return tag("figure", tag("figcaption", tag("b", title), note), Markup(inline(canvas)))


def figures(drawn: Iterable[Markup]) -> Markup:
    """Return drawings side by side, as many as there is room for, and how many were left out."""
    every = list(drawn)
    more = len(every) - MOST_FIGURES
    rest = f"{more} more such figures are left out; their numbers are in the tables."
    return tag(
        "div",
        tag("div", every[:MOST_FIGURES], class_="figures"),
        paragraph(rest, class_="quiet") if more > 0 else "",
    )


def table_of(report: Report, name: str) -> Content:
    """Return a table, if the report has it."""
    return told.estimates(report.tables[name]) if name in report.tables else ""


def driving(report: Report) -> Markup:
    """Return table II and its two figures."""
    table = report.tables["driving"]
    measures = (
        ("DS", "driving score", "Driving score", "0 to 100, mean"),
        ("violations %", "drives with violation, %", "Violations", "Drives that end in one"),
    )
    drawn = [
        figure(measure_figure(table, measure, label), title, note)
        for measure, label, title, note in (measures if table.rows() else ())
    ]
    text = (
        "Mean or share over attempts, its 95 % interval below it: routes are resampled whole, or"
        " Wilson's where each route counts once; - where one route or no spread gives none."
        " n is the number of attempts."
    )
    shown = table_of(report, "driving")
    return section("driving", "Driving", paragraph(text, class_="quiet"), figures(drawn), shown)


def differences(report: Report) -> Markup:
    """Return the paired differences, and the drives route by route."""
    contrasts = report.contrasts
    if contrasts.table.empty:
        text = "One arm alone, or arms without a route and seed in common: nothing to pair."
        return section("differences", "Paired differences", paragraph(text))
    drawn = []
    for family in dict.fromkeys(contrasts.table["family"]):
        note = "less the same system undisturbed" if family == DISTURBED else family
        for measure in ("driving score", "violations, %"):
            rows = contrasts.of(measure, family)
            unit = "points" if measure == "driving score" else "%-points"
            name = measure.removesuffix(", %").capitalize()
            canvas = differences_figure(rows.head(40), f"difference, {unit}")
            drawn.append(figure(canvas, f"{name}, {family}", note if family == DISTURBED else ""))
    text = (
        "Attempts are paired by route and seed; intervals resample routes; p is of random sign"
        " flips of routes, Holm's over the family. Filled: the interval leaves out nought, or all"
        " routes differ alike, and Holm's p is below 0.05. Everything else is inconclusive, which"
        " is not the same as equal."
    )
    return section(
        "differences",
        "Paired differences",
        paragraph(text, class_="quiet"),
        figures(drawn),
        *(paragraph(each, class_="quiet") for each in contrasts.refused),
        tag("h3", "Route by route"),
        figures(route_by_route(contrasts)),
        folded("All differences as a table", told.differences(contrasts.table)),
    )


def route_by_route(contrasts: Contrasts) -> Iterator[Markup]:
    """Yield the dots and lines of disturbed against undisturbed, then of systems."""
    for pair in contrasts.pairs:
        arms = (name_of(pair.a), name_of(pair.b))
        canvas, hidden = pairs_figure(by_route(pair, "driving_score"), arms, "driving score")
        note = "Each route's mean over seeds; red where the second is worse."
        note += f" {hidden} routes that differ least are not shown." if hidden else ""
        yield figure(canvas, f"{arms[1]} against {arms[0]}", note)


def name_of(arm: Arm) -> str:
    """Return an arm's name in figures."""
    return arm_of((arm.system, arm.condition))


def seeds(report: Report) -> Markup:
    """Return how far seeds are apart."""
    table = report.tables["seeds"]
    if not table.rows():
        return section("seeds", "Seeds", paragraph("No attempt has a result."))
    drawn = [
        figure(seeds_figure(table, "DS", "driving score"), "Driving score by seed"),
        figure(seeds_figure(table, "violations %", "violations, %"), "Violations by seed"),
    ]
    return section(
        "seeds",
        "Seeds",
        paragraph("Each circle is one seed's mean over its routes.", class_="quiet"),
        figures(drawn),
        folded("Each seed as a table", table_of(report, "seeds")),
    )


def errors(report: Report) -> Markup:
    """Return tables III and IV, the time before violations, distance, and figure 8."""
    attempts = report.found.attempts
    parts: list[Content] = [glossary(), table_of(report, "patterns")]
    parts.append(table_of(report, "patterns_disturbed"))
    violated = attempts[attempts["violated"].astype(bool)]
    groups = [
        (arm_of(tuple(map(str, arm))), own)
        for arm, own in sorted(violated.groupby(["system", "condition"]), key=undisturbed_first)
    ]
    if groups:
        most = most_in_windows(violated)
        drawn = [
            figure(windows_figure(own, most), name, numbered(len(own), "violation"))
            for name, own in groups
        ]
        parts.append(tag("h3", "Before a violation"))
        parts.append(
            paragraph(
                "How errors are spread over violations: median, middle half, 5 to 95 %. t3 is the"
                " last 5 s, t2 the 5 s before it, t1 a mean over all earlier time, for 5 s too."
                " In each row t1 stands above t2 above t3.",
                class_="quiet",
            )
        )
        parts += [figures(drawn), folded("As a table", table_of(report, "before_violation"))]
    if "along_route" in report.tables:
        parts += along_route(report.tables["along_route"])
        parts.append(folded("As a table", table_of(report, "along_route")))
        parts.append(table_of(report, "precision"))
    if "bands" in report.tables:
        parts.append(tag("h3", "By distance from the ego"))
        text = "In each row 0 to 30 m stands above 30 to 50 m above 50 to 100 m; 95 % intervals."
        parts.append(paragraph(text, class_="quiet"))
        parts.append(figures(bands(report.tables["bands"])))
        parts.append(folded("Errors by distance", table_of(report, "bands")))
        parts.append(folded("Precision by distance", table_of(report, "precision_bands")))
    return section("errors", "Errors of cooperative perception", *parts)


def undisturbed_first(group: tuple[Any, pd.DataFrame]) -> tuple[str, bool, str]:
    """Return how an arm and its drives are sorted."""
    return in_order(tuple(map(str, group[0])))


def glossary() -> Markup:
    """Return what the six names mean."""
    return paragraph(
        "A first L: cooperation led the ego astray, which alone had it right (full dots). A first"
        " C: cooperation did not correct what the ego alone had not (hollow). Then what is wrong: ",
        tag("b", "ME"),
        " missed, ",
        tag("b", "LE"),
        " misplaced, ",
        tag("b", "AE"),
        " invented.",
        class_="quiet",
    )


def along_route(table: Table) -> list[Content]:
    """Return figure 8: a panel for each condition, or one for all if there is one system."""
    arms = list(dict.fromkeys((names[0], names[1]) for names, _ in table.rows()))
    if len({system for system, _ in arms}) == 1:
        panels = {f"{arms[0][0]}, all conditions": arms}
    else:
        conditions = dict.fromkeys(condition for _, condition in arms)
        panels = {each: [arm for arm in arms if arm[1] == each] for each in conditions}
    drawn = [figure(along_route_figure(table, own), name) for name, own in panels.items()]
    return [tag("h3", "Figure 8. Average precision along the route"), figures(drawn)]


def bands(table: Table) -> Iterator[Markup]:
    """Yield a figure of errors by distance for each arm."""
    rows = table.rows()
    most = most_in(rows)
    for arm in dict.fromkeys((names[0], names[1]) for names, _ in rows):
        own = [(names[2], cells) for names, cells in rows if names[:2] == arm]
        yield figure(bands_figure(own, most), arm_of(arm))


def odds(report: Report) -> Markup:
    """Return the regressions of every condition."""
    ranges = {
        unit: odds_range(
            fit for found in report.regressions for fit in found.fits if FITS[fit.method][1] == unit
        )
        for unit in (ONE_ERROR, ONE_DEVIATION)
    }
    parts = [part for found in report.regressions for part in odds_of(found, ranges)]
    text = (
        "Which of the six go with violations, condition by condition. An odds ratio above one"
        " says that drives with more of an error end in a violation more often; it does not say"
        " that the error is the cause. The paper's fit takes attempts on one route as independent"
        " and is here to be compared with, not believed."
    )
    nothing = "" if parts else paragraph("No attempt has a result: nothing to regress.")
    return section("odds", "Errors and violations", paragraph(text, class_="quiet"), parts, nothing)


def odds_of(found: Findings, ranges: Mapping[str, tuple[float, float]]) -> Iterator[Markup]:
    """Yield one condition's figures, and what to know before believing them."""
    yield tag("h3", f"Condition {found.condition}")
    fits = {fit.method: fit for fit in found.fits}
    drawn = [
        figure(odds_figure(fits[method], unit, ranges[unit]), title)
        for method, (title, unit) in FITS.items()
        if method in fits
    ]
    if drawn:
        yield figures(drawn)
    for method, reason in found.refused.items():
        yield paragraph(f"{FITS[method][0]}: not fitted, {reason}.")
    checks = [told.plain(found.checks)]
    if found.hazard_checks is not None:
        checks += [tag("h4", "Every second at risk"), told.plain(found.hazard_checks)]
    yield folded("What to know before believing this", checks)
    if found.fits:
        yield folded("All coefficients", [terms(fit.method, fit.terms) for fit in found.fits])


def terms(method: str, frame: pd.DataFrame) -> Markup:
    """Return a fit as a table."""
    shown = frame.copy()
    for name in shown.select_dtypes("number"):
        shown[name] = [f"{each:.3g}" for each in shown[name]]
    return tag("div", tag("h4", method), told.plain(shown))


def messages(report: Report) -> Markup:
    """Return how late messages were and how much was sent."""
    if "messages" not in report.tables:
        text = "Left out: this report was made from results alone."
        return section("messages", "Messages", paragraph(text))
    if not report.tables["messages"].rows():
        return section("messages", "Messages", paragraph("No message was sent."))
    drawn = [
        figure(
            ages_figure(report.tables["ages"]),
            "Age at delivery",
            "Median, middle half, 5 to 95 % of delivered messages; n is drives",
        ),
        figure(bytes_figure(report.tables["messages"]), "Sent", "kB in a second, 95 % intervals"),
    ]
    names = ("messages", "ages", "fates", "ages_used")
    return section("messages", "Messages", figures(drawn), *(table_of(report, n) for n in names))
