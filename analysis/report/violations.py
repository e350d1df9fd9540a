"""The sections of violations and of their twins: drawn, listed, and attributed."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

from analysis.cases import ViolationCase
from analysis.collection import CampaignCollection
from analysis.drawing.canvas import Canvas, Circle, Mark, Polyline
from analysis.drawing.svg import render_inline_svg
from analysis.figures.birds_eye import SCENERY
from analysis.replay.legend import MOVING_UNIT, SCENERY_NAMES
from analysis.report.gather import CaseStrip, ReportContents
from analysis.report.html import (
    Content,
    Markup,
    format_counted_noun,
    render_details,
    render_grid_table,
    render_paragraph,
    render_section,
    render_tag,
)
from studies.attribution.tables import ViolationAttribution, format_twin_outcome

FRONT_VIEWS = "what the front cameras of the ego and of the nearest partner see"
BODY = ((3.0, 3.0), (19.0, 3.0), (19.0, 11.0), (3.0, 11.0))
"""A box in a sign of the legend."""


def make_box_sign(fill: str = "", stroke: str = "", **style: Any) -> tuple[Mark, ...]:
    """Return the sign of a box."""
    return (Polyline(points=BODY, fill=fill, stroke=stroke, closed=True, **style),)


def make_cross_sign() -> tuple[Mark, ...]:
    """Return the sign of the place of a violation."""
    lines = ((7.0, 3.0), (15.0, 11.0)), ((7.0, 11.0), (15.0, 3.0))
    return tuple(Polyline(points=line, stroke="worse", width=1.8) for line in lines)


SIGNS: dict[str, tuple[Mark, ...]] = {
    "ego": (
        Polyline(points=((3, 2), (15, 2), (19, 7), (15, 12), (3, 12)), fill="accent", closed=True),
    ),
    "partner, joined to the place where it believes to be": (
        Polyline(points=((6, 2), (11, 7), (6, 12), (1, 7)), fill="accent", closed=True),
        Polyline(points=((6, 7), (18, 7)), stroke="accent"),
        Circle(at=(18, 7), radius=1.8, fill="accent"),
    ),
    "ground truth": make_box_sign("truth", opacity=0.85),
    "road user that is not evaluated": make_box_sign("line", "truth", width=0.6),
    "detected by the ego alone": make_box_sign(stroke="ego_alone", dashed=True),
    "detected with messages": make_box_sign(stroke="cooperative", width=1.6),
    "missed": make_box_sign("missed", opacity=0.85),
    "mislocalised": make_box_sign("mislocalised", opacity=0.85),
    "additional detection": make_box_sign("additional", opacity=0.85),
    "road user that is hit": (Circle(at=(11, 7), radius=5, fill="", stroke="worse"),),
    "place of the violation": make_cross_sign(),
    "route": (Polyline(points=((2, 7), (20, 7)), stroke="route", width=6.0),),
    **{
        words: make_box_sign(SCENERY[kind], "" if kind == "vegetation" else "quiet", width=0.4)
        for kind, words in SCENERY_NAMES.items()
    },
}
"""Symbols of the bird's-eye views."""


def render_violations_section(report: ReportContents) -> Markup:
    """Return the section."""
    if not report.cases:
        nothing = (
            "No drive ended in a violation." if len(report.collection.attempts) else "No drives."
        )
        return render_section("violations", "Violations", render_paragraph(nothing))
    # some have pictures, all have a line
    with_strip = {id(strip.case) for strip in report.strips}
    others = [case for case in report.cases if id(case) not in with_strip]
    count = (
        f"{format_counted_noun(len(report.cases), 'violation')} in"
        f" {format_counted_noun(len(report.collection.attempts), 'drive')}"
    )
    if with_strip:
        text = f"{count}; {len(with_strip)} of them shown, taken from all arms in turn. "
    elif report.collection.packed:
        text = f"{count}. There are no pictures: packing left out boxes and messages."
    elif report.results_only:
        text = f"{count}. There are no pictures: this report is of results alone."
    else:
        text = f"{count}. There are no pictures: these drives ended before the first step."
    views = (
        "Bird's-eye views of one piece of road, about 4, 2 and 0 s before the end; up is the ego's"
        " heading in the first. Small road users are enlarged. Errors that cooperation introduced"
        f" have a strong colour, the others a light one. {MOVING_UNIT}"
    )
    rest: Content = ""
    if others:
        rest_count = format_counted_noun(len(others), "violation")
        title = f"{'The other' if with_strip else 'All'} {rest_count}"
        rest = render_details(
            title,
            render_tag(
                "ul",
                [
                    render_tag("li", render_case_line(case, report.collection), id=case.anchor)
                    for case in others
                ],
                class_="list",
            ),
            printed=False,
        )
    return render_section(
        "violations",
        "Violations",
        render_paragraph(text + (views if with_strip else ""), class_="quiet"),
        render_sign_legend() if with_strip else "",
        [render_strip_figure(strip) for strip in report.strips],
        rest,
    )


