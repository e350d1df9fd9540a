"""Paired effects of interventions: differences, route-clustered intervals, one family of tests.

An intervention changes the drive from its first changed box on: the effects are total effects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import pandas as pd

from analysis.arms import arms_in, short_name
from analysis.collection import Collection
from analysis.effects.arms import (
    BRAKING,
    GOAL_TIME,
    INJECT,
    SPEED,
    STOPS,
    InterventionArm,
    bases,
    pairs_of,
)
from analysis.statistics.intervals import mean
from analysis.statistics.significance import Hypothesis, adjusted, attainable, sign_flip
from analysis.surrogates import MEASURES
from analysis.tables.table import codes_of
from harness.records.arms import Arm, varying
from harness.vocabulary import Floats

ALPHA = 0.05
SHARED_SPEED = "mean speed over the stretch that both drove, m/s"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A number of each attempt that interventions may change."""

    name: str
    column: str
    scale: float = 1.0
    tested: bool = True
    _: KW_ONLY
    digits: int = 1


OUTCOMES = (
    Outcome("violations, %", "violated", 100.0),
    Outcome("collisions, %", "collided", 100.0),
    Outcome("driving score", "driving_score"),
    Outcome(SHARED_SPEED, SPEED, tested=False, digits=2),
    Outcome("time to goal, s", GOAL_TIME, tested=False),
    Outcome(STOPS, MEASURES[STOPS], tested=False, digits=2),
    Outcome(BRAKING, MEASURES[BRAKING], tested=False, digits=2),
)
"""The first three are tested; the others show what an effect costs. A time to the goal is compared
where both drives of a pair reach it, a speed over the stretch that both drove."""
TESTED = tuple(outcome for outcome in OUTCOMES if outcome.tested)


@dataclass(frozen=True, slots=True, eq=False)
class PairedEffect:
    """One row, and the test that the family counts."""

    row: dict[str, object]
    hypothesis: Hypothesis | None


def compared_with(arm: InterventionArm, arms: Iterable[InterventionArm]) -> Arm:
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


def effects_of(
    collection: Collection, attempts: pd.DataFrame, arms: Sequence[InterventionArm]
) -> list[PairedEffect]:
    """Return the effect of each arm with an intervention on each outcome."""
    there = set(arms_in(attempts))
    factors = [name for name in varying(collection.arms) if name != "intervention"]
    effects: list[PairedEffect] = []
    for base, members in bases(list(arms)):
        for arm in members:
            other = compared_with(arm, members)
            if other not in there:
                continue
            names = {
                "arm": short_name(base, factors),
                "intervention": arm.name,
                "effect of": arm.effect_of,
                "compared with": other["intervention"],
                "truth": arm.truth_filter,
                "changes a step": arm.changes,
                "unchanged attempts": arm.unchanged,
            }
            pairs = pairs_of(attempts, other, arm.arm)
            effects += [paired_effect(pairs, outcome, names) for outcome in OUTCOMES]
    return [effect for effect in effects if effect.row["pairs"]]


def paired_effect(
    pairs: pd.DataFrame, outcome: Outcome, names: dict[str, object] | None = None
) -> PairedEffect:
    """Return one outcome's difference, its interval and its test."""
    a, b = (pairs[f"{outcome.column}_{side}"].to_numpy(np.float64) for side in "ab")
    known = np.isfinite(a) & np.isfinite(b)
    a, b, clusters = a[known] * outcome.scale, b[known] * outcome.scale, codes_of(pairs["cluster"])
    return effect_of(a, b, clusters=clusters[known], outcome=outcome, names=names or {})


def effect_of(
    a: Floats, b: Floats, *, clusters: Floats, outcome: Outcome, names: dict[str, object]
) -> PairedEffect:
    """Return the difference of paired values, b less a."""
    estimate = mean(b - a, clusters)
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
    _, members = np.unique(clusters, return_inverse=True)
    sums = np.bincount(members, b - a).astype(np.float64)
    test = sign_flip(sums)
    row |= {"routes that differ": test.routes, "p": test.p}
    return PairedEffect(row, Hypothesis(test.p, attainable(sums)))


def in_one_family(effects: Sequence[PairedEffect]) -> pd.DataFrame:
    """Return all rows; `p family` is each test's level at which all tests together hold 5 %.

    By `significance.adjusted`: sequential rejection with the p-values that sign flips can attain.
    """
    table = pd.DataFrame([effect.row for effect in effects])
    tests = [(n, one.hypothesis) for n, one in enumerate(effects) if one.hypothesis is not None]
    levels = adjusted([[test] for _, test in tests])
    table["p family"] = np.nan
    for (row, _), (level,) in zip(tests, levels, strict=True):
        table.loc[row, "p family"] = level
    return table
