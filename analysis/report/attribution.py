"""The section of twins: what can be said of single violations, and what cannot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from analysis.attribution import Attribution, told
from analysis.report.cases import anchor
from analysis.report.gather import Report
from analysis.report.html import Content, Markup, folded, grid, paragraph, section, tag

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
        how = tag("code", f"python -m harness attribute {report.found.folder}")
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
