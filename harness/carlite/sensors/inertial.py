"""The inertial measurement unit: accelerometer, gyroscope and compass, in the sensor's frame.

As in CARLA, a unit at rest measures +9.81 m/s² upward, and the compass reads 0 where the sensor
looks along -y and grows clockwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgpack
import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.randomness import make_random_stream
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.protocol import SensorPose

GRAVITY = 9.81


class ImuSensor:
    """`sensor.other.imu`: the body is msgpack `[accelerometer, gyroscope, compass]`."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        def vector(name: str) -> Floats:
            return np.array([float(attributes[f"{name}_{axis}"]) for axis in "xyz"])

        self._deviation = np.stack([vector("noise_accel_stddev"), vector("noise_gyro_stddev")])
        self._bias = np.stack([np.zeros(3), vector("noise_gyro_bias")])
        self._noise = (seed, "imu", attributes["noise_seed"])
        self._first_frame: int | None = None

    def capture(self, scene: object, pose: SensorPose, frame: int, dt: float) -> bytes:
        """Return what the unit feels; it needs nothing of the scene."""
        if self._first_frame is None:
            self._first_frame = frame
        pitch, yaw, roll = map(float, pose.rotation)
        # (2, 3) acceleration and turn; at rest the ground pushes upwards
        felt = np.array([pose.acceleration, pose.angular_velocity], np.float64)
        felt[0, 2] += GRAVITY
        # in the frame of the sensor, with its bias and noise
        measured = felt @ build_rotation_matrix(pitch, yaw, roll) + self._bias
        if self._deviation.any():
            measured += self._deviation * make_random_stream(
                *self._noise, frame - self._first_frame
            ).standard_normal((2, 3))
        # rad from north, which is -y
        compass = (yaw + math.pi / 2) % (2 * math.pi)
        return bytes(msgpack.packb([*measured.tolist(), compass]))
