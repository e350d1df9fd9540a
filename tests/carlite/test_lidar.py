"""The LiDARs' frames: pattern, turning, losses, noise, and what the semantic one adds."""

from __future__ import annotations

import struct
import subprocess
import sys

import numpy as np
import pytest

from harness.carlite import sensors
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats, Ints
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.noise import (
    build_quantile_table,
    hash_counter,
    sample_first_uniform,
    sample_standard_normal,
)
from harness.carlite.sensors.protocol import Sensor, SensorPose
from harness.carlite.sensors.scan import RayScan
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.semantic_lidar import POINT
from harness.carlite.sensors.sweep import LidarSweep
from tests.carlite import ray_worlds

LIDAR, SEMANTIC = "sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic"
POSE = SensorPose((0.0, 0.0, 2.4), (0.0, 0.0, 0.0))
WHOLE = {"dropoff_general_rate": "0", "dropoff_intensity_limit": "0", "range": "80"}
TURN = {"channels": "16", "rotation_frequency": "20", "points_per_second": str(16 * 360 * 20)}
DOWNWARD = {"upper_fov": "-5", "lower_fov": "-40"}


def lidar(**attributes: str) -> Sensor:
    return sensors.make_sensor(LIDAR, {**WHOLE, **TURN, **attributes}, 1, 9)


def read(body: bytes | None) -> tuple[float, Ints, Floats]:
    """Angle, points per channel, and all points of a frame."""
    assert body is not None
    angle, channels = struct.unpack_from("<fI", body)
    counts = np.frombuffer(body, np.uint32, channels, 8).astype(np.int64)
    points = np.frombuffer(body, np.float32, offset=8 + 4 * channels).reshape(-1, 4)
    assert counts.sum() == len(points)
    return angle, counts, points.astype(np.float64)


@pytest.fixture(scope="module")
def scene() -> SensorScene:
    return SensorScene(ray_worlds.town(), ray_worlds.crowd(60, seed=3))


@pytest.fixture(scope="module")
def plain() -> SensorScene:
    """Nothing but flat ground."""
    return SensorScene(ray_worlds.town(pieces=0), ActorTable())


def test_every_channel_fires_its_share_of_the_points(plain: SensorScene) -> None:
    _, counts, points = read(lidar(**DOWNWARD).capture(plain, POSE, 1, 0.05))
    np.testing.assert_array_equal(counts, 360)
    elevation = np.degrees(np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1])))
    expected = np.repeat(np.linspace(-5, -40, 16), 360)
    np.testing.assert_allclose(elevation, expected, atol=1e-4)
    np.testing.assert_allclose(points[:, 2], -2.4, atol=1e-5)
    odd = lidar(**DOWNWARD, channels="7", points_per_second="1000")
    assert read(odd.capture(plain, POSE, 1, 0.05))[1].tolist() == [7] * 7


def test_the_sweep_turns_on_from_frame_to_frame(plain: SensorScene) -> None:
    slow = lidar(**DOWNWARD, rotation_frequency="6", channels="1", points_per_second="2000")
    azimuths = []
    for frame in range(4):
        angle, _, points = read(slow.capture(plain, POSE, frame, 0.05))
        azimuths.append(np.degrees(np.arctan2(points[:, 1], points[:, 0])))
        assert angle == pytest.approx(np.radians((frame + 1) * 108 % 360), abs=1e-5)
    turned = np.unwrap(np.concatenate(azimuths), period=360)
    np.testing.assert_allclose(turned, -180 + np.arange(400) * 1.08, atol=1e-3)


def test_a_narrow_field_is_swept_from_side_to_side(plain: SensorScene) -> None:
    narrow = lidar(**DOWNWARD, horizontal_fov="90", channels="1", points_per_second="3600")
    for frame in range(2):
        _, _, points = read(narrow.capture(plain, POSE, frame, 0.05))
        azimuth = np.degrees(np.arctan2(points[:, 1], points[:, 0]))
        np.testing.assert_allclose(azimuth, -45 + np.arange(180) * 0.5, atol=1e-3)


