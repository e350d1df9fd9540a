"""All tables of some campaigns, as `tables` and `report` write them."""

from __future__ import annotations

from collections.abc import Callable

from analysis.collection import Collection
from analysis.tables.campaigns import campaigns_table
from analysis.tables.curves import curve_tables
from analysis.tables.from_boxes import tables_of_boxes
from analysis.tables.from_frames import tables_of_frames
from analysis.tables.from_results import tables_of_results
from analysis.tables.ground_truth import named_by_truth
from analysis.tables.precision import precision_tables, read_detections
from analysis.tables.table import Table


def tables_of(
    collection: Collection, results_only: bool, stage: Callable[[str], None] = lambda _: None
) -> list[Table]:
    """Return all tables; `stage` is called with the name of each stage."""
    stage("tables")
    tables = tables_of_results(collection)
    tables += [campaigns_table(collection)] if collection.labels else []
    if not results_only and len(collection.attempts):
        stage("frames and messages")
        tables += tables_of_frames(collection)
        if not collection.packed:
            stage("detections")
            tables += precision_tables(collection, read_detections(collection))
            tables += tables_of_boxes(collection)
    return named_by_truth([*tables, *curve_tables(collection, tables)], collection)
