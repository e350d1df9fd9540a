"""Paired effects of interventions: differences, route-clustered intervals, one family of tests.

An intervention changes the drive from its first changed box on: the effects are total effects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import pandas as pd

from analysis.arms import format_short_arm_name, list_arms
from analysis.collection import CampaignCollection
from analysis.statistics.intervals import estimate_mean
from analysis.statistics.significance import (
    HypothesisTest,
    adjust_p_values,
    list_attainable_p_values,
    run_sign_flip_test,
)
from analysis.surrogates import SURROGATE_MEASURES
from analysis.tables.table import encode_names
from harness.records.arms import Arm, list_varying_factors
from harness.types.vocabulary import Floats
from studies.interventions.arms import (
    BRAKING,
    GOAL_TIME,
    INJECT,
    SPEED,
    STOPS,
    InterventionArm,
    group_by_base_arm,
    pair_arms,
)

ALPHA = 0.05
SHARED_SPEED = "mean speed over the stretch that both drove, m/s"


@dataclass(frozen=True, slots=True)
class EffectOutcome:
    """A number of each attempt that interventions may change."""

    name: str
    column: str
    scale: float = 1.0
    tested: bool = True
    _: KW_ONLY
    digits: int = 1


OUTCOMES = (
    EffectOutcome("violations, %", "violated", 100.0),
    EffectOutcome("collisions, %", "collided", 100.0),
    EffectOutcome("driving score", "driving_score"),
    EffectOutcome(SHARED_SPEED, SPEED, tested=False, digits=2),
    EffectOutcome("time to goal, s", GOAL_TIME, tested=False),
    EffectOutcome(STOPS, SURROGATE_MEASURES[STOPS], tested=False, digits=2),
    EffectOutcome(BRAKING, SURROGATE_MEASURES[BRAKING], tested=False, digits=2),
)
"""The first three are tested; the others show what an effect costs. A time to the goal is compared
where both drives of a pair reach it, a speed over the stretch that both drove."""
TESTED_OUTCOMES = tuple(outcome for outcome in OUTCOMES if outcome.tested)


@dataclass(frozen=True, slots=True, eq=False)
class PairedEffect:
    """One row, and the test that the family counts.

    Attributes:
        row: what the table shows.
        hypothesis: the test; None where the outcome is not tested.
    """

    row: dict[str, object]
    hypothesis: HypothesisTest | None


def find_reference_arm(arm: InterventionArm, arms: Iterable[InterventionArm]) -> Arm:
    """Return what an arm is compared with: injections with perfect boxes, where they are driven."""
    same = [
        other
        for other in arms
        if arm.kind == other.kind == INJECT
        and other.base == arm.base
        and other.times == 0
        and other is not arm
    ]
    return same[0].arm if same else arm.base


def estimate_effects(
    collection: CampaignCollection, attempts: pd.DataFrame, arms: Sequence[InterventionArm]
) -> list[PairedEffect]:
    """Return the effect of each arm with an intervention on each outcome."""
    there = set(list_arms(attempts))
    factors = [name for name in list_varying_factors(collection.arms) if name != "intervention"]
    effects: list[PairedEffect] = []
    for base, members in group_by_base_arm(list(arms)):
        for arm in members:
            # the arm that differs in nothing but the intervention
            other = find_reference_arm(arm, members)
            if other not in there:
                continue
            names = {
                "arm": format_short_arm_name(base, factors),
                "intervention": arm.name,
                "effect of": arm.effect_of,
                "compared with": other["intervention"],
                "truth": arm.truth_filter,
                "changes a step": arm.changes,
                "unchanged attempts": arm.unchanged,
            }
            # pairs of equal route and seed
            pairs = pair_arms(attempts, other, arm.arm)
            effects += [estimate_paired_effect(pairs, outcome, names) for outcome in OUTCOMES]
    return [effect for effect in effects if effect.row["pairs"]]


def estimate_paired_effect(
    pairs: pd.DataFrame, outcome: EffectOutcome, names: dict[str, object] | None = None
) -> PairedEffect:
    """Return one outcome's difference, its interval and its test.

    Args:
        pairs: a row for each pair, columns with `_a` and `_b`.
        outcome: column, unit and whether it is tested.
        names: further columns of the row.
    """
    a, b = (pairs[f"{outcome.column}_{side}"].to_numpy(np.float64) for side in "ab")
    known = np.isfinite(a) & np.isfinite(b)
    a, b, clusters = (
        a[known] * outcome.scale,
        b[known] * outcome.scale,
        encode_names(pairs["cluster"]),
    )
    return estimate_value_difference(
        a, b, clusters=clusters[known], outcome=outcome, names=names or {}
    )


def estimate_value_difference(
    a: Floats, b: Floats, *, clusters: Floats, outcome: EffectOutcome, names: dict[str, object]
) -> PairedEffect:
    """Return the difference of paired values, b less a.

    Args:
        a: (pairs,) without the intervention.
        b: (pairs,) with it.
        clusters: (pairs,) numbers of the routes.
        outcome: its name, and whether it is tested.
        names: further columns of the row.
    """
    # the difference, with an interval over routes
    estimate = estimate_mean(b - a, clusters)
    row = {
        **names,
        "outcome": outcome.name,
        "without": float(a.mean()) if len(a) else np.nan,
        "with": float(b.mean()) if len(b) else np.nan,
        "difference": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "pairs": estimate.n,
        "routes": estimate.routes,
        "routes that differ": 0,
        "p": np.nan,
    }
    if not outcome.tested or not len(a):
        return PairedEffect(row, None)
    # the test: (routes,) sums, whose signs are flipped
    _, members = np.unique(clusters, return_inverse=True)
    sums = np.bincount(members, b - a).astype(np.float64)
    test = run_sign_flip_test(sums)
    row |= {"routes that differ": test.routes, "p": test.p}
    return PairedEffect(row, HypothesisTest(test.p, list_attainable_p_values(sums)))


def add_family_p_values(effects: Sequence[PairedEffect]) -> pd.DataFrame:
    """Return all rows; `p family` is each test's level at which all tests together hold 5 %.

    By `significance.adjust_p_values`: sequential rejection with the p-values that sign flips can
    attain.

    Args:
        effects: all rows of the family.

    Returns:
        A row for each effect.
    """
    table = pd.DataFrame([effect.row for effect in effects])
    tests = [(n, one.hypothesis) for n, one in enumerate(effects) if one.hypothesis is not None]
    levels = adjust_p_values([[test] for _, test in tests])
    table["p family"] = np.nan
    for (row, _), (level,) in zip(tests, levels, strict=True):
        table.loc[row, "p family"] = level
    return table
