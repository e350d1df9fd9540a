"""The sections of violations and of their twins: drawn, listed, and attributed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from analysis.attribution import Attribution, outcome
from analysis.cases import Case
from analysis.drawing.canvas import Canvas, Circle, Mark, Polyline
from analysis.drawing.svg import inline
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, grid, paragraph, section, tag

SIGNS: dict[str, Mark] = {
    "ego": Polyline(
        points=((3, 2), (15, 2), (19, 7), (15, 12), (3, 12)), fill="accent", closed=True
    ),
    "partner": Polyline(points=((11, 2), (16, 7), (11, 12), (6, 7)), fill="accent", closed=True),
    "ground truth": Polyline(
        points=((3, 3), (19, 3), (19, 11), (3, 11)), fill="truth", closed=True
    ),
    "detected by the ego alone": Polyline(
        points=((3, 3), (19, 3), (19, 11), (3, 11)), stroke="ego_alone", closed=True, dashed=True
    ),
    "detected with messages": Polyline(
        points=((3, 3), (19, 3), (19, 11), (3, 11)), stroke="cooperative", width=1.6, closed=True
    ),
    "missed": Circle(at=(11, 7), radius=5, fill="missed"),
    "mislocalised": Circle(at=(11, 7), radius=5, fill="mislocalised"),
    "additional detection": Circle(at=(11, 7), radius=5, fill="additional"),
    "hit": Circle(at=(11, 7), radius=5, fill="", stroke="worse"),
}
"""Symbols of the bird's-eye views."""


def violations(report: Report) -> Markup:
    """Return the section."""
    if not report.cases:
        nothing = (
            "No drive ended in a violation." if len(report.collection.attempts) else "No drives."
        )
        return section("violations", "Violations", paragraph(nothing))
    with_strip = {id(case) for case, _ in report.strips}
    others = [case for case in report.cases if id(case) not in with_strip]
    count = f"{len(report.cases)} violations in {len(report.collection.attempts)} drives"
    text = f"{count}; {len(with_strip)} of them shown, taken from all arms in turn. "
    views = (
        "Bird's-eye views of one piece of road, 4, 2 and 0 s before the end; up is the ego's"
        " heading in the first. Faint outlines: road users that are not evaluated. Hollow diamond:"
        " believed pose of a partner. Small road users are enlarged."
    )
    rest: Content = ""
    if others:
        title = f"{'The other' if with_strip else 'All'} {len(others)} violations"
        rest = folded(
            title,
            tag("ul", [tag("li", listed(case), id=case.anchor) for case in others], class_="list"),
        )
    return section(
        "violations",
        "Violations",
        paragraph(text + (views if with_strip else ""), class_="quiet"),
        legend() if with_strip else "",
        [strip(case, canvases) for case, canvases in report.strips],
        rest,
    )


def legend() -> Markup:
    """Return the legend of the bird's-eye views."""
    items = []
    for name, sign in SIGNS.items():
        picture = inline(Canvas(22, 14, name, [sign]))
        items.append(tag("li", Markup(picture), name))
    return tag("ul", items, class_="legend")


def strip(case: Case, canvases: list[Canvas]) -> Markup:
    """Return one violation in three bird's-eye views."""
    return tag(
        "div",
        tag("h4", f"Case {case.number}: {case.arm_title}"),
        paragraph(
            f"Route {case.key.route}, seed {case.key.seed}: {case.what}. ",
            tag("code", case.command),
        ),
        tag("div", [Markup(inline(canvas)) for canvas in canvases], class_="strip"),
        class_="case",
        id=case.anchor,
    )


def listed(case: Case) -> Content:
    """Return one violation in a line."""
    where = f"{case.title}: {case.what}"
    return [tag("b", f"{case.number} "), where, " ", tag("code", f"--case {case.number}")]


NAME, TITLE = "attribution", "Attribution"
EXPLAINED = (
    "The attempt is driven again from the same seed, with one change of the disturbance. Without:"
    " without any disturbance. Other samples: how often the same kind of violation happens with"
    " other random samples of the disturbance, with Wilson's interval. Windows: the violation"
    " happens with the disturbance in these windows only, and not if any of them is left out;"
    " other such windows may exist."
)
HEAD = ["case", "twin", "violation", "duration, s", "delivered", "median age, s", "greatest age, s"]
LIMITS = (
    "This is about single violations. How often a disturbance leads to violations is estimated by"
    " the paired differences above."
)


def attribution(report: Report) -> Markup:
    """Return the section."""
    if not report.attributions:
        how = tag("code", f"crucible attribute {report.collection.folder}")
        return section(
            NAME, TITLE, paragraph("No violation has twins; run ", how, " to make them.")
        )
    head = ["case", "violation", "without", "other samples", "windows, s", "conclusion"]
    return section(
        NAME,
        TITLE,
        paragraph(EXPLAINED, class_="quiet"),
        grid(head, [row(attribution_) for attribution_ in report.attributions], 1),
        paragraph(LIMITS),
        folded("Each twin and its messages", grid(HEAD, twin_rows(report.attributions), 2)),
    )


def twin_rows(attributions: Iterable[Attribution]) -> Iterator[list[Content]]:
    """Yield a row for each twin of each violation."""
    for of in attributions:
        for twin in of.twins:
            ages = (twin.median_age, twin.greatest_age)
            yield [
                str(of.case.number),
                twin.change,
                twin.violation.replace("_", " ") or "none",
                f"{twin.time:.1f}",
                f"{twin.delivered} of {twin.messages}",
                *(f"{age:.2f}" if math.isfinite(age) else "-" for age in ages),
            ]


def row(attribution: Attribution) -> list[Content]:
    """Return one violation's row."""
    name = f"{attribution.case.number}: {attribution.case.title}"
    ones = [
        tag("small", f"without {name} {outcome(hit)}")
        for name, hit in attribution.without_one.items()
    ]
    return [
        tag("a", name, href=f"#{attribution.case.anchor}"),
        attribution.case.kind.replace("_", " "),
        [outcome(attribution.without), *ones],
        samples_cell(attribution),
        attribution.seconds or "-",
        attribution.conclusion,
    ]


def samples_cell(attribution: Attribution) -> Content:
    """Return how often it happens with other samples."""
    anyway = attribution.anyway
    if not math.isfinite(anyway.value):
        return "-"
    interval = f"{anyway.low:.0f} to {anyway.high:.0f} %"
    return [
        f"{sum(attribution.other_samples)} of {len(attribution.other_samples)}",
        tag("small", interval),
    ]
