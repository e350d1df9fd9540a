"""The section of violations: some drawn at three moments, all listed with what shows them again."""

from __future__ import annotations

from analysis.cases import Case, arm_title
from analysis.drawing.canvas import Canvas, Dot, Mark, Shape
from analysis.drawing.svg import inline
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, paragraph, section, tag

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
