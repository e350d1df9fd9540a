"""Reveal times of hazards: by geometry, when they were placed, and in the drive."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.hazards import ENCOUNTERS
from analysis.statistics.intervals import NO_ESTIMATE, Estimate
from analysis.tables.table import Measure, Table, cells

MIDDLE, LOWEST, HIGHEST = 50.0, 5.0, 95.0
"""Percentiles: the median, and the range that 90 % lie in."""
NAME = "reveals"


def reveals(attempts: pd.DataFrame) -> Iterator[Table]:
    """Yield the table of reveal times by kind, if any mover was placed."""
    rows = [
        {"cluster": cluster, **encounter}
        for cluster, text in zip(attempts["cluster"], attempts[ENCOUNTERS], strict=True)
        for encounter in json.loads(text)
    ]
    if not rows:
        return
    frame = pd.DataFrame(rows).astype({"reveal": float, "reveal_measured": float})
    frame["difference"] = frame["reveal_measured"] - frame["reveal"]
    measures = {
        "by geometry, s": range_of("reveal"),
        "measured, s": range_of("reveal_measured"),
        "measured minus geometry, s": range_of("difference"),
    }
    title = "Reveal times of hazards by kind: median and 90 % range over attempts of all arms"
    by = ("kind",)
    yield Table(name=NAME, title=title, by=by, cells=cells(frame, by, measures))


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
