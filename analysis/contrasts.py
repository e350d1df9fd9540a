"""Every comparison a campaign was made for: disturbed against undisturbed, scheme against scheme.

Differences are paired by route and seed. Holm's p is over a family, measure by measure: all
disturbances of all systems are one family, all pairs of systems under one condition another. Only
a difference whose interval leaves out nought and whose Holm p is below 0.05 counts as clear. One
that is the same on every route has no interval, and leaves out nought if it is not nought itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.collection import Collection
from analysis.comparison import Arm, Comparison, compare
from analysis.statistics.multiplicity import holm
from analysis.tables.table import ESTIMATE, UNDISTURBED, Table, in_order
from harness.errors import UserError

ALPHA = 0.05
FEWEST = 6
"""Routes with a difference that a sign-flip test at 0.05 needs: two of 2^6 signs."""
DISTURBED = "disturbed against undisturbed"


@dataclass(frozen=True, slots=True, eq=False)
class Contrasts:
    """All comparisons, and one table of them."""

    pairs: tuple[Comparison, ...]
    table: pd.DataFrame  # a row for each comparison and measure
    refused: tuple[str, ...]  # what could not be compared, and why

    def of(self, measure: str, family: str | None = None) -> pd.DataFrame:
        """Return the rows of one measure, perhaps of one family."""
        own = self.table["measure"] == measure
        return self.table[own & (self.table["family"] == family)] if family else self.table[own]


def as_cells(contrasts: Contrasts) -> Table:
    """Return the differences as a table of estimates, for those who typeset it."""
    names = {"arm_b": "second", "arm_a": "first", "difference": "value", "pairs": "n"}
    cells = contrasts.table.rename(columns=names)
    title = "Second less first, paired by route and seed"
    by = ("second", "first")
    frame = cells.assign(method="bootstrap")[[*by, "measure", *ESTIMATE]]
    return Table("differences", title, by, frame)


def contrasts_of(found: Collection) -> Contrasts:
    """Compare whatever is there to compare."""
    pairs, parts, refused = [], [], []
    for family, a, b in planned(found.attempts):
        try:
            comparison = compare(found, a, b)
        except UserError as problem:
            refused.append(str(problem))
            continue
        pairs.append(comparison)
        short = f"{b.system} / {b.condition}"
        short = short if family == DISTURBED else f"{b.system} less {a.system}"
        names = {"family": family, "arm_a": str(a), "arm_b": str(b), "short": short}
        parts.append(comparison.differences.assign(**names))
    if not parts:
        return Contrasts((), nothing_compared(), tuple(refused))
    return Contrasts(tuple(pairs), judged(pd.concat(parts, ignore_index=True)), tuple(refused))


def planned(attempts: pd.DataFrame) -> Iterator[tuple[str, Arm, Arm]]:
    """Yield each comparison's family and arms."""
    arms = sorted({Arm(*map(str, each)) for each in attempts[["system", "condition"]].to_numpy()})
    for arm in arms:
        plain = Arm(arm.system, UNDISTURBED)
        if arm.condition != UNDISTURBED and plain in arms:
            yield DISTURBED, plain, arm
    conditions = {arm.condition for arm in arms}
    for condition in sorted(conditions, key=lambda each: in_order(("", each))):
        own = [arm for arm in arms if arm.condition == condition]
        for a, b in combinations(own, 2):
            yield f"systems under {condition}", a, b


def judged(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with Holm's p in each family and measure, and whether it is clear."""
    table["p holm"] = np.nan
    for rows in table.groupby(["family", "measure"]).indices.values():
        table.loc[rows, "p holm"] = holm(table["p"].to_numpy(np.float64)[rows])
    alike = table["low"].isna() & (table["difference"] != 0)
    without_nought = (table["low"] > 0) | (table["high"] < 0) | alike
    return table.assign(clear=without_nought & (table["p holm"] < ALPHA))


def nothing_compared() -> pd.DataFrame:
    """Return a table without rows."""
    words = ["family", "arm_a", "arm_b", "short", "measure", "test"]
    numbers = ["a", "b", "difference", "low", "high", "p", "p holm", "p mcnemar"]
    whole = ["pairs", "routes", "routes that differ"]
    columns = {name: pd.Series(dtype=str) for name in words}
    columns |= {name: pd.Series(dtype=float) for name in numbers}
    columns |= {name: pd.Series(dtype=int) for name in whole}
    return pd.DataFrame(columns | {"clear": pd.Series(dtype=bool)})
