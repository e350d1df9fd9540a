"""Surrogate safety measures by arm, and what a driving score and a collision rate cost in time."""

from __future__ import annotations

import pandas as pd

from analysis.surrogates import SURROGATE_MEASURES, TIME_COSTS
from analysis.tables.table import (
    EstimatesTable,
    Measure,
    estimate_cells,
    make_mean_measure,
    make_rate_measure,
)

SCORES: dict[str, Measure] = {
    "DS": make_mean_measure("driving_score"),
    "CR %": make_rate_measure("collided"),
}
DIGITS = 2


def build_surrogate_tables(
    attempts: pd.DataFrame, arm: tuple[str, ...]
) -> tuple[EstimatesTable, EstimatesTable]:
    """Return the cost in time next to score and collisions, and the surrogate measures."""
    costs = {name: make_mean_measure(column, scale) for name, (column, scale) in TIME_COSTS.items()}
    dangers: dict[str, Measure] = {
        name: make_mean_measure(column) for name, column in SURROGATE_MEASURES.items()
    }
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
    )
