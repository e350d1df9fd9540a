"""Sweeps come back as they were, to a few millimetres."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.common.errors import UserError
from harness.records.points import REACH, STEP, pack_points, read_point_sweeps, unpack_points
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
