"""Key findings: sentences that follow from intervals and the page's tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.campaign_labels import CAMPAIGN
from analysis.contrasts import ALPHA, BY, DISTURBED, FEWEST_DIFFERING_ROUTES, ArmContrasts
from analysis.declaration import FamilyDeclaration
from analysis.regression.by_condition import ConditionFits
from analysis.regression.estimators import TIMING_FAIR, format_ratio
from analysis.report.costs import format_cost_sentence
from analysis.report.html import (
    Content,
    Markup,
    format_counted_noun,
    format_signed_difference,
    render_bullets,
    render_details,
    render_paragraph,
    render_tag,
)
from harness.records.arms import PARTNER_FLEET

UNITS = {"driving score": "points", "violations, %": "percentage points"}
"""The measures that sentences are about, and the units of their differences."""


def render_key_findings(
    declared: FamilyDeclaration, regressions: Sequence[ConditionFits]
) -> Markup:
    """Return the key findings as lists under their questions."""
    contrasts = declared.contrasts
    families = list(dict.fromkeys(contrasts.table["family"]))
    # sentences by question: a disturbance, each further factor, systems under each condition
    questions: list[tuple[str, list[str]]] = []
    if DISTURBED in families:
        questions.append(("Does a disturbance change driving?", [DISTURBED]))
    questions += [
        (ask_about_factor(family.removeprefix(BY)), [family])
        for family in families
        if family.startswith(BY)
    ]
    under = [name for name in families if name != DISTURBED and not name.startswith(BY)]
    if under:
        questions.append(("Do systems differ?", under))
    parts: list[Content] = []
    for title, asked in questions:
        sentences = [
            sentence
            for family in asked
            for sentence in format_contrast_sentences(contrasts, family)
        ]
        parts += [render_tag("h3", title), *render_sentences(sentences)]
    if regressions:
        parts.append(render_tag("h3", "Which errors are associated with violations?"))
        parts.append(
            render_bullets(
                sentence
                for fits in regressions
                for sentence in format_odds_sentences(fits, declared.odds.get(fits.condition))
            )
        )
    if not parts:
        return render_paragraph("Nothing to compare: fewer than two arms.")
    return render_tag("div", parts)


def ask_about_factor(factor: str) -> str:
    """Return the question of a family of comparisons by a factor, such as the intervention."""
    if factor == CAMPAIGN:
        return "Do the campaigns differ?"
    if factor == PARTNER_FLEET:
        return "Do the systems of partners change driving?"
    verb = "Do" if factor.endswith("s") else "Does"
    return f"{verb} the {factor.replace('_', ' ')} change driving?"


def render_sentences(sentences: Sequence[tuple[bool, Content]]) -> Iterator[Content]:
    """Yield the significant comparisons of a question as a list, and the others in a fold."""
    clear = [sentence for is_clear, sentence in sentences if is_clear]
    others = [sentence for is_clear, sentence in sentences if not is_clear]
    yield render_bullets(clear) if clear else render_paragraph("None is significant.")
    if others:
        yield render_details(
            f"{format_counted_noun(len(others), 'comparison')} that"
            f" {'is' if len(others) == 1 else 'are'} not significant",
            render_bullets(others),
        )


def format_contrast_sentences(
    contrasts: ArmContrasts, family: str
) -> Iterator[tuple[bool, Content]]:
    """Yield for each comparison of a family whether anything is clear, and a sentence."""
    of_family = contrasts.table[contrasts.table["family"] == family]
    for names, rows in of_family.groupby(["arm_a", "arm_b"], sort=False):
        a, b = map(str, names)
        by_measure = {str(row["measure"]): row for _, row in rows.iterrows()}
        clear = any(bool(by_measure[name]["clear"]) for name in UNITS)
        parts = [describe_difference(by_measure[name], name, unit) for name, unit in UNITS.items()]
        where: Content = [render_tag("strong", b), f" against {a}: "]
        grounds = describe_basis(by_measure["driving score"])
        yield (
            clear,
            [where, parts[0], "; ", parts[1], grounds, format_cost_sentence(contrasts, a, b)],
        )


def describe_difference(row: pd.Series, measure: str, unit: str) -> Content:
    """Return what can be said of one difference."""
    name = measure.replace("violations, %", "violation rate")
    value, low, high = row["difference"], row["low"], row["high"]
    # nothing differs
    if value == 0 and row["routes that differ"] == 0:
        return f"{name} equal on every route"
    # the interval, or why there is none
    interval = (
        f"95 % confidence interval {format_signed_difference(low)} to"
        f" {format_signed_difference(high)}"
    )
    if not math.isfinite(low):
        alike = "equal on every route" if row["routes"] > 1 else "one route"
        interval = f"{alike}, so no interval"
    # significant: the size; else only the interval and why
    if row["clear"]:
        way = "higher" if value > 0 else "lower"
        text = f"{name} {abs(value):.1f} {unit} {way}"
        return [
            render_tag("b", text),
            f" ({interval}, page-wide p {format_short_p(row['p page'])})",
        ]
    why = f"page-wide p {format_short_p(row['p page'])}"
    if row["routes that differ"] < FEWEST_DIFFERING_ROUTES:
        differ = int(row["routes that differ"])
        why = f"only {differ} route{'s differ' if differ > 1 else ' differs'}, too few for a test"
    return [
        render_tag("em", "not significant"),
        f" on {name}: {format_signed_difference(value)} {unit} ({interval}, {why})",
    ]


def describe_basis(row: pd.Series) -> str:
    """Return what a comparison rests on."""
    pairs, routes = int(row["pairs"]), int(row["routes"])
    return f". {pairs} pair{'s' * (pairs != 1)} on {routes} route{'s' * (routes != 1)}."


def format_odds_sentences(fits: ConditionFits, terms: pd.DataFrame | None) -> Iterator[Content]:
    """Yield what the timing-fair regression of a condition can say."""
    where = render_tag("strong", f"Under {fits.condition}")
    if terms is None:
        yield [where, f": not fitted, {fits.refused[TIMING_FAIR]}."]
        return
    # a sentence for each significant pattern, else one for all
    clear = terms[terms["p page"] < ALPHA]
    for _, row in clear.iterrows():
        way = "more" if row["odds_ratio"] > 1 else "less"
        text = f": on the same stretch of road, drives with a higher rate of {row['term']} violate"
        odds = (
            f" {way} often. Odds ratio {format_ratio(row['odds_ratio'])} for one standard deviation"
        )
        interval = (
            f"95 % confidence interval {format_ratio(row['low'])} to {format_ratio(row['high'])}"
        )
        yield [where, text, odds, f" ({interval}, page-wide p {format_short_p(row['p page'])})."]
    if clear.empty:
        names = ", ".join(map(str, terms["term"]))
        yield [
            where,
            ": ",
            render_tag("em", "not significant"),
            f". No association of the patterns estimated ({names}) with violations is significant;"
            " their intervals are in the figure, and none is shown to be harmless.",
        ]


def format_short_p(p: float) -> str:
    """Return a p-value for a sentence."""
    return f"{p:.2g}" if p >= 0.0001 else "below 0.0001"
