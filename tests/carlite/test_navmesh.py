from __future__ import annotations

import os
import struct
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import shapely
from shapely.geometry import Polygon

from harness.carlite.arrays import Floats
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns import load_town, navmesh
from harness.carlite.towns.detour import NavigationArea, NavigationMesh, encode_navigation_mesh
from harness.carlite.towns.model import LaneKind, SceneryShape, Town, TownScenery
from tests.profiles import ONLY_WITH_ALL

pytestmark = pytest.mark.thorough

SHIPPED = ["Crucible05", "CrucibleOld", "CrucibleRing", "CrucibleHill"]
TOWNS = ["Crucible05", "CrucibleRing", "Town01", "Town05"]
OTHERS = [
    pytest.param(name, marks=ONLY_WITH_ALL) for name in ("CrucibleOld", "CrucibleHill", "Town02")
]


class Tile(NamedTuple):
    """What a Detour tile holds, read back by the layout of its structures."""

    vertices: Floats
    corners: list[list[int]]
    neighbours: list[list[int]]
    area: list[int]
    flags: list[int]
    fans: list[list[tuple[int, ...]]]
    links: int


def read(data: bytes) -> Tile:
    magic, version, tiles = struct.unpack_from("<3i", data)
    assert (magic, version, tiles) == (0x4D534554, 1, 1)
    most_tiles, most_polygons = struct.unpack_from("<2i", data, 32)
    reference, size = struct.unpack_from("<Ii", data, 40)
    body = data[48:]
    assert len(body) == size
    assert most_tiles == 1
    assert reference == most_polygons
    head = struct.unpack_from("<15i", body)
    assert head[:2] == (0x444E4156, 7)
    polygons, vertices, links, details, detail_vertices, triangles = head[6:12]
    assert polygons == details <= most_polygons
    assert detail_vertices == 0
    at = 100
    points = np.frombuffer(body, "<f4", 3 * vertices, at).reshape(-1, 3)
    at += 12 * vertices
    tile = Tile(points[:, [0, 2, 1]].astype(np.float64), [], [], [], [], [], links)
    for i in range(polygons):
        _, *rest = struct.unpack_from("<I6H6HHBB", body, at + 32 * i)
        count = rest[13]
        tile.corners.append(rest[:count])
        tile.neighbours.append([n - 1 for n in rest[6 : 6 + count]])
        tile.flags.append(rest[12])
        tile.area.append(rest[14] & 63)
    at += 32 * polygons + 12 * links
    for i in range(polygons):
        _, first, _, count = struct.unpack_from("<IIBB", body, at + 12 * i)
        start = at + 12 * polygons + 4 * first
        tile.fans.append([tuple(body[start + 4 * k : start + 4 * k + 4]) for k in range(count)])
    assert at + 12 * polygons + 4 * triangles == len(body)
    return tile


@cache
def town(name: str) -> Town:
    if name in SHIPPED:
        return load_town(name, None)
    maps = os.environ.get("CRUCIBLE_MAPS")
    if not maps:
        pytest.skip("CRUCIBLE_MAPS names no folder of CARLA's towns")
    return load_town(name, Path(maps))


@cache
def mesh(name: str) -> NavigationMesh:
    return navmesh.build_walkable_mesh(town(name))


def outlines(walkable: NavigationMesh, area: NavigationArea) -> list[Polygon]:
    return [
        Polygon(walkable.vertices[list(polygon)][:, :2])
        for polygon, what in zip(walkable.polygons, walkable.areas, strict=True)
        if what is area
    ]


def lane_surface(place: Town, *kinds: LaneKind) -> shapely.Geometry:
    lanes = place.lanes
    quads = []
    for lane in np.flatnonzero(np.isin(lanes.kind, kinds)):
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        across = np.stack([-np.sin(lanes.yaw[span]), np.cos(lanes.yaw[span])], axis=1)
        half = across * lanes.width[span, None] / 2
        left, right = lanes.points[span, :2] - half, lanes.points[span, :2] + half
        quads += [Polygon(corners).buffer(0.01) for corners in
                  np.stack([left[:-1], left[1:], right[1:], right[:-1]], axis=1)]  # fmt: skip
    return shapely.union_all(quads)


