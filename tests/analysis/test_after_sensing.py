"""Errors by hits and by hits left after sensing, counted again row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.collection import collect_campaigns
from analysis.tables.from_boxes import (
    BY_HITS,
    BY_HITS_AFTER,
    ON_TRUTH,
    build_box_tables,
    get_truth_filter,
)
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import AFTER_SENSING
from tests.analysis.little import write_little

ARMS = (("late", "none"), ("late", "fog"))


def with_hits_after(file: Path) -> None:
    """Add made-up columns of hits after, the same for the ego and for anyone."""
    table = pq.read_table(file)
    left = np.random.default_rng(len(table)).integers(0, 10, len(table))
    for field in AFTER_SENSING["boxes"]:
        table = table.append_column(field, pa.array(left, pa.int32()))
    pq.write_table(table, file, write_page_checksum=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_little(tmp_path_factory.mktemp("after") / "little", ARMS, ("0", "1"), (1,))
    for key, place in CampaignRecords(folder).find_attempts().items():
        if key.arm.condition == "fog":
            with_hits_after(place / "boxes.parquet")
    return folder


@pytest.mark.thorough
def test_errors_are_those_on_what_is_left(folder: Path) -> None:
    (table,) = build_box_tables(collect_campaigns([folder]))
    rows = {names[-1]: row for names, row in table.list_rows()}
    assert all("fog" in names or "late" in names for names, _ in table.list_rows())
    assert set(rows) == {BY_HITS, BY_HITS_AFTER}
    counts = {name: dict.fromkeys((*ON_TRUTH, "boxes"), 0) for name in rows}
    for key, place in CampaignRecords(folder).find_attempts().items():
        if key.arm.condition == "fog":
            for box in read_stored_table(place / "boxes.parquet", "boxes").to_dict("records"):
                if box["source"] != "truth" or not box["counted"]:
                    continue
                for name in rows if box["hits_after_anyone"] >= 5 else [BY_HITS]:
                    counts[name]["boxes"] += 1
                    if box["pattern"] in ON_TRUTH:
                        counts[name][box["pattern"]] += box["pattern_count"]
    assert 0 < counts[BY_HITS_AFTER]["boxes"] < counts[BY_HITS]["boxes"]
    for name, row in rows.items():
        for pattern in ON_TRUTH:
            share = 100 * counts[name][pattern] / counts[name]["boxes"]
            assert row[pattern].value == pytest.approx(share)


def test_without_sensed_sweeps_there_is_no_such_table(tmp_path: Path) -> None:
    folder = write_little(tmp_path / "little", ARMS, ("0",), (1,))
    assert build_box_tables(collect_campaigns([folder])) == []


def test_the_filter_is_that_of_the_campaign() -> None:
    assert get_truth_filter({"truth_filter": "ego", "least_hits": 3}) == ("hits_after_ego", 3)
    assert get_truth_filter({"truth_filter": "reference"}) == ("hits_after_anyone", 5)
    assert get_truth_filter(["broken"]) == ("hits_after_anyone", 5)
