"""What the scene holds, when it is brought up to date, and single rays through it."""

from __future__ import annotations

import carla
import numpy as np
import pytest

from harness.carlite import blueprints, sensors
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats
from harness.carlite.errors import CallError
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.decks import build_deck_meshes
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.meshes import SurfaceMesh, from_triangles, make_cube, make_prism
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.relief import prepare_relief
from harness.carlite.sensors.scene import SensorScene, build_common_meshes
from tests.carlite import ray_worlds

DOWN = np.array([[0.0, 0.0, -1.0]])


def at(x: float, y: float, z: float) -> Floats:
    return np.array([[x, y, z]])


def rays(count: int, seed: int) -> Floats:
    directions = np.random.default_rng(seed).normal(0, 1, (count, 3)) * (1, 1, 0.4)
    unit: Floats = directions / np.linalg.norm(directions, axis=1)[:, None]
    return unit


def add_box(table: ActorTable, actor_id: int, label: SemanticLabel) -> None:
    """Put a body two metres high at x = 10."""
    shape = {"body": 0, "box_centre": (0, 0, 1), "extent": (2, 1, 1)}
    table.add_actor(actor_id, label=label, position=(10, 0, 0), **shape)


@pytest.mark.thorough
def test_single_rays_agree_with_embree() -> None:
    place, table = ray_worlds.town(hills=1.0, deck=True), ray_worlds.crowd(60, seed=2)
    scene = SensorScene(place, table)
    scene.refresh_actors(1)
    everything = ray_worlds.triangles_of(place, table, np.zeros(3), 200.0)
    wrong = hits = 0
    for origin in at(0, 0, 4), at(-40, 22, 9), at(12, 30, 3), at(60, -50, 15):
        directions = rays(500, seed=int(origin[0, 0]) + 100)
        distance, actor, label = scene.find_first_hit(
            np.repeat(origin, 500, axis=0), directions, 70.0
        )
        seen = everything.seen_from(origin[0])
        tree = ray_worlds.embree_scene(seen)
        expected, which = ray_worlds.embree_hits(tree, origin[0], directions)
        near = expected <= 70.0
        wrong += (abs(distance[near] - expected[near]) > 0.01).sum()
        wrong += np.isfinite(distance[~near]).sum()
        wrong += (actor != seen.actor[which])[near].sum() + (
            label[~near] != SemanticLabel.NONE
        ).sum()
        hits += near.sum()
    assert wrong <= 2
    assert 500 < hits < 1900


def test_an_actor_can_be_seen_through() -> None:
    table = ActorTable()
    add_box(table, 7, SemanticLabel.CAR)
    scene = SensorScene(ray_worlds.town(pieces=0), table)
    scene.refresh_actors(1)
    distance, actor, label = scene.find_first_hit(at(10, 0, 5), DOWN, 50.0)
    assert distance[0] == pytest.approx(3.0, abs=0.5)
    assert (actor[0], label[0]) == (7, SemanticLabel.CAR)
    distance, actor, label = scene.find_first_hit(at(10, 0, 5), DOWN, 50.0, ignore=7)
    assert distance[0] == pytest.approx(5.0)
    assert (actor[0], label[0]) == (0, SemanticLabel.ROAD)


def test_the_scene_follows_the_actors_once_a_frame() -> None:
    table = ActorTable()
    add_box(table, 7, SemanticLabel.CAR)
    scene = SensorScene(ray_worlds.town(pieces=0), table)

    def seen(x: float) -> int:
        return int(scene.find_first_hit(at(x, 0, 5), DOWN, 50.0)[1][0])

    scene.refresh_actors(1)
    table.position[0] = (30, 0, 0)
    scene.refresh_actors(1)
    assert (seen(10), seen(30)) == (7, 0)
    scene.refresh_actors(2)
    assert (seen(10), seen(30)) == (0, 7)
    add_box(table, 9, SemanticLabel.BUS)
    scene.refresh_actors()
    assert (seen(10), seen(30)) == (9, 7)
    table.remove_actor(7)
    table.body[0] = -1
    scene.refresh_actors(3)
    assert (seen(10), seen(30)) == (0, 0)


def test_decks_are_seen_from_both_sides_and_hide_what_is_beyond() -> None:
    scene = SensorScene(ray_worlds.town(deck=True, pieces=0), ActorTable())
    above, _, label = scene.find_first_hit(at(0.3, 30.2, 10), DOWN, 50.0)
    assert (above[0], label[0]) == (pytest.approx(4.0, abs=1e-4), SemanticLabel.ROAD)
    beneath, _, _ = scene.find_first_hit(at(0.3, 30.2, 1), -DOWN, 50.0)
    assert beneath[0] == pytest.approx(5.0, abs=1e-4)
    next_to_it, _, _ = scene.find_first_hit(at(0.3, 50.2, 10), DOWN, 50.0)
    assert next_to_it[0] == pytest.approx(10.0)


