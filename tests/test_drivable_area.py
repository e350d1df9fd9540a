"""The drivable area as a file: written and read again, and refused where it is none."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from harness.common.drivable_area import (
    DRIVABLE_AREA,
    DrivableArea,
    read_drivable_area,
    write_drivable_area,
)
from harness.common.errors import UserError

GRIDS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=12))
SIXTEENTHS = st.integers(-144, 144).map(lambda number: number / 16)
"""Metres that sums leave exact, edges of cells among them."""
GOOD: dict[str, Any] = {"cell": 0.5, "corner": [1.0, -2.0], "columns": 4, "rows": [[0, 2], []]}


@given(grid=GRIDS, x=st.floats(-500, 500), y=st.floats(-500, 500))
def test_an_area_is_read_as_it_was_written(grid: np.ndarray, x: float, y: float) -> None:
    area = DrivableArea(cell=0.25, corner=(x, y), drivable=grid)
    with tempfile.TemporaryDirectory() as folder:
        write_drivable_area(area, Path(folder))
        again = read_drivable_area(Path(folder))
    assert again is not None
    assert (again.cell, again.corner) == (area.cell, area.corner)
    assert np.array_equal(again.drivable, area.drivable)


@given(
    grid=GRIDS,
    places=st.lists(st.tuples(SIXTEENTHS, SIXTEENTHS), max_size=20),
)
def test_a_place_is_on_the_road_if_its_cell_is(
    grid: np.ndarray, places: list[tuple[float, float]]
) -> None:
    """Cell by cell: the one whose bounds hold the place, none beyond the grid."""
    area = DrivableArea(cell=0.5, corner=(-1.0, -2.0), drivable=grid)
    on_road = area.contains_points(np.array(places, np.float64).reshape(-1, 2))
    for (x, y), on in zip(places, on_road.tolist(), strict=True):
        inside = [
            bool(grid[row, column])
            for row in range(grid.shape[0])
            for column in range(grid.shape[1])
            if -2.0 + 0.5 * row <= y < -1.5 + 0.5 * row
            and -1.0 + 0.5 * column <= x < -0.5 + 0.5 * column
        ]
        assert on == (inside == [True])


def test_a_recording_without_an_area_has_none(tmp_path: Path) -> None:
    assert read_drivable_area(tmp_path) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"cell": 0},
        {"corner": [0]},
        {"columns": 10**9},
        {"columns": -4},
        {"rows": []},
        {"rows": [[0, 2, 1, 3]]},
        {"rows": [[0, 5]]},
        {"rows": [[0]]},
        {"rows": [["a", "b"]]},
        {"rows": 3},
        {"rows": [[0.5, 2.5]]},
    ],
    ids=str,
)
def test_what_is_no_area_is_one_line(tmp_path: Path, changed: dict[str, Any]) -> None:
    (tmp_path / DRIVABLE_AREA).write_text(json.dumps({**GOOD, **changed}))
    with pytest.raises(UserError, match=rf"{DRIVABLE_AREA}: not a drivable area"):
        read_drivable_area(tmp_path)


def test_the_good_one_is_read(tmp_path: Path) -> None:
    (tmp_path / DRIVABLE_AREA).write_text(json.dumps(GOOD))
    area = read_drivable_area(tmp_path)
    assert area is not None
    assert area.drivable.tolist() == [[True, True, False, False], [False] * 4]


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(json.dumps(GOOD))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / DRIVABLE_AREA).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="a link"):
        read_drivable_area(tmp_path / "in")
