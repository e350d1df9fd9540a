"""The one family of tests of a page: the tests that its sentences rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.comparison import COMPARED_MEASURES, ArmComparison
from analysis.contrasts import ALPHA, ArmContrasts
from analysis.regression.by_condition import ConditionFits
from analysis.report.html import format_counted_noun as numbered_of
from analysis.statistics.significance import (
    HypothesisTest,
    adjust_p_values,
    list_attainable_p_values,
)
from analysis.tables.campaigns import FAMILY
from analysis.tables.table import encode_names

IN_ORDER = ("driving score", "violations, %")
"""The measures that are tested of a comparison: the second only once the first is rejected."""


@dataclass(frozen=True, slots=True, eq=False)
class FamilyDeclaration:
    """All tests of a page with p-values that hold for all of them together."""

    tests: pd.DataFrame  # kind, name, measure, p, least, p page
    contrasts: ArmContrasts  # with `p page`, and `clear` where a sentence may say so
    odds: dict[str, pd.DataFrame]  # by condition: the headline's terms with `p page`

    def describe_tests(self) -> str:
        """Return what is tested on the page, how, and what it has no power to find."""
        # numbers of tests
        of = {kind: len(rows) for kind, rows in self.tests.groupby("kind")}
        comparisons, terms = of.get("comparison", 0) // len(IN_ORDER), of.get("odds", 0)
        table = self.contrasts.table
        between = int(((table["family"] == FAMILY) & (table["measure"] == IN_ORDER[0])).sum())
        of_campaigns = f" ({between} of them between campaigns)" if between else ""
        text = (
            f"One family of tests: the driving score of {numbered_of(comparisons, 'comparison')}"
            f" of two arms{of_campaigns}; the violation rate of each whose driving score differs"
            " significantly;"
            f" {numbered_of(terms, 'error pattern')} in the timing-fair regressions. The"
            " probability that any sentence below reports an effect that is absent is at most"
            f" {100 * ALPHA:.0f} %, for all of them together (step-down, with Westfall and"
            " Wolfinger's bound for discrete p-values, a sharper form of Tarone's)."
        )
        # tests that no data of so few routes could make significant
        least = self.tests.loc[self.tests["measure"] == IN_ORDER[0], "least"].to_numpy(np.float64)
        if hopeless := int((least >= ALPHA).sum()):
            text += (
                f" {numbered_of(hopeless, 'comparison')} cannot reach significance, because too few"
                " routes differ: this costs the others nothing."
            )
        if lost := int(((least < ALPHA) & (least * max(comparisons + terms, 1) >= ALPHA)).sum()):
            text += (
                f" {numbered_of(lost, 'comparison')} could reach it alone, but hardly among so many"
                " tests: on few routes, choose one comparison before looking, and use"
                " crucible compare."
            )
        return text


def declare_tests(
    contrasts: ArmContrasts, regressions: Sequence[ConditionFits]
) -> FamilyDeclaration:
    """Return the family of a page: comparisons, then the headline's patterns by condition.

    Args:
        contrasts: all comparisons of the page.
        regressions: the fits of each condition.

    Returns:
        Every test with its page-wide p-value.
    """
    rows: list[dict[str, object]] = []
    slots: list[list[HypothesisTest]] = []
    # a slot for each comparison: the violation rate is tested after the driving score
    for pair in contrasts.pairs:
        p_values = pair.differences.set_index("measure")["p"]
        slots.append(
            [
                HypothesisTest(float(p_values[name]), list_comparison_p_values(pair, name))
                for name in IN_ORDER
            ]
        )
        names = {"kind": "comparison", "name": f"{pair.b.name} against {pair.a.name}"}
        rows += [{**names, "measure": name, "p": p_values[name]} for name in IN_ORDER]
    # a slot for each error pattern of the headline
    for fits in regressions:
        terms = None if fits.headline is None else fits.headline.terms
        for _, term in (pd.DataFrame() if terms is None else terms).iterrows():
            slots.append([HypothesisTest(float(term["p"]))])
            names = {"kind": "odds", "name": fits.condition, "measure": str(term["term"])}
            rows.append({**names, "p": term["p"]})
    # the step-down procedure over all slots
    least = [test.compute_least_p() for slot in slots for test in slot]
    level = [p for slot in adjust_p_values(slots) for p in slot]
    tests = pd.DataFrame(rows, columns=["kind", "name", "measure", "p"])
    tests["least"], tests["p page"] = least, level
    return FamilyDeclaration(
        tests, add_significance(contrasts, tests), select_headline_odds(regressions, tests)
    )


def list_comparison_p_values(pair: ArmComparison, measure: str) -> np.ndarray | None:
    """Return the p-values that a comparison could have had."""
    column, scale = COMPARED_MEASURES[measure]
    a, b = (pair.pairs[f"{column}_{side}"].to_numpy(np.float64) * scale for side in "ab")
    clusters = encode_names(pair.pairs["cluster"]).astype(np.int64)
    return list_attainable_p_values(np.bincount(clusters, b - a).astype(np.float64))


def add_significance(contrasts: ArmContrasts, tests: pd.DataFrame) -> ArmContrasts:
    """Return comparisons with the page-wide p, and whether they count as significant.

    An interval that excludes zero is needed as well. A difference that is equal on every route has
    no interval; it excludes zero if it is not zero.
    """
    table = contrasts.table
    if table.empty:
        return contrasts
    # by the names of the arms and the measure
    page_p = tests[tests["kind"] == "comparison"].set_index(["name", "measure"])["p page"]
    names = zip(table["arm_b"] + " against " + table["arm_a"], table["measure"], strict=True)
    level = np.array([page_p.get(name, np.nan) for name in names], np.float64)
    # an interval that excludes zero is needed as well
    alike = table["low"].isna() & (table["difference"] != 0)
    excludes_zero = (table["low"] > 0) | (table["high"] < 0) | alike
    table_with_p = table.assign(clear=excludes_zero & (level < ALPHA))
    table_with_p["p page"] = level
    return replace(contrasts, table=table_with_p)


def select_headline_odds(
    regressions: Sequence[ConditionFits], tests: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the headline's terms of each condition with the page's p."""
    tests_of_odds = tests[tests["kind"] == "odds"]
    return {
        fits.condition: fits.headline.terms.assign(
            **{
                "p page": tests_of_odds.loc[
                    tests_of_odds["name"] == fits.condition, "p page"
                ].to_numpy(np.float64)
            }
        )
        for fits in regressions
        if fits.headline is not None
    }
