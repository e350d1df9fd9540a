"""Scanning posts: one full turn a sweep, any frame on demand, silence while at rest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import carla
import numpy as np
import pytest

from harness.common.errors import AttemptError
from harness.types.vocabulary import Pose
from harness.world import sensor_frames
from harness.world.attempt_context import AttemptContext
from harness.world.ego import EgoVehicle
from harness.world.poses import to_carla_transform
from harness.world.rig import LidarScan, ScanningPost, read_rig
from tests.world.staging import context_of, where

PLANNING = 0.2
RIG = read_rig()
RAYS = 25_000
"""What V2Xverse's ego LiDAR shoots in a turn."""


@pytest.fixture
def context(client: carla.Client, world: carla.World) -> AttemptContext:
    return context_of(client, world)


@pytest.fixture
def ego(context: AttemptContext) -> Iterator[EgoVehicle]:
    ego = EgoVehicle(context)
    for _ in range(10):
        context.world.tick()
    yield ego
    ego.destroy_ego()


@pytest.fixture
def post(context: AttemptContext, ego: EgoVehicle) -> Iterator[ScanningPost]:
    post = ScanningPost(context, RIG.ego, period=PLANNING, reads_points=True, carrier=ego.actor)
    post.start_scanning()
    yield post
    post.destroy_sensors()


def next_scan(context: AttemptContext, post: ScanningPost, ticks: int) -> LidarScan:
    for _ in range(ticks):
        frame = context.world.tick()
    return post.collect_scan(frame)


@pytest.mark.thorough
def test_a_sweep_is_one_turn(context: AttemptContext, post: ScanningPost) -> None:
    for scan in (next_scan(context, post, 1), next_scan(context, post, 4)):
        x, y = scan.points_in_lidar[:, 0], scan.points_in_lidar[:, 1]
        around, _ = np.histogram(np.arctan2(y, x), 72, (-math.pi, math.pi))
        assert (around > 0).all()
        assert RAYS / 2 < len(scan.points_in_lidar) <= RAYS


@pytest.mark.thorough
def test_once_in_a_planning_period(context: AttemptContext, post: ScanningPost) -> None:
    swept = []
    for _ in range(9):
        frame = context.world.tick()
        swept.append(post.has_sweep_in_frame(frame))
        if swept[-1]:
            post.collect_scan(frame)
    assert swept == [True, False, False, False] * 2 + [True]


def test_rest_and_listen_again(context: AttemptContext, post: ScanningPost) -> None:
    next_scan(context, post, 1)
    post.stop_scanning()
    for _ in range(3):
        context.world.tick()
    post.start_scanning()
    assert len(next_scan(context, post, 1).points_in_lidar) > RAYS / 2


@pytest.mark.thorough
def test_a_missing_frame_is_named(
    context: AttemptContext, post: ScanningPost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensor_frames, "PATIENCE", 0.3)
    scan = next_scan(context, post, 1)
    with pytest.raises(AttemptError, match="LiDAR frame") as caught:
        post.collect_scan(scan.frame + 1)
    assert caught.value.failure == "sensor_timeout"


@pytest.mark.thorough
def test_hits_are_counted_without_points(context: AttemptContext, ego: EgoVehicle) -> None:
    post = ScanningPost(context, RIG.ego, period=PLANNING, reads_points=False, carrier=ego.actor)
    post.start_scanning()
    scan = next_scan(context, post, 1)
    post.destroy_sensors()
    assert scan.points_in_lidar.shape == (0, 4)
    assert scan.hits[ego.actor.id] > 0


@pytest.mark.thorough
def test_a_post_moves(context: AttemptContext, ego: EgoVehicle) -> None:
    home = where(ego.actor)
    first, second = (Pose(home.x, home.y, 7.5 + n, yaw=0.5 + n) for n in range(2))
    mount = replace(RIG.roadside, yaw=0.0)
    post = ScanningPost(
        context, mount, period=PLANNING, reads_points=False, place=to_carla_transform(first)
    )
    post.start_scanning()
    seen = [next_scan(context, post, 1).lidar_in_world]
    post.move_lidar(to_carla_transform(second))
    seen.append(next_scan(context, post, 4).lidar_in_world)
    post.destroy_sensors()
    for pose, wanted in zip(seen, (first, second), strict=True):
        assert (pose.x, pose.y, pose.z, pose.yaw) == pytest.approx(
            (wanted.x, wanted.y, wanted.z, wanted.yaw), abs=1e-4
        )


@pytest.mark.thorough
def test_the_same_seed_makes_the_same_noise(context: AttemptContext, ego: EgoVehicle) -> None:
    mount = replace(RIG.ego, noise_stddev=0.05, dropoff_general_rate=0.2)
    posts = [
        ScanningPost(
            context, mount, period=PLANNING, reads_points=True, carrier=ego.actor, noise_seed=seed
        )
        for seed in (3, 3, 4)
    ]
    for post in posts:
        post.start_scanning()
    frame = context.world.tick()
    one, same, other = (post.collect_scan(frame).points_in_lidar.tobytes() for post in posts)
    for post in posts:
        post.destroy_sensors()
    assert one == same
    assert one != other
