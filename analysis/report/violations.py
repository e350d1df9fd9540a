"""The sections of violations and of their twins: drawn, listed, and attributed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from analysis.attribution import Attribution, told
from analysis.cases import Case, arm_title
from analysis.drawing.canvas import Canvas, Dot, Mark, Shape
from analysis.drawing.svg import inline
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, grid, paragraph, section, tag

SIGNS: dict[str, Mark] = {
    "ego": Shape(((3, 2), (15, 2), (19, 7), (15, 12), (3, 12)), fill="accent", closed=True),
    "partner": Shape(((11, 2), (16, 7), (11, 12), (6, 7)), fill="accent", closed=True),
    "true road user": Shape(((3, 3), (19, 3), (19, 11), (3, 11)), fill="truth", closed=True),
    "the ego alone sees": Shape(
        ((3, 3), (19, 3), (19, 11), (3, 11)), "ego_alone", closed=True, dashed=True
    ),
    "cooperation sees": Shape(
        ((3, 3), (19, 3), (19, 11), (3, 11)), "cooperative", width=1.6, closed=True
    ),
    "missed": Dot((11, 7), 5, "missed"),
    "misplaced": Dot((11, 7), 5, "misplaced"),
    "invented": Dot((11, 7), 5, "invented"),
    "hit": Dot((11, 7), 5, "", "worse"),
}
"""What is what in a strip."""


def violations(report: Report) -> Markup:
    """Return the section."""
    if not report.cases:
        nothing = "No drive ended in a violation." if len(report.found.attempts) else "No drives."
        return section("violations", "Violations", paragraph(nothing))
    drawn = {id(case) for case, _ in report.strips}
    others = [case for case in report.cases if id(case) not in drawn]
    count = f"{len(report.cases)} violations in {len(report.found.attempts)} drives"
    text = f"{count}; {len(drawn)} of them drawn, taken from every arm in turn. "
    views = (
        "Seen from above, the ego's heading at t0 upwards, the same piece of road three times."
        " Faint outlines are road users who do not count; a hollow diamond is where a partner"
        " believes to be; small road users are drawn larger than they are."
    )
    rest: Content = ""
    if others:
        title = f"{'The other' if drawn else 'All'} {len(others)} violations"
        rest = folded(
            title,
            tag("ul", [tag("li", listed(case), id=anchor(case)) for case in others], class_="list"),
        )
    return section(
        "violations",
        "Violations",
        paragraph(text + (views if drawn else ""), class_="quiet"),
        legend() if drawn else "",
        [strip(case, canvases) for case, canvases in report.strips],
        rest,
    )


def legend() -> Markup:
    """Return what is what."""
    items = []
    for name, sign in SIGNS.items():
        picture = inline(Canvas(22, 14, name, [sign]))
        items.append(tag("li", Markup(picture), name))
    return tag("ul", items, class_="legend")


def strip(case: Case, canvases: list[Canvas]) -> Markup:
    """Return one violation at three moments."""
    return tag(
        "div",
        tag("h4", f"Case {case.number}: {arm_title(case.key.arm)}"),
        paragraph(
            f"Route {case.key.route}, seed {case.key.seed}: {case.what}. ",
            tag("code", case.command),
        ),
        tag("div", [Markup(inline(each)) for each in canvases], class_="strip"),
        class_="case",
        id=anchor(case),
    )


def listed(case: Case) -> Content:
    """Return one violation in a line."""
    where = f"{case.title}: {case.what}"
    return [tag("b", f"{case.number} "), where, " ", tag("code", f"--case {case.number}")]


def anchor(case: Case) -> str:
    """Return what a case is linked to by."""
    return f"case-{case.source}-{case.number}"


NAME, TITLE = "attribution", "Attribution"
EXPLAINED = (
    "The same world from the same seed, driven again with the disturbance changed. Without: with"
    " none of the disturbances. Other draws: how often the same kind of violation ends drives under"
    " other draws of them, with Wilson's interval. Windows: with the disturbance at these times"
    " only it happens, and without any one of them it does not; other such windows may exist."
)
HEAD = ["case", "twin", "violation", "over, s", "heard", "median age, s", "greatest age, s"]
LIMITS = (
    "This says what one violation in one world needed. How often a disturbance leads to violations"
    " is what the differences above say."
)


def attribution(report: Report) -> Markup:
    """Return the section."""
    if not report.attributions:
        how = tag("code", f"crucible attribute {report.found.folder}")
        return section(NAME, TITLE, paragraph("No violation has twins; ", how, " drives them."))
    head = ["case", "violation", "without", "other draws", "windows, s", "what can be said"]
    return section(
        NAME,
        TITLE,
        paragraph(EXPLAINED, class_="quiet"),
        grid(head, [row(each) for each in report.attributions], 1),
        paragraph(LIMITS),
        folded("Each twin and its messages", grid(HEAD, twin_rows(report.attributions), 2)),
    )


def twin_rows(found: Iterable[Attribution]) -> Iterator[list[Content]]:
    """Yield a row for each twin of each violation."""
    for of in found:
        for each in of.twins:
            ages = (each.median_age, each.greatest_age)
            yield [
                str(of.case.number),
                each.change,
                each.violation.replace("_", " ") or "none",
                f"{each.time:.1f}",
                f"{each.heard} of {each.messages}",
                *(f"{age:.2f}" if math.isfinite(age) else "-" for age in ages),
            ]


def row(each: Attribution) -> list[Content]:
    """Return one violation's row."""
    name = f"{each.case.number}: {each.case.title}"
    ones = [tag("small", f"without {name} {told(hit)}") for name, hit in each.without_one.items()]
    return [
        tag("a", name, href=f"#{anchor(each.case)}"),
        each.case.kind.replace("_", " "),
        [told(each.without), *ones],
        draws(each),
        each.seconds or "-",
        each.conclusion,
    ]


def draws(each: Attribution) -> Content:
    """Return how often it happens under other draws."""
    anyway = each.anyway
    if not math.isfinite(anyway.value):
        return "-"
    interval = f"{anyway.low:.0f} to {anyway.high:.0f} %"
    return [f"{sum(each.redrawn)} of {len(each.redrawn)}", tag("small", interval)]
