"""Sweeps come back as they were, to a few millimetres."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.common.errors import UserError
from harness.records.points import REACH, STEP, pack_points, read_point_sweeps, unpack_points
from harness.records.reading import read_stored_table
from harness.records.schema import ALL_TABLES
from harness.records.writing import get_storage_options
from harness.types.vocabulary import Singles

numbers = st.floats(-REACH, REACH, width=32)


@given(arrays(np.float32, st.tuples(st.integers(0, 40), st.just(4)), elements=numbers))
def test_there_and_back(points: Singles) -> None:
    points[:, 3] = np.abs(points[:, 3]) / np.float32(REACH)
    back = unpack_points(pack_points(points))
    assert back.shape == points.shape
    assert back.dtype == np.float32
    assert (np.abs(back - points) <= STEP * 0.51).all()


def test_what_lies_too_far_is_left_out() -> None:
    points = np.array([[1.0, 2.0, 3.0, 0.5], [300.0, 0.0, 0.0, 0.5]], np.float32)
    assert unpack_points(pack_points(points)) == pytest.approx(points[:1], abs=0.004)


def test_bytes_that_are_no_sweep_are_refused() -> None:
    with pytest.raises(UserError, match="7 bytes are no sweep"):
        unpack_points(b"1234567")


def test_without_sweeps_it_is_said_how_to_keep_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"record\.points=true keeps them"):
        read_point_sweeps(tmp_path)


@pytest.mark.parametrize("batch", [1, 1024])
def test_long_drives_in_crowds_are_read(tmp_path: Path, batch: int) -> None:
    """270 MB of sweeps, in pages of a sweep as they are written now and in one page as before."""
    kept = bytes(1_000_000)
    columns = {"frame": range(270), "sender": ["ego"] * 270, "points": [kept] * 270}
    schema = ALL_TABLES["points"]
    table = pa.table({name: pa.array(columns[name], schema.field(name).type) for name in columns})
    options = get_storage_options("points", schema) | {"write_batch_size": batch}
    pq.write_table(table.cast(schema), tmp_path / "points.parquet", **options)
    sweeps = read_stored_table(tmp_path / "points.parquet", "points", tmp_path)
    assert len(sweeps) == 270


def test_a_page_holds_one_sweep() -> None:
    assert get_storage_options("points", ALL_TABLES["points"])["write_batch_size"] == 1
