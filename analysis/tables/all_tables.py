"""All tables of some campaigns, as `tables` and `report` write them."""

from __future__ import annotations

from collections.abc import Callable

from analysis.collection import CampaignCollection
from analysis.tables.campaigns import build_campaigns_table
from analysis.tables.compensation import build_compensation_table
from analysis.tables.computing import build_computing_tables
from analysis.tables.curves import build_curve_tables
from analysis.tables.from_boxes import build_box_tables
from analysis.tables.from_frames import build_frame_tables
from analysis.tables.from_results import build_result_tables
from analysis.tables.ground_truth import add_ground_truth_titles
from analysis.tables.mean_speeds import add_mean_speeds
from analysis.tables.precision import build_precision_tables, read_detections
from analysis.tables.staleness import build_staleness_table
from analysis.tables.table import EstimatesTable


def build_all_tables(
    collection: CampaignCollection,
    results_only: bool,
    stage: Callable[[str], None] = lambda _: None,
) -> list[EstimatesTable]:
    """Return all tables; `stage` is called with the name of each stage.

    Args:
        collection: campaigns that were read.
        results_only: leave out tables that need more than `result.json`.
        stage: is called with the name of each stage, for progress.
    """
    stage("tables")
    tables = build_result_tables(collection)
    tables += [build_campaigns_table(collection)] if collection.labels else []
    if not results_only and len(collection.attempts):
        stage("frames and messages")
        tables += build_frame_tables(collection)
        if not collection.packed:
            stage("detections")
            tables += build_precision_tables(collection, read_detections(collection))
            tables += build_box_tables(collection)
            moved = build_compensation_table(collection)
            tables += [] if moved is None else [moved]
            tables += build_computing_tables(collection)
        tables.append(build_staleness_table(collection))
    tables = add_mean_speeds([*tables, *build_curve_tables(collection, tables)])
    return add_ground_truth_titles(tables, collection)
