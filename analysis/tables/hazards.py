"""Hazards by kind: who was hurt, what was not run, and how late an ego alone could see them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.hazards import HAZARDS, REVEALS
from analysis.statistics.intervals import NO_ESTIMATE, Estimate
from analysis.surrogates import GOAL, GOAL_TIME
from analysis.tables.table import Measure, Table, cells, mean_of, rate_of
from harness.records.metrics import NOT_RUN

MIDDLE, LOWEST, HIGHEST = 50.0, 5.0, 95.0
"""Percentiles: the median, and the range that 90 % lie in."""
SHARES: dict[str, Measure] = {
    "violations %": rate_of("violated"),
    GOAL_TIME: mean_of(GOAL),
    "not run %": rate_of("not_run"),
    **{f"{cause.replace('_', ' ')} %": rate_of(cause) for cause in NOT_RUN},
}
"""Of the drives with a hazard of a kind: those with a violation of any kind, the time to the goal
of those that reached it, and the hazards that were not run, by cause."""


def hazard_tables(attempts: pd.DataFrame, arm: tuple[str, ...]) -> Iterator[Table]:
    """Yield drives by arm and kind of hazard, and reveal times by kind, if any were planned."""
    frame = rows_of(attempts, arm)
    if frame.empty:
        return
    yield Table(
        name="hazards",
        title="Drives by kind of hazard: violations, time, and hazards that were not run",
        by=(*arm, "kind"),
        cells=cells(frame, (*arm, "kind"), SHARES),
        arm=len(arm),
    )
    met = frame[frame["reveal"].notna()]
    if len(met):
        yield reveals(met)


def rows_of(attempts: pd.DataFrame, arm: tuple[str, ...]) -> pd.DataFrame:
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


def reveals(met: pd.DataFrame) -> Table:
    """Return the reveal times of hazards by kind, over attempts of all arms."""
    known = met.assign(difference=met["reveal_measured"] - met["reveal"])
    measures = {
        "by geometry, s": range_of("reveal"),
        "measured, s": range_of("reveal_measured"),
        "measured minus geometry, s": range_of("difference"),
    }
    title = "Reveal times of hazards by kind: median and 90 % range over attempts of all arms"
    by = ("kind",)
    return Table(name="reveals", title=title, by=by, cells=cells(known, by, measures))


def range_of(column: str) -> Measure:
    """Return the median of a column and the range of 90 % of it, where it is known."""

    def measure(frame: pd.DataFrame) -> Estimate:
        known = frame[frame[column].notna()]
        if known.empty:
            return NO_ESTIMATE
        low, middle, high = np.percentile(known[column], (LOWEST, MIDDLE, HIGHEST)).tolist()
        return Estimate(
            value=middle,
            low=low,
            high=high,
            n=len(known),
            routes=known["cluster"].nunique(),
            method="percentiles",
        )

    return measure
