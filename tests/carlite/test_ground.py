"""The height of the ground: as the client's waypoints have it, smooth, doubled under bridges."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
import shapely

from harness.carlite.labels import SemanticLabel
from harness.carlite.towns import ground as relief
from harness.carlite.towns import lanes as sampling
from harness.carlite.towns import opendrive
from harness.carlite.towns.lookup import (
    find_ground_height,
    find_ground_heights,
    find_ground_normal,
    to_ground_arrays,
)
from harness.carlite.towns.model import LaneKind, TownGround, TownLanes
from harness.carlite.towns.terrain import fill_terrain
from tests.carlite import opendrive_samples as samples
from tests.carlite.client_map import TOWNS, loaded


@lru_cache(maxsize=8)
def ground_of(name: str) -> tuple[TownLanes, TownGround]:
    lanes, _ = loaded(name)
    return lanes, relief.build_ground(lanes)


@pytest.mark.thorough
@pytest.mark.parametrize("name", TOWNS)
def test_lanes_lie_on_the_ground(name: str) -> None:
    """Sampled lanes equal the client's waypoints; where roads overlap, theirs differ by 4 cm."""
    lanes, ground = ground_of(name)
    surface = find_ground_heights(*to_ground_arrays(ground), lanes.points)
    gap = np.abs(surface - lanes.points[:, 2])
    assert gap.max() < 0.05
    assert (gap < 0.03).mean() > 0.99


@pytest.mark.parametrize("name", TOWNS)
def test_roads_have_no_steps(name: str) -> None:
    _, ground = ground_of(name)
    road = ground.label == SemanticLabel.ROAD
    for axis in (0, 1):
        step = np.abs(np.diff(ground.lower, axis=axis))
        both = road & np.roll(road, -1, axis=axis)
        both = both[:-1] if axis == 0 else both[:, :-1]
        assert step[both].max() < 0.10


@pytest.mark.parametrize("name", TOWNS)
def test_the_ground_is_whole_and_of_modest_size(name: str) -> None:
    lanes, ground = ground_of(name)
    assert np.isfinite(ground.lower).all()
    assert ground.lower.nbytes + ground.upper.nbytes + ground.label.nbytes < 100e6
    assert set(np.unique(ground.label)) <= {
        SemanticLabel.ROAD,
        SemanticLabel.SIDEWALK,
        SemanticLabel.TERRAIN,
    }
    margin = 10.0
    assert (lanes.points[:, :2].min(axis=0) > np.array([ground.x, ground.y]) + margin).all()
    size = np.array(ground.lower.shape[::-1]) * ground.cell
    assert (lanes.points[:, :2].max(axis=0) < np.array([ground.x, ground.y]) + size - margin).all()


@pytest.mark.parametrize("name", TOWNS)
def test_labels_separate_road_and_sidewalk(name: str) -> None:
    lanes, ground = ground_of(name)
    lane = np.repeat(np.arange(len(lanes.first)), lanes.count)
    column = np.rint((lanes.points[:, 0] - ground.x) / ground.cell).astype(int)
    row = np.rint((lanes.points[:, 1] - ground.y) / ground.cell).astype(int)
    level = np.isnan(ground.upper[row, column])
    label = ground.label[row, column]
    driving = level & (lanes.kind[lane] == LaneKind.DRIVING) & (lanes.width > 1.0)
    assert (label[driving] == SemanticLabel.ROAD).all()
    walking = level & (lanes.kind[lane] == LaneKind.SIDEWALK) & (lanes.width > 1.5)
    assert (label[walking] == SemanticLabel.SIDEWALK).mean() > 0.9


def test_town05_crosses_over_itself() -> None:
    _, ground = ground_of("Town05")
    deck = ~np.isnan(ground.upper)
    bridges = {(x, y) for x, y in ((-218, 0), (-218, -90), (-226, 90))}
    for x, y in bridges:
        column, row = int((x - ground.x) / ground.cell), int((y - ground.y) / ground.cell)
        assert deck[row, column]
        assert ground.upper[row, column] - ground.lower[row, column] > 9.0
    assert deck.mean() < 0.02


def bridge() -> TownGround:
    return relief.build_ground(
        sampling.build_lanes(opendrive.parse_opendrive(samples.overpass(6.0)))
    )


def test_over_and_under_a_bridge() -> None:
    """What drives on the deck stays on it all along, what passes beneath stays beneath."""
    ground = to_ground_arrays(bridge())
    for y in np.arange(-59.0, 59.0, 0.1):
        for x in (-3.4, -1.75, 0.0, 1.75, 3.4):
            assert find_ground_height(*ground, x, float(y), 6.0) == pytest.approx(6.0, abs=1e-3)
            assert find_ground_height(*ground, x, float(y), 5.3) == pytest.approx(6.0, abs=1e-3)
    for x in np.arange(-59.0, 59.0, 0.1):
        for y in (-3.4, -1.75, 0.0, 1.75, 3.4):
            assert find_ground_height(*ground, float(x), y, 0.0) == pytest.approx(0.0, abs=1e-3)
            assert find_ground_height(*ground, float(x), y, 1.5) == pytest.approx(0.0, abs=1e-3)


