"""Spawn points and crosswalks, against the client's own map."""

from __future__ import annotations

import math

import carla
import numpy as np
import pytest
from shapely import Polygon, affinity, geometry

from harness.carlite import towns
from harness.carlite.towns import crosswalks, load_town, opendrive, spawn
from tests.carlite.client_map import TOWNS, angle_between, loaded

FEWEST = {"Town01": 100, "Town02": 50, "Town05": 300, "Crucible05": 100}


@pytest.mark.parametrize("name", TOWNS)
def test_vehicles_appear_on_lanes_facing_along_them(name: str) -> None:
    lanes, reference = loaded(name)
    points = spawn.build_spawn_points(lanes)
    assert len(points) >= FEWEST.get(name, 50)
    for x, y, z, pitch, yaw, roll in points.tolist():
        waypoint = reference.get_waypoint(carla.Location(x, y, z))
        place, turn = waypoint.transform.location, waypoint.transform.rotation
        assert not waypoint.is_junction
        right = waypoint.transform.get_right_vector()
        assert math.dist((x, y), (place.x, place.y)) < 0.5
        assert abs((x - place.x) * right.x + (y - place.y) * right.y) < 0.06
        assert 0.3 <= z - place.z <= 0.5
        assert angle_between(yaw, math.radians(turn.yaw)) < math.radians(2)
        assert angle_between(pitch, math.radians(turn.pitch)) < math.radians(1)
        assert -math.pi < yaw <= math.pi
        assert roll == 0.0
        assert waypoint.lane_width > 2.4


@pytest.mark.parametrize("name", TOWNS)
def test_spawn_points_keep_their_distance(name: str) -> None:
    lanes, reference = loaded(name)
    points = spawn.build_spawn_points(lanes)
    apart = np.linalg.norm(points[:, None, :3] - points[None, :, :3], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 2.9
    for index, (x, y, z) in enumerate(points[:, :3].tolist()):
        point_there = reference.get_waypoint(carla.Location(x, y, z))
        for other in np.flatnonzero(apart[index] < 8.0):
            place = carla.Location(*points[other, :3].tolist())
            assert reference.get_waypoint(place).lane_id != point_there.lane_id


def test_the_first_few_are_all_over_the_town() -> None:
    lanes, _ = loaded("Crucible05")
    points = spawn.build_spawn_points(lanes)[:, :2]
    assert (np.ptp(points[:20], axis=0) > 0.6 * np.ptp(points, axis=0)).all()
    np.testing.assert_array_equal(spawn.build_spawn_points(lanes)[:, :2], points)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Crucible05", "CrucibleRing", "Town02"])
def test_a_van_fits_at_every_spawn_point(name: str) -> None:
    """No scenery, parked cars included, within a box of 6 by 2.4 m that stands there."""
    town = towns.from_opendrive(name, load_town(name, None).opendrive)
    pieces = town.scenery
    assert len(pieces.yaw) > 50
    reach = np.hypot(*pieces.extent[:, :2].T) + math.hypot(3.0, 1.2)
    for x, y, z, _, yaw, _ in town.spawn_points.tolist():
        far = np.hypot(pieces.centre[:, 0] - x, pieces.centre[:, 1] - y)
        van = footprint(x, y, 3.0, 1.2, yaw)
        for k in np.flatnonzero((far < reach) & pieces.solid):
            over = abs(pieces.centre[k, 2] - (z + 1.3)) < pieces.extent[k, 2] + 1.0
            (px, py), (half_x, half_y) = pieces.centre[k, :2], pieces.extent[k, :2]
            piece = footprint(px, py, half_x, half_y, pieces.yaw[k])
            assert not (over and van.intersects(piece)), (name, x, y)


def footprint(x: float, y: float, half_length: float, half_width: float, yaw: float) -> Polygon:
    box = affinity.rotate(
        geometry.box(-half_length, -half_width, half_length, half_width),
        yaw,
        origin=(0, 0),
        use_radians=True,
    )
    return affinity.translate(box, x, y)


@pytest.mark.thorough
@pytest.mark.parametrize("name", TOWNS)
def test_crosswalks_are_the_clients(name: str) -> None:
    _, reference = loaded(name)
    polygons = crosswalks.build_crosswalks(
        opendrive.parse_opendrive(load_town(name, None).opendrive)
    )
    corners = np.array([(p.x, p.y, p.z) for p in reference.get_crosswalks()]).reshape(-1, 3)
    mine = np.concatenate([np.zeros((0, 3)), *polygons])
    assert len(mine) == len(corners)
    for polygon in polygons:
        np.testing.assert_array_equal(polygon[0], polygon[-1])
        assert len(polygon) >= 4
        nearest = np.linalg.norm(corners[:, None] - polygon[None], axis=2).min(axis=0)
        assert nearest.max() < 1e-3