def components(walkable: NavigationMesh) -> list[int]:
    across, seen, sizes = walkable.find_neighbours(), set[int](), []
    for start in range(len(across)):
        if start not in seen:
            stack, size = [start], 0
            seen.add(start)
            while stack:
                size += 1
                new = {n for n in across[stack.pop()] if n >= 0} - seen
                seen |= new
                stack += new
            sizes.append(size)
    return sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", [*TOWNS, *OTHERS])
def test_file_holds_the_mesh(name: str) -> None:
    walkable, tile = mesh(name), read(navmesh.build_navigation_mesh(town(name)))
    assert tile.vertices == pytest.approx(walkable.vertices, abs=1e-4)
    assert [tuple(c) for c in tile.corners] == list(walkable.polygons)
    assert tile.neighbours == walkable.find_neighbours()
    assert tile.area == list(walkable.areas)
    assert tile.flags == [1 << area for area in walkable.areas]
    assert tile.links == sum(n >= 0 for around in tile.neighbours for n in around)
    for corners, fan in zip(tile.corners, tile.fans, strict=True):
        assert [triangle[:3] for triangle in fan] == [(0, i + 1, i + 2) for i in range(len(fan))]
        border = {(a, (a + 1) % len(corners)) for a in range(len(corners))}
        for a, b, c, marks in fan:
            for bit, edge in enumerate(((a, b), (b, c), (c, a))):
                assert bool(marks >> 2 * bit & 1) == (edge in border)


@pytest.mark.parametrize("name", [*TOWNS, *OTHERS])
def test_polygons_are_convex_and_turn_the_same_way(name: str) -> None:
    walkable = mesh(name)
    for polygon in walkable.polygons:
        corners = walkable.vertices[list(polygon)][:, :2]
        along = np.roll(corners, -1, axis=0) - corners
        after = np.roll(along, -1, axis=0)
        assert (along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0]).max() <= 1e-9
        assert Polygon(corners).area > 0.005


@pytest.mark.parametrize("name", [*TOWNS, *OTHERS])
def test_every_place_can_be_reached(name: str) -> None:
    sizes = components(mesh(name))
    assert sizes[0] > 0.97 * sum(sizes)


@pytest.mark.parametrize("name", [*TOWNS, *OTHERS])
def test_few_enough_polygons_for_the_clients_search(name: str) -> None:
    assert len(mesh(name).polygons) < 2048 + 512


@pytest.mark.parametrize("name", ["Crucible05", "CrucibleRing", "Town05", *OTHERS[:2]])
def test_crosswalks_link_sidewalks(name: str) -> None:
    walkable = mesh(name)
    marked = sum(area is NavigationArea.CROSSWALK for area in walkable.areas)
    assert marked >= 0.9 * len(town(name).crosswalks) > 0
    for across, area in zip(walkable.find_neighbours(), walkable.areas, strict=True):
        if area is NavigationArea.CROSSWALK:
            assert sum(n >= 0 and walkable.areas[n] is not NavigationArea.ROAD for n in across) >= 2


@pytest.mark.parametrize("name", ["Town01", OTHERS[2]])
def test_towns_without_crosswalks_get_crossings_at_junctions(name: str) -> None:
    assert not town(name).crosswalks
    assert Counter(mesh(name).areas)[NavigationArea.CROSSWALK] >= 16


@pytest.mark.parametrize("name", ["CrucibleRing", pytest.param("Town05", marks=ONLY_WITH_ALL)])
def test_sidewalk_polygons_lie_on_sidewalks(name: str) -> None:
    walkable = outlines(mesh(name), NavigationArea.SIDEWALK)
    ground = lane_surface(town(name), LaneKind.SIDEWALK).buffer(0.1)
    off = sum(polygon.difference(ground).area for polygon in walkable)
    assert off < 0.005 * sum(polygon.area for polygon in walkable)