def render_sign_legend() -> Markup:
    """Return the legend of the bird's-eye views."""
    items = []
    for name, sign in SIGNS.items():
        picture = render_inline_svg(Canvas(22, 14, name, list(sign)))
        items.append(render_tag("li", Markup(picture), name))
    return render_tag("ul", items, class_="legend")


def render_strip_figure(strip: CaseStrip) -> Markup:
    """Return one violation in three bird's-eye views, and what front cameras saw."""
    case = strip.case
    moments = [Markup(render_inline_svg(canvas)) for canvas in strip.canvases]
    moments += [
        render_tag("img", src=f"data:image/jpeg;base64,{b64encode(view).decode()}", alt=FRONT_VIEWS)
        for view in strip.views
    ]
    return render_tag(
        "div",
        render_tag("h4", f"Case {case.number}: {case.arm_title}"),
        render_paragraph(
            f"Route {case.key.route}, seed {case.key.seed}: {case.what}. ",
            render_tag("code", case.command),
        ),
        render_tag("div", moments, class_="strip"),
        class_="case",
        id=case.anchor,
    )


def render_case_line(case: ViolationCase, collection: CampaignCollection) -> Content:
    """Return one violation in a line: its folder too, if there are several.

    Packed drives cannot be shown, so that no command stands there.
    """
    number = (
        f"{case.folder}, {case.number} " if len(collection.campaigns) > 1 else f"{case.number} "
    )
    return [
        render_tag("b", number),
        f"{case.title}: {case.what}",
        "" if case.campaign.packed else [" ", render_tag("code", f"--case {case.number}")],
    ]


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


def render_attribution_section(report: ReportContents) -> Markup:
    """Return the section."""
    if not report.attributions:
        how = render_tag("code", f"crucible attribute {report.collection.folder}")
        return render_section(
            NAME, TITLE, render_paragraph("No violation has twins; run ", how, " to make them.")
        )
    head = ["case", "violation", "without", "other samples", "windows, s", "conclusion"]
    return render_section(
        NAME,
        TITLE,
        render_paragraph(EXPLAINED, class_="quiet"),
        render_grid_table(
            head, [make_attribution_row(attribution_) for attribution_ in report.attributions], 1
        ),
        render_paragraph(LIMITS),
        render_details(
            "Each twin and its messages",
            render_grid_table(HEAD, make_twin_rows(report.attributions), 2),
        ),
    )


def make_twin_rows(attributions: Iterable[ViolationAttribution]) -> Iterator[list[Content]]:
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


def make_attribution_row(attribution: ViolationAttribution) -> list[Content]:
    """Return one violation's row."""
    name = f"{attribution.case.number}: {attribution.case.title}"
    ones = [
        render_tag("small", f"without {name} {format_twin_outcome(hit)}")
        for name, hit in attribution.without_one.items()
    ]
    return [
        render_tag("a", name, href=f"#{attribution.case.anchor}"),
        attribution.case.kind.replace("_", " "),
        [format_twin_outcome(attribution.without), *ones],
        format_samples_cell(attribution),
        attribution.seconds or "-",
        attribution.conclusion,
    ]


def format_samples_cell(attribution: ViolationAttribution) -> Content:
    """Return how often it happens with other samples."""
    anyway = attribution.anyway
    if not math.isfinite(anyway.value):
        return "-"
    interval = f"{anyway.low:.0f} to {anyway.high:.0f} %"
    return [
        f"{sum(attribution.other_samples)} of {len(attribution.other_samples)}",
        render_tag("small", interval),
    ]
