"""Shapley shares: how the effect of repairing all six patterns divides among them.

A pattern's share is what its repair adds to those repaired before it, averaged over orders of the
six (Shapley 1953, A value for n-person games, section 3). With all 64 arms it is exact, over all
720 orders. With the arms of five sampled orders it is the mean over these five, and has an error of
the orders next to that of the routes (Castro, Gómez and Tejada 2009, Polynomial calculation of the
Shapley value based on sampling, section 3). Arms of five orders happen to make up other orders as
well: those are no random sample, and are not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from analysis.statistics.intervals import estimate_mean
from analysis.tables.table import encode_names
from harness.records.arms import Arm
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats
from studies.interventions.arms import InterventionArm, match_attempts
from studies.interventions.paired import TESTED_OUTCOMES, EffectOutcome

Order = tuple[str, ...]
Subset = frozenset[str]
NOTHING: Subset = frozenset()
SAMPLED_ORDERS: tuple[Order, ...] = (
    ("LADE", "CCME", "CADE", "LCME", "CCLE", "LCLE"),
    ("LCME", "LCLE", "LADE", "CCLE", "CADE", "CCME"),
    ("LADE", "CADE", "CCLE", "CCME", "LCME", "LCLE"),
    ("CADE", "LCLE", "LADE", "LCME", "CCLE", "CCME"),
    ("CADE", "CCME", "CCLE", "LCME", "LCLE", "LADE"),
)
"""The orders of `intervention=repair_permutations`: five shuffles by `random.Random(1)`."""
NEEDED = (
    "no Shapley shares: the campaign lacks arms for them. intervention=repair_subsets drives all"
    " arms, intervention=repair_permutations those of five random orders."
)
"""Arms of five orders may make up other orders, which are no random sample."""


@dataclass(frozen=True, slots=True, eq=False)
class ShapleyWeights:
    """What a pattern's share is of: a weight for each subset of repaired patterns."""

    of: Mapping[str, Mapping[Subset, float]]
    orders: tuple[Order, ...]


def select_orders(present: Sequence[Subset]) -> tuple[Order, ...]:
    """Return all orders if every subset is present, else the sampled ones if theirs are."""
    there = set(present)
    for orders in (tuple(permutations(PATTERNS)), SAMPLED_ORDERS):
        if all(set(list_order_subsets(order)) <= there for order in orders):
            return orders
    return ()


def list_order_subsets(order: Order) -> list[Subset]:
    """Return what is repaired step by step, from nothing to all."""
    return [frozenset(order[:count]) for count in range(len(order) + 1)]


def compute_shapley_weights(orders: Sequence[Order]) -> ShapleyWeights:
    """Return the weights of a mean over some orders."""
    of: dict[str, dict[Subset, float]] = {name: {} for order in orders[:1] for name in order}
    for order in orders:
        subsets = list_order_subsets(order)
        for place, name in enumerate(order):
            before, after = subsets[place], subsets[place + 1]
            of[name][after] = of[name].get(after, 0.0) + 1 / len(orders)
            of[name][before] = of[name].get(before, 0.0) - 1 / len(orders)
    return ShapleyWeights(of, tuple(orders))


def compute_order_error(marginals: Floats, parts: int = len(PATTERNS)) -> float:
    """Return the standard error of a mean over orders sampled without replacement; 0 for all.

    That of a simple random sample of all orders, 720 for six patterns (Cochran 1977, Sampling
    Techniques, theorem 2.2).

    Args:
        marginals: what a part adds in each order.
        parts: how many parts there are.
    """
    count, all_orders = len(marginals), math.factorial(parts)
    if count == all_orders:
        return 0.0
    if count < 2:
        return math.nan
    rest = 1 - count / all_orders
    return float(marginals.std(ddof=1) / math.sqrt(count) * math.sqrt(rest))


def estimate_shapley_shares(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> pd.DataFrame:
    """Return each pattern's share for each tested outcome; no row if arms for that are missing."""
    used = select_shapley_arms(base, arms)
    if not used:
        return pd.DataFrame()
    weights = compute_shapley_weights(select_orders(list(used)))
    columns = [outcome.column for outcome in TESTED_OUTCOMES]
    wide = match_attempts(attempts, used, columns).rows
    return pd.DataFrame(
        [
            estimate_shapley_share(wide, weights, pattern, outcome)
            for outcome in TESTED_OUTCOMES
            for pattern in PATTERNS
            if len(wide)
        ]
    )


def select_shapley_arms(base: Arm, arms: Sequence[InterventionArm]) -> dict[Subset, Arm]:
    """Return the arms along the orders that shares are averaged over, none if one is missing."""
    repairs = {arm.patterns: arm.arm for arm in arms if arm.repairs_to_truth}
    subsets = {NOTHING: base, **repairs}
    along = {
        subset for order in select_orders(list(subsets)) for subset in list_order_subsets(order)
    }
    return {subset: arm for subset, arm in subsets.items() if subset in along}


def estimate_shapley_share(
    wide: pd.DataFrame, weights: ShapleyWeights, pattern: str, outcome: EffectOutcome
) -> dict[str, object]:
    """Return the share of one pattern, or of another part, of one outcome."""

    def values(subset: Subset) -> Floats:
        return wide[(outcome.column, subset)].to_numpy(np.float64) * outcome.scale

    # weights of subsets make the share a mean over pairs, so it has their interval
    clusters = encode_names(pd.Series(wide.index.get_level_values("cluster")))
    parts = [weight * values(subset) for subset, weight in weights.of[pattern].items()]
    estimate = estimate_mean(np.sum(parts, axis=0), clusters)
    # marginal contributions by order: how far a sample of orders may be off
    means = {subset: values(subset).mean() for subset in weights.of[pattern]}
    marginals = [
        means[frozenset(order[: order.index(pattern) + 1])]
        - means[frozenset(order[: order.index(pattern)])]
        for order in weights.orders
    ]
    total = float((values(frozenset(weights.of)) - values(NOTHING)).mean())
    return {
        "outcome": outcome.name,
        "pattern": pattern,
        "share": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "of total, %": 100 * estimate.value / total if total else np.nan,
        "total": total,
        "orders": len(weights.orders),
        "error of orders": compute_order_error(np.array(marginals), len(weights.of)),
        "pairs": estimate.n,
        "routes": estimate.routes,
    }
