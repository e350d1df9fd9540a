"""Two arms on the same routes with the same seeds: what differs, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.collection import Collection
from analysis.statistics.intervals import mean
from analysis.statistics.multiplicity import holm
from analysis.statistics.paired import mcnemar, sign_flip
from analysis.tables.table import numbered
from harness.errors import UserError

MEASURES = {
    "driving score": ("driving_score", 1.0),
    "route completion, %": ("completion", 100.0),
    "violations, %": ("violated", 100.0),
    "collisions, %": ("collided", 100.0),
}
YES_OR_NO = {"violated", "collided"}
PAIR = ["campaign", "cluster", "route", "seed"]


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """A system under a condition."""

    system: str
    condition: str

    def __str__(self) -> str:
        return f"{self.system}/{self.condition}"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One arm against another."""

    a: Arm
    b: Arm
    pairs: pd.DataFrame  # a row for each route and seed that both have
    unpaired: tuple[int, int]  # attempts of either that the other lacks
    differences: pd.DataFrame  # a row for each measure


def arm_named(text: str, attempts: pd.DataFrame) -> Arm:
    """Return the arm that is meant: `system/condition`, or a system that has one condition."""
    there = sorted({Arm(*map(str, each)) for each in attempts[["system", "condition"]].to_numpy()})
    fits = [arm for arm in there if text in (str(arm), arm.system)]
    if len(fits) == 1:
        return fits[0]
    what = f"{text}: not one arm with results" if not fits else f"{text}: several conditions"
    raise UserError(f"{what}; there are {', '.join(map(str, there)) or 'none'}")


def compare(found: Collection, a: Arm, b: Arm) -> Comparison:
    """Pair two arms by route and seed; differences are b less a."""
    sides = [of_arm(found.attempts, arm) for arm in (a, b)]
    pairs = sides[0].merge(sides[1], on=PAIR, suffixes=("_a", "_b"))
    if pairs.empty:
        raise UserError(
            f"{a} and {b} have no route and seed in common in one campaign: nothing to pair"
        )
    rows = [difference(pairs, measure, *told) for measure, told in MEASURES.items()]
    unpaired = (len(sides[0]) - len(pairs), len(sides[1]) - len(pairs))
    return Comparison(a, b, pairs, unpaired, pd.DataFrame(rows))


def of_arm(attempts: pd.DataFrame, arm: Arm) -> pd.DataFrame:
    """Return an arm's attempts, only what is compared."""
    own = (attempts["system"] == arm.system) & (attempts["condition"] == arm.condition)
    columns = [name for name, _ in MEASURES.values()]
    return attempts.loc[own, [*PAIR, *columns]]


def difference(pairs: pd.DataFrame, measure: str, column: str, scale: float) -> dict[str, object]:
    """Return one measure's difference, its route-clustered interval and its test."""
    a, b = (pairs[f"{column}_{side}"].to_numpy(np.float64) * scale for side in "ab")
    clusters = numbered(pairs["cluster"])
    estimate = mean(b - a, clusters)
    sums = np.bincount(clusters.astype(np.int64), b - a).astype(np.float64)
    test = sign_flip(sums)
    row: dict[str, object] = {
        "measure": measure,
        "a": a.mean(),
        "b": b.mean(),
        "difference": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "pairs": estimate.n,
        "routes": estimate.routes,
        "routes that differ": test.routes,
        "p": test.p,
        "test": "sign flips of routes, " + ("all" if test.exact else "20000 drawn"),
        "p mcnemar": np.nan,
    }
    if column in YES_OR_NO and estimate.n == estimate.routes:
        row["p mcnemar"] = mcnemar(int((a > b).sum()), int((b > a).sum()))
    return row


def compare_all(found: Collection, arms: Sequence[Arm]) -> tuple[list[Comparison], pd.DataFrame]:
    """Compare the first arm with each other one; Holm's p is over those, measure by measure."""
    comparisons = [compare(found, arms[0], other) for other in arms[1:]]
    told = pd.concat(
        [each.differences.assign(arm_a=str(each.a), arm_b=str(each.b)) for each in comparisons],
        ignore_index=True,
    )
    told["p holm"] = np.nan
    for rows in told.groupby("measure").indices.values():
        told.loc[rows, "p holm"] = holm(told["p"].to_numpy(np.float64)[rows])
    return comparisons, told


def by_route(comparison: Comparison, column: str) -> pd.DataFrame:
    """Return each route's mean of both arms, named as short as is unambiguous."""
    means = comparison.pairs.groupby("cluster")[[f"{column}_a", f"{column}_b"]].mean()
    towns = {str(name).partition("/")[0] for name in means.index}
    short = [str(name).partition("/")[2] if len(towns) == 1 else str(name) for name in means.index]
    return means.set_axis(short, axis=0)
