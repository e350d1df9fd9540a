"""The one family of tests of a page: what its sentences are about, declared above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.comparison import MEASURES, Comparison
from analysis.contrasts import ALPHA, Contrasts
from analysis.regression.by_condition import Findings
from analysis.report.html import numbered as numbered_of
from analysis.statistics.significance import Test, adjusted, attainable
from analysis.tables.table import numbered

IN_ORDER = ("driving score", "violations, %")
"""The measures that are tested of a comparison: the second only once the first is rejected."""


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """All tests of a page with p-values that hold for all of them together."""

    tests: pd.DataFrame  # kind, name, measure, p, least, p page
    contrasts: Contrasts  # with `p page`, and `clear` where a sentence may say so
    odds: dict[str, pd.DataFrame]  # by condition: the headline's terms with `p page`

    def in_words(self) -> str:
        """Return what is tested on this page, how, and what it could not find."""
        of = {kind: len(own) for kind, own in self.tests.groupby("kind")}
        comparisons, terms = of.get("comparison", 0) // len(IN_ORDER), of.get("odds", 0)
        told = (
            f"One family of tests: the driving score of {numbered_of(comparisons, 'comparison')}"
            " of two arms; the violation rate of each whose driving score differs significantly;"
            f" {numbered_of(terms, 'error pattern')} in the timing-fair regressions. The chance"
            " that any of the sentences below calls significant what is not there is at most"
            f" {ALPHA:.0%}, for all of them together (step-down, with Westfall and Wolfinger's"
            " bound for discrete p-values, a sharper form of Tarone's)."
        )
        least = self.tests.loc[self.tests["measure"] == IN_ORDER[0], "least"].to_numpy(np.float64)
        if hopeless := int((least >= ALPHA).sum()):
            told += (
                f" {numbered_of(hopeless, 'comparison')} cannot reach significance, because too few"
                " routes differ: this costs the others nothing."
            )
        if lost := int(((least < ALPHA) & (least * max(comparisons + terms, 1) >= ALPHA)).sum()):
            told += (
                f" {numbered_of(lost, 'comparison')} could reach it alone, but hardly among so many"
                " tests: on few routes, choose one comparison before looking, and use `compare`."
            )
        return told


def declare(contrasts: Contrasts, regressions: Sequence[Findings]) -> Declaration:
    """Return the family of a page: comparisons, then the headline's patterns by condition."""
    rows: list[dict[str, object]] = []
    slots: list[list[Test]] = []
    for pair in contrasts.pairs:
        own = pair.differences.set_index("measure")["p"]
        slots.append([Test(float(own[name]), reachable(pair, name)) for name in IN_ORDER])
        names = {"kind": "comparison", "name": f"{pair.b.name} against {pair.a.name}"}
        rows += [{**names, "measure": name, "p": own[name]} for name in IN_ORDER]
    for found in regressions:
        terms = None if found.headline is None else found.headline.terms
        for _, term in (pd.DataFrame() if terms is None else terms).iterrows():
            slots.append([Test(float(term["p"]))])
            names = {"kind": "odds", "name": found.condition, "measure": str(term["term"])}
            rows.append({**names, "p": term["p"]})
    least = [test.least() for slot in slots for test in slot]
    level = [each for slot in adjusted(slots) for each in slot]
    tests = pd.DataFrame(rows, columns=["kind", "name", "measure", "p"])
    tests["least"], tests["p page"] = least, level
    return Declaration(tests, judged(contrasts, tests), odds_of(regressions, tests))


def reachable(pair: Comparison, measure: str) -> np.ndarray | None:
    """Return the p-values that a comparison could have had."""
    column, scale = MEASURES[measure]
    a, b = (pair.pairs[f"{column}_{side}"].to_numpy(np.float64) * scale for side in "ab")
    clusters = numbered(pair.pairs["cluster"]).astype(np.int64)
    return attainable(np.bincount(clusters, b - a).astype(np.float64))


def judged(contrasts: Contrasts, tests: pd.DataFrame) -> Contrasts:
    """Return comparisons with the page's p, and whether a sentence may call them significant.

    That needs an interval that leaves out nought as well; what is the same on every route has no
    interval, and leaves out nought if it is not nought itself.
    """
    table = contrasts.table
    if table.empty:
        return contrasts
    own = tests[tests["kind"] == "comparison"].set_index(["name", "measure"])["p page"]
    names = zip(table["arm_b"] + " against " + table["arm_a"], table["measure"], strict=True)
    level = np.array([own.get(each, np.nan) for each in names], np.float64)
    alike = table["low"].isna() & (table["difference"] != 0)
    without_nought = (table["low"] > 0) | (table["high"] < 0) | alike
    told = table.assign(clear=without_nought & (level < ALPHA))
    told["p page"] = level
    return replace(contrasts, table=told)


def odds_of(regressions: Sequence[Findings], tests: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the headline's terms of each condition with the page's p."""
    own = tests[tests["kind"] == "odds"]
    return {
        found.condition: found.headline.terms.assign(
            **{"p page": own.loc[own["name"] == found.condition, "p page"].to_numpy(np.float64)}
        )
        for found in regressions
        if found.headline is not None
    }
