"""Surrogate safety measures by arm, and what a driving score and a collision rate cost in time."""

from __future__ import annotations

import pandas as pd

from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate
from analysis.surrogates import SURROGATE_MEASURES, TIME_COSTS
from analysis.tables.table import (
    EstimatesTable,
    Measure,
    estimate_cells,
    make_mean_measure,
    make_rate_measure,
    make_ratio_measure,
)

SCORES: dict[str, Measure] = {
    "DS": make_mean_measure("driving_score"),
    "CR %": make_rate_measure("collided"),
}
COUNTED = (
    "near misses",
    "hard braking",
    "hard braking without reason",
    "stops",
    "stops without reason",
)
"""Of the measures, those that a longer drive has more of."""
KILOMETRES = "kilometres"
DIGITS = 2


def build_surrogate_tables(
    attempts: pd.DataFrame, arm: tuple[str, ...]
) -> tuple[EstimatesTable, EstimatesTable, EstimatesTable]:
    """Return the cost in time, the surrogate measures of drives, and their counts per kilometre."""
    costs = {name: make_mean_measure(column, scale) for name, (column, scale) in TIME_COSTS.items()}
    dangers: dict[str, Measure] = {
        name: make_mean_measure(column) for name, column in SURROGATE_MEASURES.items()
    }
    # a drive that ends early has less road to brake on
    driven = attempts["completion"] * attempts["route_length"] / 1000
    rates = {f"{name}/km": make_distance_rate(SURROGATE_MEASURES[name]) for name in COUNTED}
    names = " and ".join(arm)
    return (
        EstimatesTable(
            name="time_cost",
            title=f"Cost in time next to score and collisions, by {names}",
            by=arm,
            cells=estimate_cells(attempts, arm, SCORES | costs),
            digits=dict.fromkeys(("mean speed, m/s",), DIGITS),
            arm=len(arm),
        ),
        EstimatesTable(
            name="surrogates",
            title=f"Surrogate safety measures: means over drives, by {names}",
            by=arm,
            cells=estimate_cells(attempts, arm, dangers),
            digits=dict.fromkeys(dangers, DIGITS),
            arm=len(arm),
        ),
        EstimatesTable(
            name="surrogate_rates",
            title=f"Surrogate safety measures for each kilometre driven, by {names}",
            by=arm,
            cells=estimate_cells(attempts.assign(**{KILOMETRES: driven}), arm, rates),
            digits=dict.fromkeys(rates, DIGITS),
            arm=len(arm),
        ),
    )


def make_distance_rate(column: str) -> Measure:
    """Return a sum of events over the sum of kilometres, of the attempts that know the events.

    Args:
        column: of the attempts, with the number of events.
    """
    ratio = make_ratio_measure(column, KILOMETRES)

    def measure(frame: pd.DataFrame) -> IntervalEstimate:
        known = frame[frame[column].notna()]
        return ratio(known) if known[KILOMETRES].sum() > 0 else NO_ESTIMATE

    return measure
