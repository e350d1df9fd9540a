"""An asymmetric scene through the whole chain: sensors, mounts, poses, boxes, truth.

Where things stand is worked out by `carla.Transform`, never by our own arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import carla
import numpy as np
import pytest

from harness.types.geometry import (
    build_pose_matrix,
    compose_poses,
    compute_relative_pose,
    transform_boxes,
    transform_points,
)
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Floats,
    Mask,
    Pose,
    Singles,
)
from harness.world.attempt_context import AttemptContext
from harness.world.ego import EgoVehicle
from harness.world.poses import to_carla_transform, to_pose
from harness.world.rig import LidarScan, ScanningPost, read_rig
from harness.world.scene import ActorRegistry, GroundTruthScene, repair_extents
from tests.conftest import Carlite, synchronous
from tests.world.staging import clear_away, context_of, stand, where

STANDING = {
    "vehicle.mercedes.sprinter": (14.0, 4.5, 0.5, VEHICLE),
    "walker.pedestrian.0004": (8.0, -3.0, 0.0, PEDESTRIAN),
    "vehicle.gazelle.omafiets": (-9.0, 3.5, -0.8, CYCLIST),
}
"""Metres forward and right of the ego, turned clockwise, and the class."""


@dataclass(kw_only=True)
class Golden:
    context: AttemptContext
    ego: EgoVehicle
    actors: dict[str, carla.Actor]
    scene: GroundTruthScene
    ego_scan: LidarScan
    unit_scan: LidarScan


@pytest.fixture(scope="module", params=[-90.0, 0.0, 25.0])
def golden(carlite: Carlite, request: pytest.FixtureRequest) -> Iterator[Golden]:
    """The ego turned out of its lane, three others round it, a unit looking elsewhere."""
    client = carlite.fresh_client()
    world = synchronous(client)
    clear_away(world)
    context = context_of(client, world)
    ego = EgoVehicle(context)
    for _ in range(20):
        world.tick()
    home = where(ego.actor)
    turned = Pose(home.x, home.y, home.z, yaw=home.yaw + 0.21)
    ego.actor.set_simulate_physics(False)
    ego.actor.set_transform(to_carla_transform(turned))
    actors = {
        name: stand(world, name, turned, forward, right, angle)
        for name, (forward, right, angle, _) in STANDING.items()
    }
    for _ in range(40):
        world.tick()
    rig = read_rig()
    mount, pole = (replace(lidar, yaw=request.param) for lidar in (rig.ego, rig.roadside))
    place = compose_poses(turned, Pose(12.0, 9.0, 7.5, yaw=-1.1))
    sensor = compose_poses(place, Pose(0.0, 0.0, yaw=math.radians(request.param)))
    posts = [
        ScanningPost(context, mount, period=0.05, reads_points=True, carrier=ego.actor),
        ScanningPost(
            context, pole, period=0.05, reads_points=True, place=to_carla_transform(sensor)
        ),
    ]
    for post in posts:
        post.start_scanning()
    frame = world.tick()
    ego_scan, unit_scan = (post.collect_scan(frame) for post in posts)
    registry = ActorRegistry(world)
    registry.read_scene(world.get_snapshot())  # reading it leaves everything where it is
    scene = registry.read_scene(world.get_snapshot())
    for post in posts:
        post.destroy_sensors()
    yield Golden(
        context=context,
        ego=ego,
        actors=actors,
        scene=scene,
        ego_scan=ego_scan,
        unit_scan=unit_scan,
    )
    # its sensor keeps the client alive, which each later world would have to wait for
    ego.destroy_ego()


def inside(points: Singles, box: Floats, margin: float) -> Mask:
    """Say which points lie within an upright box."""
    x, y, z, length, width, height, yaw = box
    ahead, aside = points[:, 0] - x, points[:, 1] - y
    forward = math.cos(yaw) * ahead + math.sin(yaw) * aside
    right = math.cos(yaw) * aside - math.sin(yaw) * ahead
    within = np.abs(forward) <= length / 2 + margin
    within &= np.abs(right) <= width / 2 + margin
    return np.asarray(within & (np.abs(points[:, 2] - z) <= height / 2 + margin))


def truth(golden: Golden, scan: LidarScan) -> dict[str, tuple[Floats, int]]:
    """Return box and hits of each by name, as that LiDAR sees them."""
    seen_boxes = golden.scene.select_ground_truth(
        scan.lidar_in_world, scan.hits, 85.0, golden.ego.actor.id
    )
    names = {actor.id: name for name, actor in golden.actors.items()}
    return {
        names[number]: (box, hits)
        for number, box, hits in zip(
            seen_boxes.actor_ids.tolist(),
            seen_boxes.boxes_in_lidar.geometry,
            seen_boxes.hits,
            strict=True,
        )
    }


@pytest.mark.thorough
def test_boxes_stand_where_they_were_put(golden: Golden) -> None:
    seen_boxes = truth(golden, golden.ego_scan)
    assert set(seen_boxes) == set(STANDING)
    for name, (forward, right, angle, _) in STANDING.items():
        x, y, _, length, width, height, yaw = seen_boxes[name][0]
        extent = golden.actors[name].bounding_box.extent
        assert (x + 1.3, y) == pytest.approx((forward, right), abs=0.1), name
        assert yaw == pytest.approx(angle, abs=0.03), name
        assert (length, width, height) == pytest.approx((2 * extent.x, 2 * extent.y, 2 * extent.z))


def test_boxes_rest_on_the_ground(golden: Golden) -> None:
    for name, (box, _) in truth(golden, golden.ego_scan).items():
        assert box[2] - box[5] / 2 == pytest.approx(-1.85, abs=0.12), name


def test_classes(golden: Golden) -> None:
    kinds = dict(
        zip(golden.scene.actor_ids.tolist(), golden.scene.boxes_in_world.classes, strict=True)
    )
    assert {n: kinds[a.id] for n, a in golden.actors.items()} == {
        name: kind for name, (*_, kind) in STANDING.items()
    }


def test_the_lidar_looks_where_the_ego_looks(golden: Golden) -> None:
    car = golden.ego.actor.get_transform()
    mounted = car.transform(carla.Location(1.3, 0.0, 1.85))
    pose = golden.ego_scan.lidar_in_world
    assert (pose.x, pose.y, pose.z) == pytest.approx((mounted.x, mounted.y, mounted.z), abs=1e-3)
    assert math.cos(pose.yaw - math.radians(car.rotation.yaw)) == pytest.approx(1.0, abs=1e-6)


def test_returns_lie_on_the_boxes(golden: Golden) -> None:
    for scan in (golden.ego_scan, golden.unit_scan):
        for name, (box, hits) in truth(golden, scan).items():
            count = int(inside(scan.points_in_lidar, box, 0.06).sum())
            assert hits >= 5, name
            assert 0.7 * hits < count < 1.3 * hits + 30, (name, hits, count)


def test_the_unit_and_the_ego_agree(golden: Golden) -> None:
    ego, unit = golden.ego_scan, golden.unit_scan
    for name, (box, hits) in truth(golden, unit).items():
        shared = Boxes(box[None], np.array([0]), np.ones(1))
        brought = transform_boxes(shared, unit.lidar_in_world, ego.lidar_in_world).geometry[0]
        ego_box = truth(golden, ego)[name][0]
        assert brought[:6] == pytest.approx(ego_box[:6], abs=1e-6)
        assert math.cos(brought[6] - ego_box[6]) == pytest.approx(1.0)
        points = transform_points(unit.points_in_lidar, unit.lidar_in_world, ego.lidar_in_world)
        assert inside(points, ego_box, 0.06).sum() >= 0.7 * hits


def test_nothing_of_the_ego_itself_is_left(golden: Golden) -> None:
    near = np.abs(golden.ego_scan.points_in_lidar[:, :2]) < (0.6, 0.9)
    assert not near.all(axis=1).any()


def test_zero_extents_are_repaired_and_reported(capsys: pytest.CaptureFixture[str]) -> None:
    whole = (1.0, 0.4, 0.9)
    assert repair_extents("vehicle.a.bike", whole, CYCLIST) == whole
    assert capsys.readouterr().err == ""
    assert repair_extents("vehicle.a.bike", (1.0, 0.0, 0.9), CYCLIST) == (1.0, 0.35, 0.9)
    assert "vehicle.a.bike" in capsys.readouterr().err


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (30.0, 20.0, 10.0), (-75.0, 200.0, -160.0)])
def test_geometry_agrees_with_carla(turn: tuple[float, float, float]) -> None:
    pitch, yaw, roll = turn
    outer = carla.Transform(
        carla.Location(3.0, -4.0, 5.0), carla.Rotation(pitch=pitch, yaw=yaw, roll=roll)
    )
    assert build_pose_matrix(to_pose(outer)) == pytest.approx(
        np.array(outer.get_matrix()), abs=1e-5
    )
    inner = Pose(1.0, 2.0, -3.0, yaw=0.4, pitch=-0.3, roll=0.2)
    composed = compose_poses(to_pose(outer), inner)
    place = outer.transform(carla.Location(inner.x, inner.y, inner.z))
    assert (composed.x, composed.y, composed.z) == pytest.approx(
        (place.x, place.y, place.z), abs=1e-4
    )
    back = compute_relative_pose(composed, to_pose(outer))
    assert build_pose_matrix(back) == pytest.approx(build_pose_matrix(inner), abs=1e-6)
