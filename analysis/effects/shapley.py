"""Shapley shares: how the effect of repairing all six patterns divides among them.

A pattern's share is what its repair adds to those repaired before it, averaged over orders of the
six (Shapley 1953, A value for n-person games, section 3). With all 64 arms it is exact, over all
720 orders; else it is the mean over the orders along which every arm was driven, and has an error
of the orders besides that of the routes (Castro, Gómez and Tejada 2009, Polynomial calculation of
the Shapley value based on sampling, section 3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from analysis.arms import of_arms
from analysis.comparison import PAIR
from analysis.effects.arms import REPAIR, InterventionArm
from analysis.effects.paired import TESTED, Outcome
from analysis.statistics.intervals import mean
from analysis.tables.table import codes_of
from harness.records.arms import Arm
from harness.vocabulary import PATTERNS, Floats

Order = tuple[str, ...]
Subset = frozenset[str]
NOTHING: Subset = frozenset()
ALL_ORDERS = math.factorial(len(PATTERNS))
NEEDED = (
    "Shapley shares need the arms along one order of the six patterns at least:"
    " intervention=repair_subsets for all 64, repair_permutations for five orders"
)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What a pattern's share is of: a weight for each subset of repaired patterns."""

    of: Mapping[str, Mapping[Subset, float]]
    orders: tuple[Order, ...]


def weights_for(present: Sequence[Subset], names: Sequence[str] = PATTERNS) -> Weights:
    """Return the weights over all orders along which every subset is present."""
    there = set(present)
    orders = tuple(
        order
        for order in permutations(names)
        if all(frozenset(order[:n]) in there for n in range(len(names) + 1))
    )
    of: dict[str, dict[Subset, float]] = {name: {} for name in names}
    for order in orders:
        for place, name in enumerate(order):
            before, after = frozenset(order[:place]), frozenset(order[: place + 1])
            of[name][after] = of[name].get(after, 0.0) + 1 / len(orders)
            of[name][before] = of[name].get(before, 0.0) - 1 / len(orders)
    return Weights(of, orders)


def error_of_orders(marginals: Floats) -> float:
    """Return the standard error of a mean over some of all 720 orders; 0 for all of them."""
    count = len(marginals)
    if count == ALL_ORDERS:
        return 0.0
    if count < 2:
        return math.nan
    rest = 1 - count / ALL_ORDERS
    return float(marginals.std(ddof=1) / math.sqrt(count) * math.sqrt(rest))


def shares_of(attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]) -> pd.DataFrame:
    """Return each pattern's share for each tested outcome; no row without a whole order."""
    repairs = {arm.patterns: arm.arm for arm in arms if arm.kind == REPAIR}
    subsets = {NOTHING: base, **repairs}
    weights = weights_for(list(subsets))
    if not weights.orders:
        return pd.DataFrame()
    used = {subset for by_subset in weights.of.values() for subset in by_subset}
    wide = values_of(attempts, {subset: subsets[subset] for subset in used})
    return pd.DataFrame(
        [
            share(wide, weights, pattern, outcome)
            for outcome in TESTED
            for pattern in PATTERNS
            if len(wide)
        ]
    )


def values_of(attempts: pd.DataFrame, arms: Mapping[Subset, Arm]) -> pd.DataFrame:
    """Return a row for each route and seed that all arms have: the outcomes of each arm."""
    columns = [outcome.column for outcome in TESTED]
    tables = [
        attempts.loc[of_arms(attempts, [arm]), [*PAIR, *columns]]
        .set_index(PAIR)
        .rename(columns={name: (name, subset) for name in columns})
        for subset, arm in arms.items()
    ]
    return pd.concat(tables, axis=1, join="inner")


def share(
    wide: pd.DataFrame, weights: Weights, pattern: str, outcome: Outcome
) -> dict[str, object]:
    """Return one pattern's share of one outcome."""

    def values(subset: Subset) -> Floats:
        return wide[(outcome.column, subset)].to_numpy(np.float64) * outcome.scale

    clusters = codes_of(pd.Series(wide.index.get_level_values("cluster")))
    parts = [weight * values(subset) for subset, weight in weights.of[pattern].items()]
    estimate = mean(np.sum(parts, axis=0), clusters)
    means = {subset: values(subset).mean() for subset in weights.of[pattern]}
    marginals = [
        means[frozenset(order[: order.index(pattern) + 1])]
        - means[frozenset(order[: order.index(pattern)])]
        for order in weights.orders
    ]
    total = float((values(frozenset(PATTERNS)) - values(NOTHING)).mean())
    return {
        "outcome": outcome.name,
        "pattern": pattern,
        "share": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "of total, %": 100 * estimate.value / total if total else np.nan,
        "total": total,
        "orders": len(weights.orders),
        "error of orders": error_of_orders(np.array(marginals)),
        "pairs": estimate.n,
        "routes": estimate.routes,
    }
