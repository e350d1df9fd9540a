"""Dose and response: what injected errors do, by multiples of the measured rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from analysis.arms import list_arms
from analysis.statistics.intervals import IntervalEstimate, estimate_mean, estimate_share
from analysis.surrogates import REACHED, compute_speed_share, parse_reached_times
from analysis.tables.table import encode_names
from harness.records.arms import Arm
from harness.types.vocabulary import Floats
from studies.interventions.arms import INJECT, InterventionArm, match_attempts, sort_patterns
from studies.interventions.paired import (
    OUTCOMES,
    TESTED_OUTCOMES,
    PairedEffect,
    estimate_value_difference,
)

FEWEST = 2
"""Doses that a slope and a curve need."""
VIOLATIONS_OUTCOME = OUTCOMES[0]
SPEED_SHARE = "speed over the stretch that both drove, % of that at the lowest dose"
Doses: TypeAlias = dict[float, Arm]
"""The arms with one set of patterns injected, by dose."""


def group_arms_by_dose(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> dict[str, Doses]:
    """Return the arms of each set of injected patterns that has enough doses."""
    there = set(list_arms(attempts))
    doses: dict[str, Doses] = {}
    for arm in arms:
        if arm.kind == INJECT and arm.base == base and arm.arm in there:
            doses.setdefault(" ".join(sort_patterns(arm.patterns)), {})[arm.times] = arm.arm
    return {name: members for name, members in doses.items() if len(members) >= FEWEST}


def estimate_dose_slopes(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> list[PairedEffect]:
    """Return the change of each outcome from dose 0 to dose 1, by a line through all doses.

    The line is fitted to each route and seed, by least squares; only those driven at every dose.
    """
    return [
        effect
        for injected, members in group_arms_by_dose(attempts, base, arms).items()
        for effect in estimate_slopes_over_doses(attempts, members, injected)
    ]


def estimate_slopes_over_doses(
    attempts: pd.DataFrame, members: Doses, injected: str
) -> list[PairedEffect]:
    """Return the slopes over some doses."""
    times = sorted(members)
    # attempts that have all doses
    wide = match_attempts(attempts, members, [outcome.column for outcome in TESTED_OUTCOMES]).rows
    clusters = encode_names(pd.Series(wide.index.get_level_values("cluster")))
    effects = []
    for outcome in TESTED_OUTCOMES:
        # (doses, pairs) outcomes; the slope of each pair is a value like a difference
        values = [wide[(outcome.column, dose)].to_numpy(np.float64) for dose in times]
        slope = fit_slopes(np.array(times), np.array(values)) * outcome.scale
        names: dict[str, object] = {
            "injected": injected,
            "doses": ", ".join(f"{dose:g}" for dose in times),
        }
        effect = estimate_value_difference(
            np.zeros(len(slope)), slope, clusters=clusters, outcome=outcome, names=names
        )
        row = {name: effect.row[name] for name in effect.row if name not in ("without", "with")}
        effects.append(replace(effect, row=row))
    return effects


def build_dose_curves(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> pd.DataFrame:
    """Return violations and speed at each dose, of the routes and seeds driven at every dose."""
    rows = [
        {"injected": injected, "outcome": outcome, "dose": dose, **make_estimate_columns(estimate)}
        for injected, members in group_arms_by_dose(attempts, base, arms).items()
        for outcome, dose, estimate in estimate_dose_levels(attempts, members)
    ]
    return pd.DataFrame(rows)


def estimate_dose_levels(
    attempts: pd.DataFrame, members: Doses
) -> list[tuple[str, float, IntervalEstimate]]:
    """Return the share of violations and the relative speed at each dose, in per cent."""
    times = sorted(members)
    wide = match_attempts(attempts, members, [VIOLATIONS_OUTCOME.column, REACHED]).rows
    clusters = encode_names(pd.Series(wide.index.get_level_values("cluster")))
    reached = {
        dose: [parse_reached_times(text) for text in wide[(REACHED, dose)]] for dose in times
    }
    levels = []
    for dose in times:
        violated = wide[(VIOLATIONS_OUTCOME.column, dose)].to_numpy(np.float64)
        # (pairs,) speed at a dose as a share of that at the smallest one
        both = zip(reached[dose], reached[times[0]], strict=True)
        shares = np.array([compute_speed_share(*drives) for drives in both], np.float64)
        known = np.isfinite(shares)
        levels += [
            (VIOLATIONS_OUTCOME.name, dose, convert_to_percent(estimate_share(violated, clusters))),
            (SPEED_SHARE, dose, convert_to_percent(estimate_mean(shares[known], clusters[known]))),
        ]
    return levels


def convert_to_percent(estimate: IntervalEstimate) -> IntervalEstimate:
    """Return a share in per cent."""
    value, low, high = (100 * part for part in (estimate.value, estimate.low, estimate.high))
    return replace(estimate, value=value, low=low, high=high)


def make_estimate_columns(estimate: IntervalEstimate) -> Mapping[str, object]:
    """Return an estimate as columns of a table."""
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {**ends, "attempts": estimate.n, "routes": estimate.routes, "method": estimate.method}


def fit_slopes(times: Floats, values: Floats) -> Floats:
    """Return the least-squares slope of each column of (doses, attempts)."""
    away = times - times.mean()
    return np.asarray((away[:, None] * values).sum(axis=0) / (away**2).sum())