def test_several_turns_in_one_tick_see_the_same_twice(scene: SensorScene) -> None:
    twice = lidar(rotation_frequency="40", points_per_second=str(16 * 720 * 20))
    _, counts, points = read(twice.capture(scene, POSE, 1, 0.05))
    start = 0
    for count in counts.tolist():
        half = start + count // 2
        np.testing.assert_allclose(points[start:half], points[half : start + count], atol=1e-3)
        start += count


def test_points_are_in_the_frame_of_the_sensor(scene: SensorScene) -> None:
    """Points, carried into the world by the pose, lie on the ground or above it."""
    pose = SensorPose((3.0, 1.0, 4.0), (0.1, 2.0, -0.2))
    _, _, points = read(lidar(**DOWNWARD).capture(scene, pose, 1, 0.05))
    world = points[:, :3] @ ray_worlds.turned(np.array(pose.rotation)).T + pose.position
    assert world[:, 2].min() == pytest.approx(0.0, abs=1e-4)
    assert (np.abs(world[:, 2]) < 1e-4).mean() > 0.3


def test_no_points_asked_is_an_empty_frame(plain: SensorScene) -> None:
    idle = lidar(points_per_second="0")
    _, counts, points = read(idle.capture(plain, POSE, 1, 0.05))
    assert (len(counts), len(points)) == (16, 0)
    assert read(lidar(range="1").capture(plain, POSE, 1, 0.05))[1].sum() == 0


def test_intensity_falls_with_the_distance(scene: SensorScene) -> None:
    _, _, points = read(lidar(atmosphere_attenuation_rate="0.02").capture(scene, POSE, 1, 0.05))
    distance = np.linalg.norm(points[:, :3], axis=1)
    np.testing.assert_allclose(points[:, 3], np.exp(-0.02 * distance), rtol=1e-5)


def test_points_are_lost_at_the_rates_asked(plain: SensorScene) -> None:
    many = {**DOWNWARD, "points_per_second": str(16 * 2000 * 20)}
    whole = read(lidar(**many).capture(plain, POSE, 1, 0.05))[2]
    some = read(lidar(**many, dropoff_general_rate="0.3").capture(plain, POSE, 1, 0.05))[2]
    assert len(some) / len(whole) == pytest.approx(0.7, abs=0.01)
    weak = lidar(
        **{**many, "dropoff_intensity_limit": "0.9", "dropoff_zero_intensity": "0.6"},
        atmosphere_attenuation_rate="0.02",
    )
    kept = read(weak.capture(plain, POSE, 1, 0.05))[2]
    strong = whole[np.exp(-0.02 * np.linalg.norm(whole[:, :3], axis=1)) > 0.9]
    assert (kept[:, 3] > 0.9).sum() == len(strong)
    intensity = np.exp(-0.02 * np.linalg.norm(whole[:, :3], axis=1))
    chance = np.where(intensity > 0.9, 1.0, 0.6 / 0.9 * intensity + 0.4)
    assert len(kept) == pytest.approx(chance.sum(), rel=0.01)


def test_noise_is_normal_and_runs_along_the_ray(plain: SensorScene) -> None:
    many = {**DOWNWARD, "points_per_second": str(16 * 2000 * 20)}
    clean = read(lidar(**many).capture(plain, POSE, 1, 0.05))[2]
    noisy = read(lidar(**many, noise_stddev="0.05").capture(plain, POSE, 1, 0.05))[2]
    np.testing.assert_array_equal(noisy[:, 3], clean[:, 3])
    length = np.linalg.norm(clean[:, :3], axis=1)
    shift = np.linalg.norm(noisy[:, :3], axis=1) - length
    along = noisy[:, :3] / (length + shift)[:, None]
    np.testing.assert_allclose(along, clean[:, :3] / length[:, None], atol=1e-5)
    assert shift.mean() == pytest.approx(0.0, abs=0.001)
    assert shift.std() == pytest.approx(0.05, rel=0.02)
    assert np.mean(np.abs(shift) > 0.1) == pytest.approx(0.0455, rel=0.1)


