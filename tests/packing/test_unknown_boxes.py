"""Drives of a system that does not say what it detects are packed, with nulls in place of zeros."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.collection import collect_campaigns
from harness.common.errors import UserError
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.reading import CampaignRecords
from harness.records.schema import DETECTED, FRAMES
from harness.records.writing import get_storage_options
from tests.analysis.little import write_little


def forget(file: Path, names: tuple[str, ...], rows: slice = slice(None)) -> None:
    """Make columns of a `frames.parquet` null, in all rows or in some."""
    frames = pd.read_parquet(file)
    columns, fields = [], []
    for field in FRAMES:
        values = frames[field.name].to_list()
        if field.name in names:
            values[rows] = [None] * len(values[rows])
        columns.append(pa.array(values, field.type))
        fields.append(field.with_nullable(field.nullable or field.name in names))
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=FRAMES.metadata))
    pq.write_table(table, file, **get_storage_options("frames", FRAMES))


@pytest.fixture
def driven(tmp_path: Path) -> Path:
    return write_little(tmp_path / "main", routes=("0", "1"), seeds=(1,), arms=(("late", "none"),))


def test_nulls_come_back_as_nulls(driven: Path, tmp_path: Path) -> None:
    for file in driven.glob("episodes/*/*/*/*/try1/frames.parquet"):
        forget(file, DETECTED)
    pack_campaigns([driven], tmp_path / "part.parquet")
    (unpacked,) = unpack_campaigns([tmp_path / "part.parquet"], tmp_path / "study")
    keys = CampaignRecords(unpacked).find_attempts()
    assert len(keys) == 2
    for key in keys:
        frames = CampaignRecords(unpacked).read_attempt_columns("frames", key)
        assert all(frames[name].null_count == len(frames) for name in DETECTED)
        known = [name for name in ("frame", "time", "station") if name not in DETECTED]
        assert not any(frames[name].null_count for name in known)
    assert len(collect_campaigns([unpacked], whole=True).attempts) == 2


def test_a_column_that_is_null_in_part_is_refused(driven: Path, tmp_path: Path) -> None:
    file = next(driven.glob("episodes/*/*/*/*/try1/frames.parquet"))
    forget(file, DETECTED[:1], slice(0, 3))
    with pytest.raises(UserError, match=DETECTED[0]):
        pack_campaigns([driven], tmp_path / "part.parquet")
    assert not (tmp_path / "part.parquet").exists()
