"""Surrogate safety measures by arm, and what a driving score and a collision rate cost in time."""

from __future__ import annotations

import pandas as pd

from analysis.surrogates import COSTS, MEASURES
from analysis.tables.table import Measure, Table, cells, mean_of, rate_of

SCORES: dict[str, Measure] = {"DS": mean_of("driving_score"), "CR %": rate_of("collided")}
DIGITS = 2


def surrogate_tables(attempts: pd.DataFrame, arm: tuple[str, ...]) -> tuple[Table, Table]:
    """Return the cost in time next to score and collisions, and the surrogate measures."""
    costs = {name: mean_of(column, scale) for name, (column, scale) in COSTS.items()}
    dangers: dict[str, Measure] = {name: mean_of(column) for name, column in MEASURES.items()}
    names = " and ".join(arm)
    return (
        Table(
            name="time_cost",
            title=f"Cost in time next to score and collisions, by {names}",
            by=arm,
            cells=cells(attempts, arm, SCORES | costs),
            digits=dict.fromkeys(("mean speed, m/s",), DIGITS),
            arm=len(arm),
        ),
        Table(
            name="surrogates",
            title=f"Surrogate safety measures: means over drives, by {names}",
            by=arm,
            cells=cells(attempts, arm, dangers),
            digits=dict.fromkeys(dangers, DIGITS),
            arm=len(arm),
        ),
    )
