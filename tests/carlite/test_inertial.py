from __future__ import annotations

import math

import msgpack
import numpy as np
import pytest

from harness.carlite.arrays import Floats
from harness.carlite.blueprints import build_blueprint_library, resolve_actor_attributes
from harness.carlite.sensors import SensorPose
from harness.carlite.sensors.inertial import GRAVITY, ImuSensor

Vector = tuple[float, float, float]


def sensor(noise: dict[str, str] | None = None, seed: int = 1, sensor_id: int = 5) -> ImuSensor:
    return ImuSensor(
        resolve_actor_attributes(build_blueprint_library()["sensor.other.imu"], noise or {}),
        seed,
        sensor_id,
    )


def feel(
    imu: ImuSensor,
    rotation: Vector,
    acceleration: Vector = (0, 0, 0),
    spin: Vector = (0, 0, 0),
    frame: int = 1,
) -> tuple[Floats, Floats, float]:
    pose = SensorPose((1.0, 2.0, 3.0), rotation, angular_velocity=spin, acceleration=acceleration)
    accelerometer, gyroscope, compass = msgpack.unpackb(imu.capture(None, pose, frame, 0.05))
    return np.array(accelerometer), np.array(gyroscope), compass


def test_at_rest_it_feels_gravity_upward() -> None:
    accelerometer, gyroscope, _ = feel(sensor(), (0, 0.7, 0))
    assert accelerometer == pytest.approx((0, 0, GRAVITY))
    assert gyroscope == pytest.approx((0, 0, 0))


@pytest.mark.parametrize(
    ("rotation", "felt"),
    [
        ((math.pi / 2, 0, 0), (GRAVITY, 0, 0)),
        ((0, 0, math.pi / 2), (0, -GRAVITY, 0)),
        ((0, 0, math.pi), (0, 0, -GRAVITY)),
    ],
)
def test_tilted_it_feels_gravity_along_the_axis_that_points_up(
    rotation: Vector, felt: Vector
) -> None:
    assert feel(sensor(), rotation)[0] == pytest.approx(felt, abs=1e-12)


def test_acceleration_ahead_is_along_x_whatever_the_heading() -> None:
    for yaw in np.linspace(-3, 3, 7):
        ahead = (2 * math.cos(yaw), 2 * math.sin(yaw), 0.0)
        assert feel(sensor(), (0, yaw, 0), ahead)[0] == pytest.approx((2, 0, GRAVITY))


def test_a_turn_is_felt_about_the_up_axis_of_the_sensor() -> None:
    assert feel(sensor(), (0, 1.0, 0), spin=(0, 0, 0.4))[1] == pytest.approx((0, 0, 0.4))
    assert feel(sensor(), (math.pi / 2, 0, 0), spin=(0, 0, 0.4))[1] == pytest.approx((0.4, 0, 0))


@pytest.mark.parametrize(
    ("degrees", "reading"), [(-90, 0), (0, 90), (90, 180), (180, 270), (-91, 359), (-180, 270)]
)
def test_compass(degrees: float, reading: float) -> None:
    compass = feel(sensor(), (0, math.radians(degrees), 0))[2]
    assert math.degrees(compass) == pytest.approx(reading, abs=1e-9)


def test_noise_has_the_bias_and_spread_asked_for_and_repeats() -> None:
    noise = {
        "noise_accel_stddev_x": "0.1", "noise_gyro_stddev_z": "0.02", "noise_gyro_bias_z": "0.5",
    }  # fmt: skip
    imu = sensor(noise)
    felt = [feel(imu, (0, 0, 0), frame=frame) for frame in range(2000)]
    accelerometer = np.array([a for a, _, _ in felt])
    gyroscope = np.array([g for _, g, _ in felt])
    assert accelerometer.mean(axis=0) == pytest.approx((0, 0, GRAVITY), abs=0.02)
    assert accelerometer.std(axis=0) == pytest.approx((0.1, 0, 0), rel=0.08, abs=1e-12)
    assert gyroscope.mean(axis=0) == pytest.approx((0, 0, 0.5), abs=0.005)
    assert gyroscope.std(axis=0) == pytest.approx((0, 0, 0.02), rel=0.08, abs=1e-12)
    pose = SensorPose((0, 0, 0), (0, 0, 0))
    first = imu.capture(None, pose, 0, 0.05)
    later = sensor(noise, sensor_id=6)
    assert later.capture(None, pose, 5000, 0.05) == first
    assert later.capture(None, pose, 5001, 0.05) != first
    assert sensor({"noise_seed": "1", **noise}).capture(None, pose, 0, 0.05) != first
    assert sensor(noise, seed=2).capture(None, pose, 0, 0.05) != first
