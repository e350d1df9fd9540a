"""Dose and response: what injected errors do, by multiples of the measured rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.arms import arms_in, of_arms
from analysis.comparison import PAIR
from analysis.effects.arms import INJECT, InterventionArm
from analysis.effects.paired import TESTED, PairedEffect, effect_of
from analysis.tables.table import codes_of
from harness.records.arms import Arm
from harness.vocabulary import Floats

FEWEST = 2
"""Doses that a slope needs."""


def slopes_of(
    attempts: pd.DataFrame, base: Arm, arms: Sequence[InterventionArm]
) -> list[PairedEffect]:
    """Return the change of each outcome from dose 0 to dose 1, by a line through all doses.

    The line is fitted to each route and seed, by least squares; only those driven at every dose.
    """
    there = set(arms_in(attempts))
    doses: dict[frozenset[str], dict[float, Arm]] = {}
    for arm in arms:
        if arm.kind == INJECT and arm.base == base and arm.arm in there:
            patterns = doses.setdefault(arm.patterns, {})
            patterns[arm.times] = arm.arm
    effects = []
    for members in doses.values():
        if len(members) >= FEWEST:
            effects += slopes_over(attempts, members)
    return effects


def slopes_over(attempts: pd.DataFrame, members: dict[float, Arm]) -> list[PairedEffect]:
    """Return the slopes over some doses."""
    times = sorted(members)
    columns = [outcome.column for outcome in TESTED]
    tables = [
        attempts.loc[of_arms(attempts, [members[dose]]), [*PAIR, *columns]]
        .set_index(PAIR)
        .rename(columns={name: (name, dose) for name in columns})
        for dose in times
    ]
    wide = pd.concat(tables, axis=1, join="inner")
    clusters = codes_of(pd.Series(wide.index.get_level_values("cluster")))
    effects = []
    for outcome in TESTED:
        values = [wide[(outcome.column, dose)].to_numpy(np.float64) for dose in times]
        slope = slope_of(np.array(times), np.array(values)) * outcome.scale
        names: dict[str, object] = {"doses": ", ".join(f"{dose:g}" for dose in times)}
        effect = effect_of(
            np.zeros(len(slope)), slope, clusters=clusters, outcome=outcome, names=names
        )
        row = {name: effect.row[name] for name in effect.row if name not in ("without", "with")}
        effects.append(replace(effect, row=row))
    return effects


def slope_of(times: Floats, values: Floats) -> Floats:
    """Return the least-squares slope of each column of (doses, attempts)."""
    away = times - times.mean()
    return np.asarray((away[:, None] * values).sum(axis=0) / (away**2).sum())
