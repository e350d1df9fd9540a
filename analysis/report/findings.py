"""Key findings: sentences that follow from intervals and the page's tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.collection import CAMPAIGN
from analysis.contrasts import ALPHA, BY, DISTURBED, FEWEST, Contrasts
from analysis.declaration import Declaration
from analysis.regression.by_condition import ConditionFits
from analysis.regression.estimators import TIMING_FAIR, format_ratio
from analysis.report.costs import cost_sentence
from analysis.report.html import Content, Markup, bullets, paragraph, signed, tag

UNITS = {"driving score": "points", "violations, %": "percentage points"}
"""The measures that sentences are about, and the units of their differences."""
MOST_PAIRS = 12
"""Sentences about pairs of systems; a table has them all."""


def findings_of(declared: Declaration, regressions: Sequence[ConditionFits]) -> Markup:
    """Return the key findings as lists under their questions."""
    contrasts = declared.contrasts
    disturbed = [sentence for _, sentence in sentences(contrasts, DISTURBED)]
    families = [
        family for family in dict.fromkeys(contrasts.table["family"]) if family != DISTURBED
    ]
    factors = [family for family in families if family.startswith(BY)]
    under = [family for family in families if family not in factors]
    systems = [sentence for family in under for sentence in sentences(contrasts, family)]
    hidden = max(len(systems) - MOST_PAIRS, 0)
    parts: list[Content] = []
    if disturbed:
        parts += [tag("h3", "Does a disturbance change driving?"), bullets(disturbed)]
    for family in factors:
        title = f"Does {family.removeprefix(BY)} change driving?"
        title = "Do the campaigns differ?" if family == f"{BY}{CAMPAIGN}" else title
        parts += [tag("h3", title), bullets(text for _, text in sentences(contrasts, family))]
    if systems:
        shown = sorted(systems, key=lambda sentence: not sentence[0])[:MOST_PAIRS]
        parts += [tag("h3", "Do systems differ?"), bullets(sentence for _, sentence in shown)]
    if hidden:
        rest = f"{hidden} more pairs of systems are in the table of differences."
        parts.append(paragraph(rest, class_="quiet"))
    if regressions:
        parts.append(tag("h3", "Which errors are associated with violations?"))
        parts.append(
            bullets(
                sentence
                for fits in regressions
                for sentence in odds_sentences(fits, declared.odds.get(fits.condition))
            )
        )
    if not parts:
        return paragraph("Nothing to compare: fewer than two arms.")
    return tag("div", parts)


def sentences(contrasts: Contrasts, family: str) -> Iterator[tuple[bool, Content]]:
    """Yield for each comparison of a family whether anything is clear, and a sentence."""
    of_family = contrasts.table[contrasts.table["family"] == family]
    for names, rows in of_family.groupby(["arm_a", "arm_b"], sort=False):
        a, b = map(str, names)
        by_measure = {str(row["measure"]): row for _, row in rows.iterrows()}
        clear = any(bool(by_measure[name]["clear"]) for name in UNITS)
        parts = [part(by_measure[name], name, unit) for name, unit in UNITS.items()]
        where: Content = [tag("strong", b), f" against {a}: "]
        grounds = basis(by_measure["driving score"])
        yield clear, [where, parts[0], "; ", parts[1], grounds, cost_sentence(contrasts, a, b)]


def part(row: pd.Series, measure: str, unit: str) -> Content:
    """Return what can be said of one difference."""
    name = measure.replace("violations, %", "violation rate")
    value, low, high = row["difference"], row["low"], row["high"]
    if value == 0 and row["routes that differ"] == 0:
        return f"{name} equal on every route"
    interval = f"95 % confidence interval {signed(low)} to {signed(high)}"
    if not math.isfinite(low):
        alike = "equal on every route" if row["routes"] > 1 else "one route"
        interval = f"{alike}, so no interval"
    if row["clear"]:
        way = "higher" if value > 0 else "lower"
        text = f"{name} {abs(value):.1f} {unit} {way}"
        return [tag("b", text), f" ({interval}, page-wide p {short_p(row['p page'])})"]
    why = f"page-wide p {short_p(row['p page'])}"
    if row["routes that differ"] < FEWEST:
        differ = int(row["routes that differ"])
        why = f"only {differ} route{'s differ' if differ > 1 else ' differs'}, too few for a test"
    return [tag("em", "not significant"), f" on {name}: {signed(value)} {unit} ({interval}, {why})"]


def basis(row: pd.Series) -> str:
    """Return what a comparison rests on."""
    pairs, routes = int(row["pairs"]), int(row["routes"])
    return f". {pairs} pair{'s' * (pairs != 1)} on {routes} route{'s' * (routes != 1)}."


def odds_sentences(fits: ConditionFits, terms: pd.DataFrame | None) -> Iterator[Content]:
    """Yield what the timing-fair regression of a condition can say."""
    where = tag("strong", f"Under {fits.condition}")
    if terms is None:
        yield [where, f": not fitted, {fits.refused[TIMING_FAIR]}."]
        return
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
        yield [where, text, odds, f" ({interval}, page-wide p {short_p(row['p page'])})."]
    if clear.empty:
        names = ", ".join(map(str, terms["term"]))
        yield [
            where,
            ": ",
            tag("em", "not significant"),
            f". No association of the patterns estimated ({names}) with violations is significant;"
            " their intervals are in the figure, and none is shown to be harmless.",
        ]


def short_p(p: float) -> str:
    """Return a p-value for a sentence."""
    return f"{p:.2g}" if p >= 0.0001 else "below 0.0001"