def test_normals_stand_on_the_slope() -> None:
    plan = samples.geometry(0.0, 0.0, 0.0, math.radians(30), 80.0, "<line/>")
    slope = '<elevation s="0" a="2" b="0.1" c="0" d="0"/>'
    row = samples.section([samples.lane(1), samples.lane(-1)])
    text = samples.document(samples.road(1, 80.0, plan, row, elevation=slope))
    ground = to_ground_arrays(
        relief.build_ground(sampling.build_lanes(opendrive.parse_opendrive(text)))
    )
    x, y = 40 * math.cos(math.radians(30)), -40 * math.sin(math.radians(30))
    assert find_ground_height(*ground, x, y, 6.0) == pytest.approx(6.0, abs=1e-3)
    flat = math.hypot(1, 0.1)
    expected = (-0.1 * math.cos(math.radians(30)) / flat, 0.1 * 0.5 / flat, 1 / flat)
    assert find_ground_normal(*ground, x, y, 6.0) == pytest.approx(expected, abs=1e-3)


def test_beyond_the_grid_the_edge_goes_on() -> None:
    ground = bridge()
    edge = find_ground_height(*to_ground_arrays(ground), ground.x, 0.0, 0.0)
    assert find_ground_height(
        *to_ground_arrays(ground), ground.x - 500.0, 0.0, 0.0
    ) == pytest.approx(edge)


def test_terrain_is_a_membrane() -> None:
    """Known heights stay, nothing rises above the highest or sinks below the lowest of them."""
    rng = np.random.default_rng(3)
    heights_ = np.full((97, 140), np.nan)
    known = rng.random(heights_.shape) < 0.02
    heights_[known] = rng.uniform(-5, 5, int(known.sum()))
    filled = fill_terrain(heights_)
    np.testing.assert_array_equal(filled[known], heights_[known].astype(np.float32))
    assert filled.min() >= np.nanmin(heights_) - 1e-5
    assert filled.max() <= np.nanmax(heights_) + 1e-5


def test_terrain_between_two_levels_slopes_evenly() -> None:
    heights_ = np.full((60, 41), np.nan)
    heights_[:, 0], heights_[:, -1] = 0.0, 4.0
    filled = fill_terrain(heights_)
    np.testing.assert_allclose(filled[30], np.linspace(0, 4, 41), atol=0.3)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Crucible05", "CrucibleHill", "Town05"])
def test_gaps_between_the_lanes_of_a_junction_are_road(name: str) -> None:
    """And what lies beyond its corners is not, although it is within its hull."""
    lanes, ground = ground_of(name)
    strips = [strip_of(lanes, lane) for lane in range(len(lanes.first))]
    free = shapely.box(*shapely.total_bounds(strips)).difference(shapely.union_all(strips))
    patches = shapely.get_parts(free.buffer(-ground.cell / 2))
    gaps = blocks = 0
    for junction in np.unique(lanes.junction[lanes.junction >= 0]):
        driven = (lanes.junction == junction) & (lanes.kind == LaneKind.DRIVING)
        hull = shapely.union_all([strips[lane] for lane in np.flatnonzero(driven)]).convex_hull
        for patch in patches[shapely.intersects(patches, hull)]:
            if patch.within(hull.buffer(-0.5)):
                labels = labels_in(ground, patch)
                assert set(labels) <= {SemanticLabel.ROAD}
                gaps += len(labels)
            elif patch.area > 1000.0:
                labels = labels_in(ground, patch.intersection(hull).buffer(-0.5))
                assert set(labels) <= {SemanticLabel.TERRAIN}
                blocks += len(labels)
    assert gaps > 50
    assert blocks > 50


def strip_of(lanes: TownLanes, lane: int) -> shapely.Polygon:
    """Return the outline of a lane's surface."""
    span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
    across = np.stack([-np.sin(lanes.yaw[span]), np.cos(lanes.yaw[span])], axis=1)
    half = across * (lanes.width[span, None] / 2 + relief.EDGE)
    middle = lanes.points[span, :2]
    return shapely.make_valid(shapely.Polygon([*(middle - half), *(middle + half)[::-1]]))


def labels_in(ground: TownGround, area: shapely.Geometry) -> list[int]:
    """Return the labels of the grid points within an area."""
    if area.is_empty:
        return []
    low_x, low_y, high_x, high_y = area.bounds
    first = int((low_x - ground.x) / ground.cell), int((low_y - ground.y) / ground.cell)
    last = int((high_x - ground.x) / ground.cell) + 1, int((high_y - ground.y) / ground.cell) + 1
    row, column = np.mgrid[first[1] : last[1] + 1, first[0] : last[0] + 1]
    x, y = ground.x + column * ground.cell, ground.y + row * ground.cell
    within = shapely.contains_xy(area, x, y)
    labels: list[int] = ground.label[row[within], column[within]].tolist()
    return labels
