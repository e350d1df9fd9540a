"""Errors against ground truth that is left to see: where weather or a sensitivity takes points.

Ground truth is what the undisturbed sweeps hit. Where sweeps were sensed, records hold how many of
these points were left, so that what no beam reached need not count as missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.attempt import checked_columns
from analysis.collection import Collection, settings_of
from analysis.tables.table import Table, cells, mean_of, ratio_of
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign, frame_of
from harness.records.schema import AFTER_SENSING

ON_TRUTH = ("LCME", "LCLE", "CCME", "CCLE")
"""The patterns that are counted on ground-truth boxes."""
AFTER_EGO, AFTER_ANYONE = (field.name for field in AFTER_SENSING["boxes"])
BY_HITS, BY_HITS_AFTER = "by hits", "by hits after"
COLUMNS = ["source", "counted", "pattern", "pattern_count"]
FEWEST = 5
"""LiDAR returns, where a campaign's settings name no other number."""


def tables_of_boxes(collection: Collection) -> list[Table]:
    """Return errors by hits and by hits after sensing; nothing where no sweep was sensed."""
    rows = [
        {"row": row, **sums}
        for row, campaign, key in collection.attempts_in_order()
        for sums in sums_of(campaign, key)
    ]
    if not rows:
        return []
    arm = collection.factors
    attempts = collection.attempts.reset_index(drop=True)[[*arm, "cluster"]]
    joined = attempts.rename_axis("row").reset_index().merge(pd.DataFrame(rows), on="row")
    by = (*arm, "ground truth")
    measures = {name: ratio_of(name, "boxes", 100) for name in ON_TRUTH}
    return [
        Table(
            name="after_sensing",
            title="Errors per 100 ground-truth boxes, by hits and by hits left after sensing",
            by=by,
            cells=cells(joined, by, measures | {"ground-truth boxes": mean_of("boxes")}),
            arm=len(arm),
        )
    ]


def sums_of(campaign: Campaign, key: AttemptKey) -> Iterator[dict[str, object]]:
    """Yield an attempt's errors and ground-truth boxes: by hits, and of those by hits after."""
    table = checked_columns(campaign, "boxes", key)
    if AFTER_ANYONE not in table.column_names:
        return
    boxes = frame_of(table.select([*COLUMNS, AFTER_EGO, AFTER_ANYONE]))
    boxes = boxes[(boxes["source"].astype(str) == "truth") & boxes["counted"]]
    column, least = filter_of(settings_of(campaign).get("patterns"))
    left = boxes[boxes[column] >= least]
    for name, counted in ((BY_HITS, boxes), (BY_HITS_AFTER, left)):
        shown = counted["pattern"].astype(str)
        times = counted["pattern_count"].to_numpy(np.float64)
        errors = {pattern: float(times[shown == pattern].sum()) for pattern in ON_TRUTH}
        yield {"ground truth": name, "boxes": float(len(counted)), **errors}


def filter_of(patterns: Any) -> tuple[str, int]:
    """Return the column of hits after by which a campaign's ground truth is left, and the least."""
    settings = patterns if isinstance(patterns, dict) else {}
    least = settings.get("least_hits", FEWEST)
    column = AFTER_EGO if settings.get("truth_filter") == "ego" else AFTER_ANYONE
    return column, least if isinstance(least, int) else FEWEST
