"""Metrics in the records: their columns are read, and those of others are refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.attempt import build_result_row
from analysis.collection import RESERVED as OF_COLLECTIONS
from analysis.collection import make_empty_attempts
from analysis.tables.from_frames import sum_frames
from harness.common.errors import UserError
from harness.records.metrics import (
    OF_ATTEMPTS,
    OF_SUMS,
    RESERVED,
    find_metric_name_problem,
    make_metric_fields,
    parse_result_metrics,
)
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import FRAMES
from tests.analysis.little import write_little


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> CampaignRecords:
    folder = tmp_path_factory.mktemp("little") / "campaign"
    return CampaignRecords(write_little(folder, routes=("0",), seeds=(1,)))


def write(folder: Path, *more: pa.Field) -> Path:
    """Write an empty table of frames with more columns."""
    schema = FRAMES
    for field in more:
        schema = schema.append(field)
    pq.write_table(schema.empty_table(), folder / "frames.parquet", write_page_checksum=True)
    return folder / "frames.parquet"


def test_columns_of_metrics_are_read(tmp_path: Path) -> None:
    file = write(tmp_path, *make_metric_fields({"clearance": "m", "jerk": "m/s³"}))
    assert [*read_stored_table(file, "frames").columns] == [*FRAMES.names, "clearance", "jerk"]
    assert pq.read_schema(file).field("clearance").metadata[b"unit"] == b"m"


@pytest.mark.parametrize(
    "field",
    [
        pa.field("clearance", pa.float32(), nullable=False),
        pa.field("clearance", pa.float64()),
        pa.field("Clearance", pa.float64(), nullable=False),
        pa.field("speed", pa.float64(), nullable=False),
        pa.field("route", pa.float64(), nullable=False),
    ],
)
def test_other_columns_are_refused(field: pa.Field, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a table frames of schema"):
        read_stored_table(write(tmp_path, field), "frames")


def test_a_column_is_there_once(tmp_path: Path) -> None:
    twice = make_metric_fields({"clearance": "m"}) * 2
    with pytest.raises(UserError, match="not a table frames of schema"):
        read_stored_table(write(tmp_path, *twice), "frames")


def test_no_metric_can_have_the_name_of_a_column(campaign: CampaignRecords) -> None:
    key = next(iter(campaign.find_attempts()))
    row = build_result_row(key, campaign.read_result(key))
    assert {*row, *make_empty_attempts().columns, *OF_COLLECTIONS} <= OF_ATTEMPTS
    steps = campaign.read_attempt_tables("frames", [key])
    assert {*steps.columns} <= RESERVED
    assert set(sum_frames(campaign.read_attempt_table("frames", key))) <= RESERVED | OF_SUMS
    assert all(find_metric_name_problem(name) for name in RESERVED | OF_SUMS)


@pytest.mark.parametrize("name", ["", "Speed", "1st", "a-b", "x" * 41, "../a", "speed", "arm"])
def test_names_that_are_refused(name: str) -> None:
    assert find_metric_name_problem(name)


@pytest.mark.parametrize("name", sorted(OF_SUMS))
def test_older_records_may_use_the_names_of_sums(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, *make_metric_fields({name: "m"}))
    assert [*read_stored_table(file, "frames").columns] == [*FRAMES.names, name]
    assert list(parse_result_metrics(result_with({name: {"value": 1.5, "unit": "m"}}))) == [name]


def result_with(metrics: Any) -> dict[str, Any]:
    return {"crucible": {"metrics": metrics}}


def test_values_are_read_and_none_is_missing() -> None:
    record = {"a": {"value": 1.5, "unit": "m"}, "b": {"value": None, "unit": ""}}
    values = parse_result_metrics(result_with(record))
    assert (values["a"].value, values["a"].unit) == (1.5, "m")
    assert math.isnan(values["b"].value)
    assert {name: value.to_record() for name, value in values.items()} == record
    assert parse_result_metrics({"crucible": {}}) == {}


@pytest.mark.parametrize(
    "metrics",
    [
        [1],
        {"speed": {"value": 1.0, "unit": ""}},
        {"a": {"value": np.inf, "unit": ""}},
        {"a": {"value": "x", "unit": ""}},
    ],
)
def test_broken_values_are_refused(metrics: Any) -> None:
    with pytest.raises(ValueError, match=r"metric|convert"):
        parse_result_metrics(result_with(metrics))
