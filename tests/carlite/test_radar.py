"""The radar: where its rays go, how fast things come closer, and what it repeats."""

from __future__ import annotations

import numpy as np
import pytest

from harness.carlite import sensors
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from tests.carlite import ray_worlds

POSE = SensorPose((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), velocity=(10.0, 0.0, 0.0))
MANY = {"points_per_second": "40000", "horizontal_fov": "40", "vertical_fov": "20", "range": "60"}


def detections(
    scene: SensorScene, pose: SensorPose = POSE, seed: int = 0, **attributes: str
) -> Floats:
    """Velocity, azimuth, altitude, depth of each detection of one frame."""
    radar = sensors.make_sensor("sensor.other.radar", {**MANY, **attributes}, seed, 3)
    body = radar.capture(scene, pose, 1, 0.05)
    assert body is not None
    return np.frombuffer(body, np.float32).reshape(-1, 4).astype(np.float64)


@pytest.fixture(scope="module")
def road() -> SensorScene:
    """A car thirty metres ahead, going 4 m/s, and one to the right coming towards the radar."""
    table = ActorTable()
    for number, y, speed in ((1, 0.0, 4.0), (2, 8.0, -15.0)):
        table.add_actor(
            number, label=SemanticLabel.CAR, body=0, position=(30.0, y, 0.0), velocity=(speed, 0,
            0),
            box_centre=(0, 0, 0.74), extent=(2.4, 1.0, 0.74),
        )  # fmt: skip
    return SensorScene(ray_worlds.town(pieces=0), table)


def test_velocity_is_relative_and_along_the_ray(road: SensorScene) -> None:
    measured = detections(road)
    velocity, azimuth, altitude, depth = measured.T
    forward = np.cos(azimuth) * np.cos(altitude)
    speed = velocity / forward
    ahead = np.abs(speed + 6.0) < 1e-3
    oncoming = np.abs(speed + 25.0) < 1e-3
    still = np.abs(speed + 10.0) < 1e-3
    assert (ahead | oncoming | still).all()
    assert ahead.sum() > 10
    assert oncoming.sum() > 5
    assert depth[ahead] * forward[ahead] == pytest.approx(28.5, abs=1.2)
    assert (azimuth[oncoming] > 0.15).all()
    height = 1.0 + depth * np.sin(altitude)
    assert height[still] == pytest.approx(0.0, abs=1e-3)
    assert height.max() < 1.5


def test_rays_fill_an_ellipse_of_the_fields_of_view() -> None:
    place = ray_worlds.town(pieces=0)
    up = SensorPose((0.0, 0.0, 30.0), (-np.pi / 2, 0.0, 0.0))
    _, azimuth, altitude, depth = detections(SensorScene(place, ActorTable()), up).T
    assert len(depth) == 2000
    across, rise = np.tan(azimuth), np.tan(altitude) / np.cos(azimuth)
    radius = np.hypot(across / np.tan(np.radians(20)), rise / np.tan(np.radians(10)))
    assert radius.max() <= 1.0001
    assert np.quantile(radius, 0.5) == pytest.approx(0.5, abs=0.03)
    assert depth.min() == pytest.approx(30.0, abs=0.01)


def test_nothing_beyond_the_range(road: SensorScene) -> None:
    assert detections(road, range="20")[:, 3].max() < 22.0
    assert len(detections(road, range="0.5")) == 0
    assert len(detections(road, points_per_second="0")) == 0


def test_equal_seeds_give_equal_detections(road: SensorScene) -> None:
    np.testing.assert_array_equal(detections(road), detections(road))
    assert len(detections(road, noise_seed="5")) != 0
    assert not np.array_equal(detections(road, noise_seed="5")[:50], detections(road)[:50])
    assert not np.array_equal(detections(road, seed=5)[:50], detections(road)[:50])
