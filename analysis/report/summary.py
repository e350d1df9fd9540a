"""The first section: what was asked, what was found, and one figure of all arms."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.collection import CampaignCollection, get_campaign_settings
from analysis.contrasts import ALPHA, BY, DISTURBED, SYSTEMS
from analysis.drawing.svg import render_inline_svg
from analysis.figures.driving import render_overview_figures
from analysis.regression.estimators import TIMING_FAIR, format_ratio
from analysis.report.findings import UNITS, ask_about_factor, describe_difference
from analysis.report.gather import ReportContents
from analysis.report.html import (
    Content,
    Markup,
    format_counted_noun,
    render_bullets,
    render_open_section,
    render_paragraph,
    render_tag,
)
from harness.records.arms import NONE

NAME, TITLE = "overview", "What was asked and what was found"
SCORE = "driving score"
DELAY = "interference.latency.Uniform"
"""Ending of the target of a delay with known limits."""
STEP_MARGIN = 1e-9
"""Of a planning step: a delay of whole steps is not rounded up."""
PAGE_WIDE = (
    "Page-wide p is adjusted for all tests of this page. A difference is significant if page-wide p"
    " is below 0.05 and the interval excludes zero, or all routes differ equally."
)
MOST_CONDITIONS = 3
"""Conditions that one question names."""
MOST_AGES = 4
"""Ages that are listed one by one."""


def render_summary_section(report: ReportContents) -> Content:
    """Return the first section of the page; nothing without any result."""
    table = report.tables["driving"]
    if not table.list_rows():
        return ""
    answers = [*list_comparison_answers(report), *list_odds_answers(report)]
    bullets = render_bullets(answers) if answers else Markup()
    notes = (
        PAGE_WIDE if "page-wide p" in bullets else "",
        describe_planning_steps(report.collection),
    )
    before, after = (render_paragraph(note, class_="quiet") if note else "" for note in notes)
    answered = bullets or render_paragraph("Nothing to compare: fewer than two arms.")
    parts = (answered, before, render_overview(report), after)
    return render_open_section(NAME, TITLE, *parts)


def render_overview(report: ReportContents) -> Markup:
    """Return the figure of all arms: driving score, and the share of drives with a collision."""
    canvases = render_overview_figures(report.tables["driving"])
    caption = render_tag(
        "figcaption",
        render_tag("b", "Driving score and collision rate of each arm"),
        "Each row is an arm: a system, and what disturbs the messages it gets (none: nothing)."
        " Mean or share over drives with its 95 % confidence interval; n is the number of"
        " drives. The driving score is the share of the route that was driven, times a factor"
        " below 1 for an infraction. Intervals of two arms may overlap although their paired"
        " difference is statistically significant.",
    )
    drawings = [Markup(render_inline_svg(canvas)) for canvas in canvases]
    return render_tag("figure", caption, render_tag("div", drawings), class_="pair")


def list_comparison_answers(report: ReportContents) -> Iterator[Content]:
    """Yield an answer for each family of comparisons, in the order in which they were planned."""
    table = report.contrasts.table
    for family in dict.fromkeys(table["family"]):
        rows = table[table["family"] == family]
        question, what = describe_question(str(family))
        counts = {
            measure: int(rows.loc[rows["measure"] == measure, "clear"].sum()) for measure in UNITS
        }
        scores = rows[rows["measure"] == SCORE]
        yield [
            render_tag("strong", question),
            f" {format_counted_noun(len(scores), what)}:"
            f" {counts[SCORE]} significant in driving score,"
            f" {counts['violations, %']} in violation rate. ",
            describe_largest_difference(scores),
        ]


def describe_question(family: str) -> tuple[str, str]:
    """Return the question of a family of comparisons, and what one of them is called."""
    if family == DISTURBED:
        return "Does a disturbance change driving?", "comparison"
    if family.startswith(SYSTEMS):
        return f"Do systems differ under {family.removeprefix(SYSTEMS)}?", "pair"
    return ask_about_factor(family.removeprefix(BY)), "comparison"


def describe_largest_difference(scores: pd.DataFrame) -> Content:
    """Return the largest difference in driving score: of the significant ones, if there are any."""
    clear = scores[scores["clear"]]
    rows = clear if len(clear) else scores
    largest = rows.iloc[int(rows["difference"].abs().to_numpy().argmax())]
    return [
        "The largest significant one: " if len(clear) else "The largest: ",
        render_tag("b", str(largest["arm_b"])),
        f" against {largest['arm_a']}: ",
        describe_difference(largest, SCORE, UNITS[SCORE]),
        ".",
    ]


def list_odds_answers(report: ReportContents) -> Iterator[Content]:
    """Yield what the timing-fair regression of each condition found.

    Conditions that are not fitted for the same reason share an answer.
    """
    unfitted = defaultdict[str, list[str]](list)
    for fits in report.regressions:
        if fits.condition not in report.declaration.odds:
            unfitted[fits.refused[TIMING_FAIR]].append(fits.condition)
    for fits in report.regressions:
        terms = report.declaration.odds.get(fits.condition)
        if terms is None:
            alike = unfitted.pop(fits.refused[TIMING_FAIR], [])
            if alike:
                reason = fits.refused[TIMING_FAIR]
                yield [
                    ask_about_errors(alike),
                    f" Not fitted{' in any' * (len(alike) > 1)}: {reason}.",
                ]
            continue
        question = ask_about_errors([fits.condition])
        clear = terms[terms["p page"] < ALPHA]
        counts = f" {len(clear)} of {format_counted_noun(len(terms), 'pattern')} significant"
        named = [
            f"{row['term']} (odds ratio {format_ratio(row['odds_ratio'])},"
            f" {format_ratio(row['low'])} to {format_ratio(row['high'])})"
            for _, row in clear.iterrows()
        ]
        rest = "" if named else " None is shown to be harmless."
        yield [question, counts, f": {', '.join(named)}." if named else f".{rest}"]


def ask_about_errors(conditions: Sequence[str]) -> Markup:
    """Return the question of a regression; of many conditions the first ones are named."""
    named = ", ".join(conditions[:MOST_CONDITIONS])
    more = len(conditions) - MOST_CONDITIONS
    under = f"{named} and {more} more" if more > 0 else named
    return render_tag("strong", f"Which errors are associated with violations under {under}?")


def describe_planning_steps(collection: CampaignCollection) -> str:
    """Return how planning steps round the ages of messages, if messages were disturbed."""
    if set(collection.attempts["condition"]) <= {NONE}:
        return ""
    steps = {read_planning_step(get_campaign_settings(part)) for part in collection.campaigns}
    step = steps.pop() if len(steps) == 1 else None
    if step is None:
        return ""
    text = (
        f"Planning steps are {step:g} s apart, and a message is used at the first step at or after"
        " its arrival. So the age of a message is its delay, rounded up to a whole number of steps."
    )
    # the ages of delays with known limits
    delays = {
        (name, *delay)
        for part in collection.campaigns
        for name, delay in list_uniform_delays(get_campaign_settings(part))
        if name in set(collection.attempts["condition"])
    }
    for name, low, high in sorted(delays):
        first, last = (math.ceil(end / step - STEP_MARGIN) for end in (low, high))
        ages = [f"{number * step:g}" for number in range(first, last + 1)]
        if len(ages) > MOST_AGES:
            ages = [f"{ages[0]} to {ages[-1]}"]
        words = " or ".join(filter(None, (", ".join(ages[:-1]), ages[-1])))
        text += f" {name.capitalize()} of {low:g} to {high:g} s is an age of {words} s."
    return text


def read_planning_step(settings: Mapping[str, Any]) -> float | None:
    """Return the seconds between two planning steps, if the settings have them."""
    tick, every = settings.get("tick"), settings.get("perceive_every")
    if isinstance(tick, float) and isinstance(every, int) and tick > 0 and every > 0:
        return round(tick * every, 6)
    return None


def list_uniform_delays(
    settings: Mapping[str, Any],
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the name and the limits of each condition that is one delay between two limits."""
    conditions = settings.get("interference")
    for name, parts in conditions.items() if isinstance(conditions, Mapping) else ():
        if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping):
            part = parts[0]
            if str(part.get("_target_", "")).endswith(DELAY) and {"low", "high"} <= set(part):
                yield str(name), (float(part["low"]), float(part["high"]))
