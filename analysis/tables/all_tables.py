"""All tables of some campaigns, as `tables` and `report` write them."""

from __future__ import annotations

from collections.abc import Callable

from analysis.collection import Collection
from analysis.tables.from_frames import tables_of_frames
from analysis.tables.from_results import tables_of_results
from analysis.tables.precision import precision_tables, read_detections
from analysis.tables.table import Table


def tables_of(
    found: Collection, results_only: bool, stage: Callable[[str], None] = lambda _: None
) -> list[Table]:
    """Return all tables; `stage` is told what is being read."""
    stage("tables")
    tables = tables_of_results(found)
    if not results_only and len(found.attempts):
        stage("frames and messages")
        tables += tables_of_frames(found)
        stage("detections")
        tables += precision_tables(found, read_detections(found))
    return tables
