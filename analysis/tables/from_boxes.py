"""Errors against ground truth that is left to see: where weather or a sensitivity takes points.

Ground truth is what the undisturbed sweeps hit. Where sweeps were sensed, records hold how many of
these points were left, so that what no beam reached need not count as missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_columns
from analysis.collection import CampaignCollection, get_campaign_settings
from analysis.tables.table import (
    EstimatesTable,
    estimate_cells,
    make_mean_measure,
    make_ratio_measure,
)
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords, convert_to_dataframe
from harness.records.schema import AFTER_SENSING

ON_TRUTH = ("LCME", "LCLE", "CCME", "CCLE")
"""The patterns that are counted on ground-truth boxes."""
AFTER_EGO, AFTER_ANYONE = (field.name for field in AFTER_SENSING["boxes"])
BY_HITS, BY_HITS_AFTER = "by hits", "by hits after"
COLUMNS = ["source", "counted", "pattern", "pattern_count"]
FEWEST = 5
"""LiDAR returns, where a campaign's settings name no other number."""


def build_box_tables(collection: CampaignCollection) -> list[EstimatesTable]:
    """Return errors by hits and by hits after sensing; nothing where no sweep was sensed."""
    rows = [
        {"row": row, **sums}
        for row, campaign, key in collection.iterate_attempts()
        for sums in iterate_box_sums(campaign, key)
    ]
    if not rows:
        return []
    # sums of attempts, next to the arm and route of each
    arm = collection.factors
    attempts = collection.attempts.reset_index(drop=True)[[*arm, "cluster"]]
    joined = attempts.rename_axis("row").reset_index().merge(pd.DataFrame(rows), on="row")
    by = (*arm, "ground truth")
    measures = {name: make_ratio_measure(name, "boxes", 100) for name in ON_TRUTH}
    return [
        EstimatesTable(
            name="after_sensing",
            title="Errors per 100 ground-truth boxes, by hits and by hits left after sensing",
            by=by,
            cells=estimate_cells(
                joined, by, measures | {"ground-truth boxes": make_mean_measure("boxes")}
            ),
            arm=len(arm),
        )
    ]


def iterate_box_sums(campaign: CampaignRecords, key: AttemptKey) -> Iterator[dict[str, object]]:
    """Yield an attempt's errors and ground-truth boxes: by hits, and of those by hits after."""
    table = read_checked_columns(campaign, "boxes", key)
    if AFTER_ANYONE not in table.column_names:
        return
    boxes = convert_to_dataframe(table.select([*COLUMNS, AFTER_EGO, AFTER_ANYONE]))
    boxes = boxes[(boxes["source"].astype(str) == "truth") & boxes["counted"]]
    column, least = get_truth_filter(get_campaign_settings(campaign).get("patterns"))
    left = boxes[boxes[column] >= least]
    for name, counted in ((BY_HITS, boxes), (BY_HITS_AFTER, left)):
        shown = counted["pattern"].astype(str)
        times = counted["pattern_count"].to_numpy(np.float64)
        errors = {pattern: float(times[shown == pattern].sum()) for pattern in ON_TRUTH}
        yield {"ground truth": name, "boxes": float(len(counted)), **errors}


def get_truth_filter(patterns: Any) -> tuple[str, int]:
    """Return the column of hits after by which a campaign's ground truth is left, and the least."""
    settings = patterns if isinstance(patterns, dict) else {}
    least = settings.get("least_hits", FEWEST)
    column = AFTER_EGO if settings.get("truth_filter") == "ego" else AFTER_ANYONE
    return column, least if isinstance(least, int) else FEWEST