@pytest.mark.thorough
def test_counted_noise_is_uniform_and_normal() -> None:
    table = build_quantile_table()
    bits = [np.uint64(hash_counter(np.uint64(n))) for n in range(20000)]
    uniform = np.array([sample_first_uniform(one) for one in bits])
    gauss = np.array([sample_standard_normal(one, table) for one in bits])
    np.testing.assert_allclose(np.quantile(uniform, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.01)
    np.testing.assert_allclose([gauss.mean(), gauss.std()], [0, 1], atol=0.02)
    assert abs(np.corrcoef(uniform, gauss)[0, 1]) < 0.02
    assert abs(np.corrcoef(gauss[1:], gauss[:-1])[0, 1]) < 0.02


def test_noise_depends_on_seeds_and_frames_and_on_nothing_else(scene: SensorScene) -> None:
    def frames(seed: int, sensor_id: int, noise_seed: str, first: int) -> list[bytes | None]:
        attributes = {**TURN, "noise_stddev": "0.02", "noise_seed": noise_seed}
        sensor = sensors.make_sensor(LIDAR, attributes, seed, sensor_id)
        return [sensor.capture(scene, POSE, first + n, 0.05) for n in range(3)]

    reference = frames(1, 5, "0", 10)
    assert len(set(reference)) == 3
    assert frames(1, 77, "0", 900) == reference
    assert frames(2, 5, "0", 10)[0] != reference[0]
    assert frames(1, 5, "3", 10)[0] != reference[0]


DIGEST = """
import hashlib
from tests.carlite import test_lidar as t, ray_worlds as w
scene = t.SensorScene(w.town(hills=1.0, deck=True), w.crowd(60, seed=3))
digest = hashlib.sha256()
for kind in (t.LIDAR, t.SEMANTIC, "sensor.other.radar", "sensor.camera.rgb"):
    sensor = t.sensors.make_sensor(kind, {"noise_stddev": "0.02"}, 4, 2)
    for frame in range(3):
        digest.update(sensor.capture(scene, t.POSE, frame, 0.05))
print(digest.hexdigest())
"""


@pytest.mark.thorough
def test_other_processes_sense_the_same_bytes() -> None:
    digests = [
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": n},
        ).stdout
        for n in ("1", "2")
    ]
    assert len(digests[0]) == 65
    assert digests[0] == digests[1]


def test_the_car_that_carries_the_sensor_is_seen() -> None:
    """CARLA lets rays through the sensor alone: a roof in the way is hit."""
    table = ActorTable()
    table.add_actor(
        5, label=SemanticLabel.CAR, body=0, position=(0, 0, 0), box_centre=(0, 0, 0.74),
        extent=(2.4, 1.0, 0.74),
    )  # fmt: skip
    scene = SensorScene(ray_worlds.town(pieces=0), table)
    pose = SensorPose((0.0, 0.0, 1.8), (0.0, 0.0, 0.0), parent=5)
    body = sensors.make_sensor(SEMANTIC, {**TURN, **DOWNWARD}, 0, 1).capture(scene, pose, 1, 0.05)
    assert body is not None
    points = np.frombuffer(body, POINT, offset=8 + 64)
    roof = points[points["actor"] == 5]
    assert len(roof) > 100
    assert (roof["label"] == SemanticLabel.CAR).all()
    assert -0.5 < np.median(roof["z"]) < 0.0