def test_decks_cover_every_cell_once_however_it_is_cut() -> None:
    land = ray_worlds.ground(hills=1.0, deck=True)
    land.upper[np.isfinite(land.upper)] += land.lower[np.isfinite(land.upper)]
    area = 0.0
    for mesh in build_deck_meshes(land):
        corners = mesh.vertices[mesh.faces][..., :2]
        corners[mesh.faces[:, 3] < 0, 3] = corners[mesh.faces[:, 3] < 0, 0]
        turned = np.roll(corners, -1, axis=1)
        area += (corners[..., 0] * turned[..., 1] - corners[..., 1] * turned[..., 0]).sum() / 2
    assert area == pytest.approx(14 * 118)


@pytest.mark.parametrize(
    "mesh", [make_cube(), make_prism(), *build_common_meshes()], ids=lambda mesh: len(mesh.faces)
)
def test_meshes_are_closed_flat_and_face_outwards(mesh: SurfaceMesh) -> None:
    edges: dict[tuple[int, int], int] = {}
    volume = 0.0
    for face in mesh.faces.tolist():
        ring = [corner for corner in face if corner >= 0]
        points = mesh.vertices[ring]
        normal = np.cross(points[1] - points[0], points[2] - points[0])
        assert abs((points - points[0]) @ normal).max() <= 1e-4 * np.linalg.norm(normal)
        for k in range(1, len(ring) - 1):
            volume += points[0] @ np.cross(points[k], points[k + 1]) / 6
        for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
            edges[a, b] = edges.get((a, b), 0) + 1
    assert all(edges.get((b, a)) == count for (a, b), count in edges.items())
    assert volume > 0


def test_triangles_are_turned_outwards_and_paired() -> None:
    box = ray_worlds.BOX_TRIANGLES.astype(np.int32)
    for triangles in (box, box[:, ::-1]):
        mesh = from_triangles(ray_worlds.BOX, triangles, np.zeros(12, np.uint8))
        assert (mesh.faces >= 0).all()
        assert len(mesh.faces) == 6


def test_rotations_are_those_of_the_client() -> None:
    rng = np.random.default_rng(1)
    for pitch, yaw, roll in rng.uniform(-180, 180, (50, 3)):
        pose = carla.Transform(carla.Location(), carla.Rotation(pitch, yaw, roll))
        expected = np.array(pose.get_matrix())[:3, :3]
        matrix = build_rotation_matrix(*np.radians([pitch, yaw, roll]))
        np.testing.assert_allclose(matrix, expected, atol=1e-5)


def test_level_country_is_crossed_in_one_stride() -> None:
    flat = prepare_relief(ray_worlds.ground())
    assert flat.span.min() >= max(flat.span.shape)
    hilly = prepare_relief(ray_worlds.ground(hills=3.0))
    assert (hilly.span == 0).mean() > 0.9


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("sensor.other.rss", {}),
        ("sensor.camera.dvs", {"positive_threshold": "0"}),
        ("sensor.lidar.ray_cast", {"channels": "0"}),
        ("sensor.lidar.ray_cast", {"range": "nan"}),
        ("sensor.lidar.ray_cast", {"points_per_second": "1e12"}),
        ("sensor.lidar.ray_cast", {"dropoff_general_rate": "many"}),
        ("sensor.lidar.ray_cast_semantic", {"upper_fov": "91"}),
        ("sensor.camera.rgb", {"image_size_x": "100000"}),
        ("sensor.camera.depth", {"fov": "-5"}),
        ("sensor.other.radar", {"range": "-1"}),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(kind: str, attributes: dict[str, str]) -> None:
    with pytest.raises(CallError, match=next(iter(attributes), kind)):
        sensors.make_sensor(kind, attributes, 0, 1)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", sorted(set(sensors.KINDS) - {"sensor.other.gnss"}))
@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e300, -1e9])
def test_senseless_poses_harm_no_one(kind: str, odd: float) -> None:
    """Whatever the pose of a sensor or an actor, a frame comes back and the next one is right."""
    scene = SensorScene(ray_worlds.town(hills=1.0, deck=True), ray_worlds.crowd(20, seed=3))
    attributes = {
        one.id: one.value for one in blueprints.build_blueprint_library()[kind].attributes
    }
    right = SensorPose((0.0, 0.0, 2.0), (0.0, 0.0, 0.0))
    expected = sensors.make_sensor(kind, attributes, 0, 1).capture(scene, right, 2, 0.05)
    sensor = sensors.make_sensor(kind, attributes, 0, 1)
    scene.table.position[3] = scene.table.rotation[4] = scene.table.extent[5] = odd
    with np.errstate(invalid="ignore", over="ignore"):
        for position, rotation in (((odd, 0, 2), (0, 0, 0)), ((0, 0, odd), (0, odd, 0))):
            sensor.capture(scene, SensorPose(position, rotation), 1, 0.05)
            scene.find_first_hit(np.array([position]), np.array([rotation]), 50.0)
    scene = SensorScene(scene.town, ray_worlds.crowd(20, seed=3))
    sensor = sensors.make_sensor(kind, attributes, 0, 1)
    assert sensor.capture(scene, right, 2, 0.05) == expected