def test_crosswalk_polygons_lie_where_crosswalks_are() -> None:
    marked = shapely.union_all([Polygon(c[:, :2]) for c in town("Crucible05").crosswalks])
    walkable = shapely.union_all(outlines(mesh("Crucible05"), NavigationArea.CROSSWALK))
    road = lane_surface(town("Crucible05"), LaneKind.DRIVING)
    assert walkable.intersection(road).difference(marked.buffer(0.5)).area < 0.02 * walkable.area
    assert marked.intersection(road).difference(walkable).area < 0.15 * marked.area


def test_heights_follow_the_ground() -> None:
    walkable = mesh("CrucibleRing")
    assert np.ptp(walkable.vertices[:, 2]) > 3.0
    lanes = town("CrucibleRing").lanes
    for vertex in walkable.vertices[::7]:
        flat = np.linalg.norm(lanes.points[:, :2] - vertex[:2], axis=1)
        near = lanes.points[flat < flat.min() + 1.5, 2]
        assert np.abs(near - vertex[2]).min() < 0.5


def poles(place: Town, spacing: float, lateral: float) -> TownScenery:
    """Stand a pole on every sidewalk every few metres, off its middle."""
    lanes = place.lanes
    centres = []
    for lane in np.flatnonzero((lanes.kind == LaneKind.SIDEWALK) & (lanes.length > 3)):
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        for s in np.arange(1.5, lanes.length[lane] - 1.5, spacing):
            i = int(np.argmin(np.abs(lanes.station[span] - s)))
            yaw, point = lanes.yaw[span][i], lanes.points[span][i]
            aside = np.array([-np.sin(yaw) * lateral, np.cos(yaw) * lateral, 1.5])
            centres.append(point + aside)
    count = len(centres)
    return TownScenery(
        centre=np.array(centres), extent=np.tile((0.15, 0.15, 1.5), (count, 1)),
        yaw=np.zeros(count),
        shape=np.full(count, SceneryShape.CYLINDER, np.uint8), body=np.full(count, -1, np.int32),
        label=np.full(count, SemanticLabel.POLE, np.uint8), solid=np.ones(count, np.bool_),
    )  # fmt: skip


@pytest.mark.parametrize("lateral", [-0.6, 0.5])
def test_walkers_are_led_past_poles(lateral: float) -> None:
    bare = town("Crucible05")
    place = replace(bare, scenery=poles(bare, 17.0, lateral))
    walkable = navmesh.build_walkable_mesh(place)
    assert components(walkable) == [len(walkable.polygons)]
    paths = shapely.STRtree(outlines(walkable, NavigationArea.SIDEWALK))
    for centre in place.scenery.centre:
        pole = shapely.Point(centre[:2]).buffer(0.15 + 0.1)
        assert not len(paths.query(pole, predicate="intersects"))


def test_building_repeats() -> None:
    place = town("Town05")
    first = navmesh.build_navigation_mesh(place)
    assert navmesh.build_navigation_mesh(place) == first


def test_a_town_without_sidewalks_has_no_mesh() -> None:
    bare = town("Crucible05")
    lanes = replace(bare.lanes, kind=np.full_like(bare.lanes.kind, LaneKind.DRIVING))
    assert navmesh.build_navigation_mesh(replace(bare, lanes=lanes)) == b""


def test_overlapping_polygons_are_refused() -> None:
    square = np.array([(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)], np.float64)
    with pytest.raises(ValueError, match="overlap"):
        encode_navigation_mesh(
            NavigationMesh(
                square,
                [(0, 1, 2, 3), (0, 1, 2)],
                [NavigationArea.SIDEWALK, NavigationArea.SIDEWALK],
            )
        )