def test_semantic_points_have_incidence_actor_and_label() -> None:
    place, table = ray_worlds.town(hills=2.0), ray_worlds.crowd(60, seed=3)
    scene, pose = SensorScene(place, table), SensorPose((0.0, 0.0, 2.4), (0.1, 0.5, -0.1))
    body = sensors.make_sensor(SEMANTIC, {**TURN, "range": "80"}, 0, 1).capture(
        scene, pose, 1, 0.05
    )
    assert body is not None
    points = np.frombuffer(body, POINT, offset=8 + 64)
    origin = np.array(pose.position)
    triangles = ray_worlds.triangles_of(place, table, origin, 80.0).seen_from(origin)
    local = np.stack([points[axis] for axis in "xyz"], axis=1).astype(np.float64)
    rays = local / np.linalg.norm(local, axis=1)[:, None]
    rays = rays @ ray_worlds.turned(np.array(pose.rotation)).T
    _, which = ray_worlds.embree_hits(ray_worlds.embree_scene(triangles), origin, rays)
    a, b, c = triangles.corners[which].transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    cosine = np.abs(np.einsum("ij,ij->i", normal, rays))
    assert (np.abs(points["cosine"] - cosine) < 1e-3).mean() > 0.99
    assert (points["actor"] == triangles.actor[which]).mean() > 0.999
    for label in (
        SemanticLabel.CAR,
        SemanticLabel.BUILDING,
        SemanticLabel.POLE,
        SemanticLabel.ROAD,
        SemanticLabel.TERRAIN,
    ):
        assert (points["label"] == label).any()
    assert (
        points["actor"][np.isin(points["label"], (SemanticLabel.BUILDING, SemanticLabel.ROAD))] == 0
    ).all()


def of_kind(kind: str, **attributes: str) -> Sensor:
    return sensors.make_sensor(kind, {**WHOLE, **TURN, **attributes}, 1, 9)


def test_lidars_of_one_pattern_at_one_place_share_what_is_cast(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their frames are those of each alone; another pattern, place or moment is scanned again."""
    cast: list[SensorPose] = []
    cast_rays = LidarSweep._render_scan

    def counted(self: LidarSweep, scene: SensorScene, pose: SensorPose, dt: float) -> RayScan:
        cast.append(pose)
        return cast_rays(self, scene, pose, dt)

    monkeypatch.setattr(LidarSweep, "_render_scan", counted)
    town, crowd = ray_worlds.town(), ray_worlds.crowd(60, seed=3)
    aside = SensorPose((5.0, 0.0, 2.4), (0.0, 0.0, 0.0))
    together = SensorScene(town, crowd)
    looks: list[tuple[str, SensorPose, dict[str, str]]] = [
        (LIDAR, POSE, {}),
        (SEMANTIC, POSE, {}),
        (SEMANTIC, aside, {}),
        (LIDAR, POSE, {"upper_fov": "5"}),
    ]
    watching = [(of_kind(kind, **more), pose) for kind, pose, more in looks]
    for frame in (1, 2):
        shared = [one.capture(together, pose, frame, 0.03) for one, pose in watching]
    assert len(cast) == 2 * 3
    for (kind, pose, more), frames in zip(looks, shared, strict=True):
        alone, place = of_kind(kind, **more), SensorScene(town, crowd)
        alone.capture(place, pose, 1, 0.03)
        assert alone.capture(place, pose, 2, 0.03) == frames


def test_a_scan_whose_arrays_are_written_again_is_forgotten(scene: SensorScene) -> None:
    first, second = lidar(), lidar()
    once = first.capture(scene, POSE, 1, 0.03)
    first.capture(scene, POSE, 1, 0.03)
    assert second.capture(scene, POSE, 1, 0.03) == once


def test_four_sensors_share_one_refresh(scene: SensorScene) -> None:
    """Sensors of one frame see one scene, whatever order they are captured in."""
    poses = [SensorPose((float(n), 0.0, 2.4), (0.0, float(n), 0.0)) for n in range(4)]
    forward = [lidar().capture(scene, pose, 5, 0.05) for pose in poses]
    backward = [lidar().capture(scene, pose, 5, 0.05) for pose in poses[::-1]]
    assert forward == backward[::-1]
