"""Every comparison a campaign was made for: disturbed against undisturbed, scheme against scheme.

Differences are paired by route and seed. All disturbances of all systems are one group of
comparisons, all pairs of systems under one setting another, and so is each further factor: who
cooperates, or whatever a campaign names. Which differences count as significant is for the page's
one family of tests to say (`analysis.declaration`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import pandas as pd

from analysis.arms import collect_factors, group_arms_by_setting
from analysis.collection import CampaignCollection
from analysis.comparison import ArmComparison, build_comparison_sides, compare_sides
from analysis.surrogates import EARLY
from analysis.surrogates import SURROGATE_MEASURES as DANGERS
from analysis.tables.table import ESTIMATE, EstimatesTable
from harness.common.errors import UserError
from harness.records.arms import CONDITION, SYSTEM, Arm, format_arm_label, get_absent_value

ALPHA = 0.05
FEWEST_DIFFERING_ROUTES = 6
"""Routes with a difference that a sign-flip test at 0.05 needs: two of 2^6 signs."""
DISTURBED = "disturbed against undisturbed"
BY, SYSTEMS = "by ", "systems under "
"""What families begin with: a factor's name follows, or a setting's."""


@dataclass(frozen=True, slots=True, eq=False)
class ArmContrasts:
    """All comparisons, and one table of them."""

    pairs: tuple[ArmComparison, ...]
    table: pd.DataFrame  # a row for each comparison and measure
    refused: tuple[str, ...]  # what could not be compared, and why

    @property
    def scores(self) -> pd.DataFrame:
        """The rows of scores and of the cost in time."""
        return self.table[~self.table["measure"].isin(list(DANGERS))]

    def select_measure(self, measure: str, family: str | None = None) -> pd.DataFrame:
        """Return the rows of one measure, perhaps of one family.

        Args:
            measure: its name in the table.
            family: of comparisons; None for all.
        """
        rows = self.table["measure"] == measure
        return self.table[rows & (self.table["family"] == family)] if family else self.table[rows]


def build_differences_table(contrasts: ArmContrasts) -> EstimatesTable:
    """Return the differences as a table of estimates, for those who typeset it."""
    names = {"arm_b": "second", "arm_a": "first", "difference": "value", "pairs": "n"}
    cells = contrasts.scores.rename(columns=names)
    title = "Second minus first, paired by route and seed"
    by = ("second", "first")
    frame = cells.assign(method="bootstrap")[[*by, "measure", *ESTIMATE]]
    return EstimatesTable(name="differences", title=title, by=by, cells=frame)


def compute_contrasts(collection: CampaignCollection) -> ArmContrasts:
    """Compare whatever is there to compare."""
    pairs, parts, refused = [], [], []
    for family, a, b in plan_comparisons(collection.arms):
        first, second = build_comparison_sides(collection, [a, b])
        try:
            comparison = compare_sides(first, second)
        except UserError as problem:
            refused.append(str(problem))
            continue
        pairs.append(comparison)
        names = {"family": family, "arm_a": first.name, "arm_b": second.name}
        short = format_contrast_label(family, a, b, collection.factors)
        parts.append(comparison.differences.assign(**names, short=short))
    if not parts:
        return ArmContrasts((), make_empty_contrasts(), tuple(refused))
    return ArmContrasts(tuple(pairs), pd.concat(parts, ignore_index=True), tuple(refused))


def plan_comparisons(arms: Sequence[Arm]) -> Iterator[tuple[str, Arm, Arm]]:
    """Yield each comparison's family and arms: those that differ in one factor.

    Where one of them lacks that factor the others are compared with it, else each with
    each. Systems are compared under the same setting. Systems that read no messages have one arm
    under every cooperation: each pair of them is compared once.
    """
    # arms that differ in one factor only
    for factor in [
        CONDITION,
        *(name for name in collect_factors(arms) if name not in (SYSTEM, CONDITION)),
    ]:
        family = DISTURBED if factor == CONDITION else f"{BY}{factor}"
        rest = [name for name in collect_factors(arms) if name != factor]
        for members in group_arms(arms, rest):
            plain = [arm for arm in members if arm[factor] == get_absent_value(factor)]
            pairs = product(plain, [arm for arm in members if arm not in plain])
            for a, b in pairs if plain else combinations(members, 2):
                yield family, a, b
    # systems under the same setting; each pair once
    compared: set[tuple[Arm, Arm]] = set()
    for name, members in group_arms_by_setting(arms).items():
        for a, b in combinations(members, 2):
            if a.system != b.system and (a, b) not in compared:
                compared.add((a, b))
                yield f"{SYSTEMS}{name}", a, b


def group_arms(arms: Sequence[Arm], factors: Sequence[str]) -> Iterator[list[Arm]]:
    """Yield arms that have the same values of some factors."""
    groups: dict[tuple[str, ...], list[Arm]] = {}
    for arm in sorted(arms):
        groups.setdefault(arm.get_values(factors), []).append(arm)
    yield from groups.values()


def format_contrast_label(family: str, a: Arm, b: Arm, factors: Sequence[str]) -> str:
    """Return what a comparison is called in the figure of its family.

    Args:
        family: of the comparison.
        a: the arm that is compared with.
        b: the arm that is compared.
        factors: those that vary among the arms.
    """
    if family == DISTURBED:
        return format_arm_label(b, factors)
    if family.startswith(SYSTEMS):
        return f"{b.system} minus {a.system}"
    factor = family.removeprefix(BY)
    return f"{format_arm_label(b, factors)} minus {a[factor]}"


def make_empty_contrasts() -> pd.DataFrame:
    """Return a table without rows."""
    words = ["family", "arm_a", "arm_b", "short", "measure", "test"]
    numbers = ["a", "b", "difference", "low", "high", "p", "p page", "p mcnemar"]
    whole = ["pairs", "routes", "routes that differ", EARLY]
    columns = {name: pd.Series(dtype=str) for name in words}
    columns |= {name: pd.Series(dtype=float) for name in numbers}
    columns |= {name: pd.Series(dtype=int) for name in whole}
    return pd.DataFrame(columns)
