"""The recorded ground of a town: written and read again, hostile files, beams that meet it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.common.ground_fields import (
    GROUND_FILE,
    GroundField,
    read_ground_field,
    write_ground_field,
)
from harness.types.vocabulary import Pose
from studies.metamorphic.geometry.fields import find_ends_on_field

LIDAR = Pose(0.3, 0.2, 2.0)


def field_of(rows: int = 81, columns: int = 121) -> GroundField:
    """Return a slope that rises by 2 cm a metre along x, with a wall of 3 m at x = 20."""
    x = -30.0 + 0.5 * np.arange(columns)
    heights = np.tile(0.02 * x, (rows, 1))
    wall = np.tile(np.abs(x - 20.0) < 0.3, (rows, 1))
    return GroundField(
        x=-30.0,
        y=-20.0,
        cell=0.5,
        heights=heights,
        tops=np.where(wall, heights + 3.0, np.nan),
        labels=np.where(wall, 4, 1).astype(np.uint8),
    )


def rays_to(*places: tuple[float, float, float]) -> np.ndarray:
    ways = np.array(places) - [LIDAR.x, LIDAR.y, LIDAR.z]
    return np.asarray(ways / np.linalg.norm(ways, axis=1)[:, None])


def test_a_field_comes_back_from_its_file(tmp_path: Path) -> None:
    field = field_of()
    field.heights[3, 4:9] = np.nan
    write_ground_field(tmp_path, field)
    again = read_ground_field(tmp_path)
    assert again is not None
    assert (again.x, again.y, again.cell) == (-30.0, -20.0, 0.5)
    np.testing.assert_allclose(again.heights, field.heights, atol=2e-4)
    np.testing.assert_allclose(again.tops, field.tops, atol=2e-4)
    np.testing.assert_array_equal(again.labels, field.labels)
    first = (tmp_path / GROUND_FILE).read_bytes()
    write_ground_field(tmp_path, again)
    assert (tmp_path / GROUND_FILE).read_bytes() == first
    assert read_ground_field(tmp_path / "elsewhere") is None


def test_high_mountains_have_coarser_steps(tmp_path: Path) -> None:
    field = replace(field_of(), heights=np.linspace(-200.0, 900.0, 81 * 121).reshape(81, 121))
    write_ground_field(tmp_path, field)
    again = read_ground_field(tmp_path)
    assert again is not None
    np.testing.assert_allclose(again.heights, field.heights, atol=0.009)


@pytest.mark.parametrize("spoilt", ["text", "link", "shapes", "kinds", "missing", "flat"])
def test_files_that_are_no_ground_are_one_line(tmp_path: Path, spoilt: str) -> None:
    file, folder = tmp_path / GROUND_FILE, tmp_path / "else"
    folder.mkdir()
    arrays: dict[str, np.ndarray] = {
        "grid": np.array([0.0, 0.0, 0.5, 0.0, 0.001]),
        "rises": np.zeros((2, 4, 5), np.uint16),
        "labels": np.zeros((4, 5), np.uint8),
    }
    if spoilt == "text":
        file.write_text("no archive")
    elif spoilt == "link":
        write_ground_field(folder, field_of())
        file.symlink_to(folder / GROUND_FILE)
    else:
        changes: dict[str, dict[str, np.ndarray]] = {
            "shapes": {"labels": np.zeros((4, 6), np.uint8)},
            "kinds": {"rises": np.zeros((2, 4, 5))},
            "missing": {"grid": np.zeros(3)},
            "flat": {"grid": np.array([0.0, 0.0, 0.0, 0.0, 0.001])},
        }
        with file.open("wb") as opened:
            np.savez_compressed(opened, allow_pickle=False, **{**arrays, **changes[spoilt]})
    with pytest.raises(UserError) as problem:
        read_ground_field(tmp_path)
    assert GROUND_FILE in str(problem.value)
    assert "\n" not in str(problem.value)


def test_heights_between_grid_points_are_those_of_triangles() -> None:
    """A cell whose corners are 0, 1, 2 and 4: by hand."""
    corners = np.array([[0.0, 1.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    field = GroundField(
        x=10.0, y=20.0, cell=2.0, heights=corners, tops=corners, labels=np.ones((3, 3), np.uint8)
    )
    places = ((10, 20, 0), (12, 20, 1), (10, 22, 2), (11, 21, 2), (11.5, 20.5, 1.5))
    for x, y, height in (*places, (10.5, 21.5, 2.0), (9.0, 21.0, math.nan), (14, 21, math.nan)):
        given = field.measure_heights(np.array([x]), np.array([y]))
        np.testing.assert_allclose(given, [height])


def test_beams_end_on_the_slope_and_not_behind_the_wall() -> None:
    """Ranges by hand; a LiDAR lower than the wall's top sees nothing behind it."""
    rays = rays_to((10.0, 3.0, 0.2), (19.0, 0.2, 0.38), (25.0, 0.2, 0.5), (-25.0, -4.0, -0.5))
    ends = find_ends_on_field(field_of(), LIDAR, rays, 85.0)
    assert ends.known.all()
    expected = [math.dist((10.0, 3.0, 0.2), (LIDAR.x, LIDAR.y, LIDAR.z))]
    np.testing.assert_allclose(ends.ranges[0], expected[0], atol=1e-3)
    assert np.isfinite(ends.ranges).tolist() == [True, True, False, True]
    assert (ends.labels == 1).all()
    high = replace(LIDAR, z=25.0)
    ways = np.array([[25.0 - high.x, 0.0, 0.5 - high.z]])
    over = find_ends_on_field(field_of(), high, ways / np.linalg.norm(ways), 85.0)
    np.testing.assert_allclose(over.ranges, np.linalg.norm(ways), atol=1e-3)


