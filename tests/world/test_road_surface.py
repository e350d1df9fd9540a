"""The drivable area against a slow reference: CARLA's own map, asked for one place at a time."""

from __future__ import annotations

import math
from functools import lru_cache

import carla
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.common.drivable_area import DrivableArea
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Mask
from harness.world.road_surface import (
    CELL,
    MOST_OF_GAP,
    SURFACE_LANES,
    build_drivable_area,
    fill_small_gaps,
)
from tests.world.town_maps import roads

TOWNS = ("Crucible05", "CrucibleHill", "CrucibleRing", "Town05")
BEYOND_END = 0.2
"""Metres behind the end of a lane that CARLA counts as on it, in a half circle; we do not."""
SHARES = st.floats(0.0, 1.0, exclude_max=True)


@lru_cache(maxsize=8)
def area_of(town: str, gap: float = MOST_OF_GAP) -> DrivableArea:
    return build_drivable_area(roads(town).map, gap=gap)


def surface_mask(town: str) -> carla.LaneType:
    """Return the types of lanes that are road; those of Town05 have some without a driving lane."""
    mask = SURFACE_LANES[0]
    for kind in SURFACE_LANES[1:] if town != "Town05" else ():
        mask = mask | kind
    return mask


def is_on_lane(town: str, x: float, y: float) -> bool:
    """Return whether a place is on a lane, by the map alone."""
    asked = carla.Location(x, y, 0.0)
    lane = roads(town).map.get_waypoint(asked, project_to_road=False, lane_type=surface_mask(town))
    return lane is not None and abs(measure_ahead(lane, x, y)) <= BEYOND_END


def measure_ahead(lane: carla.Waypoint, x: float, y: float) -> float:
    pose = lane.transform
    yaw = math.radians(pose.rotation.yaw)
    return float((x - pose.location.x) * math.cos(yaw) + (y - pose.location.y) * math.sin(yaw))


def measure_gap_to_lane(town: str, x: float, y: float) -> float:
    """Return metres from a place to the edge of the nearest lane: of each type by itself."""
    asked, gaps = carla.Location(x, y, 0.0), []
    for kind in SURFACE_LANES:
        lane = roads(town).map.get_waypoint(asked, project_to_road=True, lane_type=kind)
        if lane is not None:
            place = lane.transform.location
            gaps.append(math.hypot(x - place.x, y - place.y) - lane.lane_width / 2)
    return float(min(gaps))


def place_at(area: DrivableArea, across: float, up: float) -> tuple[float, float]:
    """Return a place of the grid."""
    rows, columns = area.drivable.shape
    return (
        area.corner[0] + across * columns * area.cell,
        area.corner[1] + up * rows * area.cell,
    )


@pytest.mark.parametrize("town", TOWNS)
@given(across=SHARES, up=SHARES)
@settings(max_examples=300, deadline=None)
def test_what_is_off_the_drivable_area_is_on_no_lane(town: str, across: float, up: float) -> None:
    area = area_of(town)
    x, y = place_at(area, across, up)
    if not area.contains_points(np.array([[x, y]]))[0]:
        assert not is_on_lane(town, x, y)


@pytest.mark.parametrize("town", TOWNS)
def test_no_edge_of_a_lane_is_off_the_drivable_area(town: str) -> None:
    """Edges are where a grid that is too small would show: 400 places just inside of one."""
    area, network = area_of(town), roads(town)
    random = make_named_stream(1, town)
    lanes = network.graph.waypoints
    for node in random.integers(len(lanes), size=400).tolist():
        pose, width = lanes[node].transform, lanes[node].lane_width
        yaw = math.radians(pose.rotation.yaw)
        aside = (width / 2 - 0.01) * random.choice([-1.0, 1.0])
        x = pose.location.x - math.sin(yaw) * aside
        y = pose.location.y + math.cos(yaw) * aside
        assert area.contains_points(np.array([[x, y]]))[0]


@pytest.mark.parametrize("town", TOWNS[:2])
def test_the_drivable_area_ends_within_two_cells_of_a_lane(town: str) -> None:
    area = area_of(town, gap=0.0)
    rows, columns = np.nonzero(area.drivable)
    chosen = make_named_stream(2, town).integers(len(rows), size=500)
    for row, column in zip(rows[chosen].tolist(), columns[chosen].tolist(), strict=True):
        x, y = (np.array(area.corner) + CELL * (np.array([column, row]) + 0.5)).tolist()
        assert measure_gap_to_lane(town, x, y) < 2 * CELL * math.sqrt(2)


@pytest.mark.parametrize("town", TOWNS[:2])
def test_filled_gaps_are_few_and_small(town: str) -> None:
    """Filling adds a few square metres to junctions, and takes no street block."""
    filled, bare = area_of(town).drivable, area_of(town, gap=0.0).drivable
    assert (filled | bare == filled).all()
    assert 0 < filled.sum() - bare.sum() < 0.01 * bare.sum()


@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 9),
    share=st.floats(0.2, 0.8),
    most=st.integers(0, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_gaps_are_filled_as_by_walking_through_them(
    rows: int, columns: int, share: float, most: int, seed: int
) -> None:
    grid = make_named_stream(seed, "grid").random((rows, columns)) < share
    expected = grid.copy()
    for row, column in np.argwhere(~grid).tolist():
        piece = walk_from(grid, row, column)
        if len(piece) <= most:
            expected[row, column] = True
    assert (fill_small_gaps(grid, most) == expected).all()


def walk_from(grid: Mask, row: int, column: int) -> set[tuple[int, int]]:
    """Return all free cells that can be reached from one by steps along rows and columns."""
    known, left = {(row, column)}, [(row, column)]
    while left:
        y, x = left.pop()
        for step in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            inside = 0 <= step[0] < grid.shape[0] and 0 <= step[1] < grid.shape[1]
            if inside and step not in known and not grid[step]:
                known.add(step)
                left.append(step)
    return known
