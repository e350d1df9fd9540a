"""Scenery against the streets it stands along, checked with shapely."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from shapely import STRtree, make_valid
from shapely.affinity import rotate, translate
from shapely.geometry import LineString, Point, Polygon, box
from shapely.geometry.base import BaseGeometry
from shapely.ops import unary_union

from harness.carlite import towns
from harness.carlite.bodies import build_body_library
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import LaneKind, SceneryShape, Town, TownLanes, TownScenery
from harness.carlite.towns.scenery import furnish_town

pytestmark = pytest.mark.thorough

SHIPPED = towns.list_designed_towns()
CARLA = ["Town01", "Town02", "Town05"]
shipped_town = pytest.mark.parametrize("name", SHIPPED)
every_town = pytest.mark.parametrize("name", [*SHIPPED, *CARLA])


@cache
def town_of(name: str) -> Town:
    town = towns.load_town(name, None)
    return replace(town, scenery=furnish_town(town.lanes, town.ground, town.signals, name))


def outline(scenery: TownScenery, index: int) -> BaseGeometry:
    x, y = scenery.centre[index, :2]
    length, width = scenery.extent[index, :2]
    if scenery.shape[index] == SceneryShape.CYLINDER:
        return Point(x, y).buffer(length)
    flat = box(-length, -width, length, width)
    return translate(rotate(flat, scenery.yaw[index], origin=(0, 0), use_radians=True), x, y)


def surface(lanes: TownLanes, lane: int) -> BaseGeometry:
    span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
    right = np.column_stack([-np.sin(lanes.yaw[span]), np.cos(lanes.yaw[span])])
    half, centre = lanes.width[span, None] / 2, lanes.points[span, :2]
    ring = np.concatenate([centre - right * half, (centre + right * half)[::-1]])
    return make_valid(Polygon(ring))


def lanes_of(lanes: TownLanes, kind: LaneKind) -> list[int]:
    return [int(k) for k in np.flatnonzero((lanes.kind == kind) & (lanes.length > 0.2))]


def overlapping(shapes: list[BaseGeometry], areas: list[BaseGeometry]) -> list[tuple[int, int]]:
    pairs = STRtree(areas).query(shapes, predicate="intersects")
    return [(int(a), int(b)) for a, b in pairs.T]


def pieces_of(name: str) -> list[BaseGeometry]:
    scenery = town_of(name).scenery
    return [outline(scenery, k) for k in range(len(scenery.yaw))]


@every_town
def test_nothing_stands_on_or_next_to_what_is_driven_on(name: str) -> None:
    lanes, scenery = town_of(name).lanes, town_of(name).scenery
    driving = lanes_of(lanes, LaneKind.DRIVING)
    swept = [surface(lanes, lane).buffer(0.48, join_style="mitre") for lane in driving]
    base = scenery.centre[:, 2] - scenery.extent[:, 2]
    for piece, area in overlapping(pieces_of(name), swept):
        first = lanes.first[driving[area]]
        height = lanes.points[first : first + lanes.count[driving[area]], 2]
        assert base[piece] > height.max() + 5 or scenery.label[piece] == SemanticLabel.GUARD_RAIL
        assert base[piece] > height.max() + 4.4


@every_town
def test_junctions_are_open_ground(name: str) -> None:
    lanes = town_of(name).lanes
    pieces = pieces_of(name)
    interiors = []
    for junction in np.unique(lanes.junction[lanes.junction >= 0]):
        span = np.flatnonzero((lanes.junction == junction) & (lanes.kind == LaneKind.DRIVING))
        merged = unary_union([surface(lanes, int(lane)).buffer(0.1) for lane in span])
        parts = getattr(merged, "geoms", [merged])
        interiors += [Polygon(p.exterior) for p in parts if isinstance(p, Polygon)]
    assert overlapping(pieces, interiors) == []


@every_town
def test_sidewalks_stay_walkable(name: str) -> None:
    lanes, scenery = town_of(name).lanes, town_of(name).scenery
    solid = np.flatnonzero(scenery.solid)
    base = scenery.centre[:, 2] - scenery.extent[:, 2]
    shapes = [outline(scenery, int(k)) for k in solid]
    tree = STRtree(shapes)
    for lane in lanes_of(lanes, LaneKind.SIDEWALK):
        for k in range(lanes.first[lane], lanes.first[lane] + lanes.count[lane]):
            half = float(lanes.width[k]) / 2
            if half < 0.65:
                continue
            right = np.array([-math.sin(lanes.yaw[k]), math.cos(lanes.yaw[k])]) * half
            across = LineString([lanes.points[k, :2] - right, lanes.points[k, :2] + right])
            hits = tree.query(across, predicate="intersects")
            near = [shapes[i] for i in hits if base[solid[i]] < lanes.points[k, 2] + 2.5]
            if near:
                free = across.difference(unary_union(near))
                assert max(part.length for part in getattr(free, "geoms", [free])) >= 1.2


@every_town
def test_spawn_points_are_free(name: str) -> None:
    town = town_of(name)
    cars = []
    for x, y, _, _, yaw, _ in town.spawn_points:
        turned = rotate(box(-2.6, -1.1, 2.6, 1.1), yaw, origin=(0, 0), use_radians=True)
        cars.append(translate(turned, x, y))
    solid = np.flatnonzero(town.scenery.solid & (town.scenery.label != SemanticLabel.GUARD_RAIL))
    shapes = [outline(town.scenery, int(k)) for k in solid]
    assert overlapping(cars, shapes) == []


@every_town
def test_solid_things_do_not_overlap(name: str) -> None:
    scenery = town_of(name).scenery
    solid = np.flatnonzero(scenery.solid)
    shapes = [outline(scenery, int(k)) for k in solid]
    low = scenery.centre[solid, 2] - scenery.extent[solid, 2]
    high = scenery.centre[solid, 2] + scenery.extent[solid, 2]
    for a, b in overlapping(shapes, shapes):
        if a < b and not shapes[a].centroid.dwithin(shapes[b].centroid, 0.01):
            both = min(high[a], high[b]) - max(low[a], low[b])
            rails = {int(scenery.label[solid[k]]) for k in (a, b)} == {
                int(SemanticLabel.GUARD_RAIL)
            }
            assert both <= 0 or rails


@every_town
def test_things_stand_on_the_ground(name: str) -> None:
    """No base floats above the lowest ground it covers, none is dug in deeper than its footing."""
    town = town_of(name)
    scenery, ground = town.scenery, town.ground
    base = scenery.centre[:, 2] - scenery.extent[:, 2]
    upon = [
        SemanticLabel.TRAFFIC_LIGHT,
        SemanticLabel.TRAFFIC_SIGN,
        SemanticLabel.VEGETATION,
        SemanticLabel.GUARD_RAIL,
    ]
    for k in np.flatnonzero(~np.isin(scenery.label, upon)):
        x, y = scenery.centre[k, :2]
        reach = float(np.hypot(*scenery.extent[k, :2])) + ground.cell
        rows, columns = (
            slice(
                max(math.floor((v - reach - start) / ground.cell), 0),
                math.ceil((v + reach - start) / ground.cell) + 1,
            )
            for v, start in ((y, ground.y), (x, ground.x))
        )
        around = ground.lower[rows, columns]
        assert base[k] > around.min() - 0.35
        if scenery.label[k] != SemanticLabel.BUILDING:
            assert base[k] < around.max() + 0.05
    standing = scenery.label == SemanticLabel.BUILDING
    lowest: dict[tuple[float, float], float] = {}
    for (x, y), z in zip(scenery.centre[standing, :2].tolist(), base[standing], strict=True):
        lowest[x, y] = min(lowest.get((x, y), math.inf), float(z))
    for (x, y), z in lowest.items():
        row, column = round((y - ground.y) / ground.cell), round((x - ground.x) / ground.cell)
        assert z < ground.lower[row, column]


@every_town
def test_how_much_there_is(name: str) -> None:
    scenery = town_of(name).scenery
    count = {label: int((scenery.label == label).sum()) for label in SemanticLabel}
    assert 300 <= len(scenery.yaw) <= 2200
    assert count[SemanticLabel.BUILDING] > 50
    assert count[SemanticLabel.CAR] > 15
    assert count[SemanticLabel.POLE] > 50
    assert count[SemanticLabel.VEGETATION] > 100
    assert count[SemanticLabel.TRAFFIC_LIGHT] > 0


@shipped_town
def test_buildings_hide_one_street_from_the_other(name: str) -> None:
    """From 25 m before a junction, most cars coming from the side are out of sight."""
    lanes, scenery = town_of(name).lanes, town_of(name).scenery
    blocks = STRtree(
        [outline(scenery, int(k)) for k in np.flatnonzero(scenery.label == SemanticLabel.BUILDING)]
    )
    hidden = seen = 0
    for junction in np.unique(lanes.junction[lanes.junction >= 0]):
        inner = np.flatnonzero((lanes.junction == junction) & (lanes.kind == LaneKind.DRIVING))
        entries = {
            int(k)
            for lane in inner
            for k in lanes.previous[lanes.previous_first[lane] :][: lanes.previous_count[lane]]
        }
        poses = []
        for lane in sorted(entries):
            last = lanes.first[lane] + lanes.count[lane] - 1
            near = max(int(last) - 25, int(lanes.first[lane]))
            poses.append((Point(lanes.points[near, :2]), float(lanes.yaw[near])))
        for a, yaw_a in poses:
            for b, yaw_b in poses:
                if abs(math.sin(yaw_a - yaw_b)) > 0.7 and a.x < b.x:
                    sight = LineString([a, b])
                    hidden += len(blocks.query(sight, predicate="intersects")) > 0
                    seen += 1
    assert hidden / seen > 0.6


@shipped_town
def test_parked_cars_are_bodies_in_parking_lanes_or_bays(name: str) -> None:
    scenery = town_of(name).scenery
    cars = scenery.label == SemanticLabel.CAR
    assert np.all(scenery.shape[cars] == SceneryShape.BODY)
    assert len(set(scenery.body[cars].tolist())) >= 4
    assert np.all(scenery.body[cars] < len(build_body_library().names))
    assert np.all(scenery.body[scenery.shape != SceneryShape.BODY] == -1)


def digest(scenery: TownScenery) -> str:
    parts = (scenery.centre, scenery.extent, scenery.yaw, scenery.shape, scenery.body)
    arrays = [np.ascontiguousarray(part).tobytes() for part in (*parts, scenery.label)]
    return hashlib.sha256(b"".join(arrays)).hexdigest()


def test_another_process_finds_the_same_scenery() -> None:
    code = (
        "from tests.carlite.test_scenery import digest, town_of;"
        "print(digest(town_of('CrucibleOld').scenery))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == digest(town_of("CrucibleOld").scenery)


def test_the_name_decides() -> None:
    town = town_of("CrucibleRing")
    other = furnish_town(town.lanes, town.ground, town.signals, "Elsewhere")
    assert digest(other) != digest(town.scenery)
