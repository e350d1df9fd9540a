"""Hazards by kind: who was hurt, what was not run, and how late an ego alone could see them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.hazards import HAZARDS, REVEALS
from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate
from analysis.surrogates import GOAL, GOAL_TIME
from analysis.tables.table import (
    EstimatesTable,
    Measure,
    estimate_cells,
    make_mean_measure,
    make_rate_measure,
)
from harness.records.metrics import NOT_RUN

MIDDLE, LOWEST, HIGHEST = 50.0, 5.0, 95.0
"""Percentiles: the median, and the range that 90 % lie in."""
SHARES: dict[str, Measure] = {
    "violations %": make_rate_measure("violated"),
    GOAL_TIME: make_mean_measure(GOAL),
    "not run %": make_rate_measure("not_run"),
    **{f"{cause.replace('_', ' ')} %": make_rate_measure(cause) for cause in NOT_RUN},
}
"""Of the drives with a hazard of a kind: those with a violation of any kind, the time to the goal
of those that reached it, and the hazards that were not run, by cause."""


def build_hazard_tables(attempts: pd.DataFrame, arm: tuple[str, ...]) -> Iterator[EstimatesTable]:
    """Yield drives by arm and kind of hazard, and reveal times by kind, if any were planned."""
    frame = expand_hazard_rows(attempts, arm)
    if frame.empty:
        return
    yield EstimatesTable(
        name="hazards",
        title="Drives by kind of hazard: violations, time, and hazards that were not run",
        by=(*arm, "kind"),
        cells=estimate_cells(frame, (*arm, "kind"), SHARES),
        arm=len(arm),
    )
    met = frame[frame["reveal"].notna()]
    if len(met):
        yield build_reveals_table(met)


def expand_hazard_rows(attempts: pd.DataFrame, arm: tuple[str, ...]) -> pd.DataFrame:
    """Return a row for each hazard of each attempt."""
    known = attempts[["cluster", "violated", GOAL, *arm]]
    rows = [
        {**attempt, **hazard}
        for attempt, hazards in zip(known.to_dict("records"), attempts[HAZARDS], strict=True)
        for hazard in json.loads(hazards)
    ]
    if not rows:
        return pd.DataFrame()
    frame = pd.DataFrame(rows).astype(dict.fromkeys(REVEALS, float))
    causes = {cause: frame["cause"] == cause for cause in NOT_RUN}
    return frame.assign(not_run=frame["cause"] != "", **causes)


def build_reveals_table(met: pd.DataFrame) -> EstimatesTable:
    """Return the reveal times of hazards by kind, over attempts of all arms."""
    known = met.assign(difference=met["reveal_measured"] - met["reveal"])
    measures = {
        "by geometry, s": make_range_measure("reveal"),
        "measured, s": make_range_measure("reveal_measured"),
        "measured minus geometry, s": make_range_measure("difference"),
    }
    title = "Reveal times of hazards by kind: median and 90 % range over attempts of all arms"
    by = ("kind",)
    return EstimatesTable(
        name="reveals", title=title, by=by, cells=estimate_cells(known, by, measures)
    )


def make_range_measure(column: str) -> Measure:
    """Return the median of a column and the range of 90 % of it, where it is known."""

    def measure(frame: pd.DataFrame) -> IntervalEstimate:
        known = frame[frame[column].notna()]
        if known.empty:
            return NO_ESTIMATE
        low, middle, high = np.percentile(known[column], (LOWEST, MIDDLE, HIGHEST)).tolist()
        return IntervalEstimate(
            value=middle,
            low=low,
            high=high,
            n=len(known),
            routes=known["cluster"].nunique(),
            method="percentiles",
        )

    return measure