def test_beams_that_go_under_a_bridge_are_not_known() -> None:
    """A deck 6 m above the ground from x = 5 to x = 15; from above, beams end on it."""
    field = replace(field_of(), tops=np.full((81, 121), np.nan))
    field.heights[:, 71:90] += 6.0
    under, short = rays_to((14.0, 0.2, 0.28)), rays_to((3.0, 0.2, 0.06))
    assert not find_ends_on_field(field, LIDAR, under, 85.0).known.any()
    assert find_ends_on_field(field, LIDAR, short, 85.0).known.all()
    high = replace(LIDAR, z=30.0)
    way = np.array([[10.0 - high.x, 0.0, 6.2 - high.z]])
    ends = find_ends_on_field(field, high, way / np.linalg.norm(way), 85.0)
    np.testing.assert_allclose(ends.ranges, np.linalg.norm(way), atol=1e-3)


def test_beams_know_what_they_do_not_know() -> None:
    """Outside of the grid, over gaps, and from below the ground."""
    field = field_of()
    away = rays_to((0.4, 30.0, 0.0))  # leaves the grid at y = 20
    assert not find_ends_on_field(field, LIDAR, away, 85.0).known.any()
    field.heights[:, 75:80] = np.nan
    behind, before = rays_to((12.0, 0.2, 0.24)), rays_to((5.0, 0.2, 0.1))
    assert not find_ends_on_field(field, LIDAR, behind, 85.0).known.any()
    assert find_ends_on_field(field, LIDAR, before, 85.0).known.all()
    assert not find_ends_on_field(field, replace(LIDAR, z=-1.0), before, 85.0).known.any()
    up = np.array([[0.0, 0.0, 1.0]])
    assert not np.isfinite(find_ends_on_field(field, LIDAR, up, 85.0).ranges).any()
    short = find_ends_on_field(field_of(), LIDAR, rays_to((19.0, 0.2, 0.38)), 10.0)
    assert not np.isfinite(short.ranges).any()
