"""The sections with numbers: driving, differences, errors, odds, messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from analysis.arms import arms_in, of_arms
from analysis.comparison import by_route
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
from analysis.regression.by_condition import Findings
from analysis.regression.estimators import COMPANION, PAPER, TIMING_FAIR, WINDOW
from analysis.report import tables as told
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, numbered, paragraph, section, tag
from analysis.tables.table import Table
from harness.records.arms import in_order, label

MOST_FIGURES = 18
"""Of one kind, one for each arm or pair; the tables have all."""
ONE_ERROR, ONE_DEVIATION = "one error more", "one SD of the rate more"
FITS = {
    TIMING_FAIR: ("Timing-fair: over the same stretch of the same route", ONE_DEVIATION),
    WINDOW: ("Companion, not timing-fair: Firth, last 10 s", ONE_DEVIATION),
    COMPANION: ("Companion, not timing-fair: GEE, last 10 s", ONE_DEVIATION),
    PAPER: ("The paper's, not timing-fair: attempts as if independent", ONE_ERROR),
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


def overview(report: Report) -> Content:
    """Return the figure that comes before all sentences."""
    table = report.tables["driving"]
    if not table.rows():
        return ""
    return section(
        "overview",
        "Driving score and collision rate",
        tag(
            "div",
            [tag("figure", Markup(inline(each))) for each in overview_figures(table)],
            class_="figures",
        ),
        paragraph(
            "Mean or share over drives with its 95 % interval; n is the number of drives. Intervals"
            " of two arms may overlap where their paired difference is significant.",
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
        " flips of routes, by itself and for all tests of the page together. Filled: the interval"
        " leaves out nought, or all routes differ alike, and the page-wide p is below 0.05."
        " Everything else is not significant, which is not the same as equal. Route completion and"
        " collisions are not among the tests of the page."
    )
    return section(
        "differences",
        "Paired differences",
        paragraph(text, class_="quiet"),
        figures(drawn),
        *(paragraph(each, class_="quiet") for each in contrasts.refused),
        *one_sided(contrasts),
        tag("h3", "Route by route"),
        figures(route_by_route(contrasts, report.found.factors)),
        folded("All differences as a table", told.differences(contrasts.table)),
    )


def one_sided(contrasts: Contrasts) -> Iterator[Content]:
    """Yield the hazards that ran in one arm of a pair only, and what other choices would give."""
    pairs = [each for each in contrasts.pairs if len(each.one_sided)]
    if not pairs:
        return
    listed = [each.one_sided.assign(first=each.a.name, second=each.b.name) for each in pairs]
    other = [each.sensitivity.assign(first=each.a.name, second=each.b.name) for each in pairs]
    left_out = sum(each.left_out for each in pairs)
    yield paragraph(
        f"In {left_out} pairs a hazard had a place in one arm only: they are left out of the tests."
        " Where it stood in both arms and set off in one only, the pair stays: whether a hazard"
        " sets off depends on the drive.",
        class_="quiet",
    )
    yield folded("Hazards that ran in one arm only", told.plain(pd.concat(listed), 3))
    columns = ["first", "second", "chosen", "measure", "difference", "low", "high", "p", "pairs"]
    rest = pd.concat(other)
    if len(rest):
        rounded = rest[columns].round(3).astype(object).where(rest[columns].notna(), "-")
        yield folded("Sensitivity: other choices of pairs", told.plain(rounded, 4))


def route_by_route(contrasts: Contrasts, factors: Sequence[str]) -> Iterator[Markup]:
    """Yield the dots and lines of disturbed against undisturbed, then of systems."""
    for pair in contrasts.pairs:
        arms = (label(pair.a.arm, factors), label(pair.b.arm, factors))
        canvas, hidden = pairs_figure(by_route(pair, "driving_score"), arms, "driving score")
        note = "Each route's mean over seeds; red where the second is worse."
        note += f" {hidden} routes that differ least are not shown." if hidden else ""
        yield figure(canvas, f"{arms[1]} against {arms[0]}", note)


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
        (label(arm, report.found.factors), violated[of_arms(violated, [arm])])
        for arm in sorted(arms_in(violated), key=in_order)
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
        parts.append(common_stretch(report))
        parts.append(folded("Precision by distance", table_of(report, "precision_bands")))
    return section("errors", "Errors of cooperative perception", *parts)


def common_stretch(report: Report) -> Content:
    """Return the errors of pairs over the road that both drove."""
    if not report.tables["common_stretch"].rows():
        return ""
    text = paragraph(
        "A collision ends a drive, so that the errors of two arms are of different stretches of"
        " road: true boxes, metres and seconds above say of how much. Here each pair is compared as"
        " far as both of its drives came.",
        class_="quiet",
    )
    return tag("div", text, folded("Errors over common road", table_of(report, "common_stretch")))


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
    """Return figure 8: a panel for each setting, or one for all if there is one system."""
    arms = table.arms()
    if len({system for system, *_ in arms}) == 1:
        panels = {f"{arms[0][0]}, all settings": arms}
    else:
        settings = dict.fromkeys(arm[1:] for arm in arms)
        panels = {arm_of(each): [arm for arm in arms if arm[1:] == each] for each in settings}
    drawn = [figure(along_route_figure(table, own), name) for name, own in panels.items()]
    return [tag("h3", "Figure 8. Average precision along the route"), figures(drawn)]


def bands(table: Table) -> Iterator[Markup]:
    """Yield a figure of errors by distance for each arm."""
    rows = table.rows()
    most = most_in(rows)
    for arm in table.arms():
        own = [(names[-1], cells) for names, cells in rows if names[: table.arm] == arm]
        yield figure(bands_figure(own, most), arm_of(arm))


def odds(report: Report) -> Markup:
    """Return the regressions of every condition."""
    ranges = {
        unit: odds_range(
            fit for found in report.regressions for fit in found.fits if FITS[fit.method][1] == unit
        )
        for unit in (ONE_ERROR, ONE_DEVIATION)
    }
    parts = [part for found in report.regressions for part in odds_of(found, report, ranges)]
    text = (
        "Which of the six go with violations, condition by condition. The timing-fair regression"
        " compares each violation with all drives of the same route over the ten seconds of road"
        " before it. The companions compare the last ten seconds before a violation with the last"
        " ten before the goal: where errors depend on the place, they find associations that are"
        " not there. They are shown to compare with, and no sentence rests on them. An odds ratio"
        " above one says that drives with a higher rate of an error violate more often; it does not"
        " say that the error is the cause."
    )
    nothing = "" if parts else paragraph("No attempt has a result: nothing to regress.")
    return section("odds", "Errors and violations", paragraph(text, class_="quiet"), parts, nothing)


def odds_of(
    found: Findings, report: Report, ranges: Mapping[str, tuple[float, float]]
) -> Iterator[Markup]:
    """Yield one condition's figures, and what to know before believing them."""
    yield tag("h3", f"Condition {found.condition}")
    fits = {fit.method: fit for fit in found.fits}
    tested = report.declaration.odds.get(found.condition)
    drawn = [
        figure(
            odds_figure(
                fits[method], unit, ranges[unit], tested if method == TIMING_FAIR else None
            ),
            title,
        )
        for method, (title, unit) in FITS.items()
        if method in fits
    ]
    if drawn:
        yield figures(drawn)
    for method, reason in found.refused.items():
        yield paragraph(f"{FITS[method][0]}: not fitted, {reason}.")
    checks: list[Content] = []
    if found.set_checks is not None:
        checks += [tag("h4", "Over the same stretch"), told.plain(found.set_checks)]
    checks += [tag("h4", "Last 10 s"), told.plain(found.checks)]
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
