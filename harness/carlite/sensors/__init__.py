"""Sensors: rays, cameras, inertial sensors, each asked the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from harness.carlite.errors import CallError
from harness.carlite.sensors.camera import (
    ColourCamera,
    DepthCamera,
    InstanceCamera,
    SemanticCamera,
)
from harness.carlite.sensors.gnss import Gnss
from harness.carlite.sensors.inertial import Imu
from harness.carlite.sensors.lidar import Lidar
from harness.carlite.sensors.obstacle import Obstacle
from harness.carlite.sensors.protocol import Pose, Sensor
from harness.carlite.sensors.radar import Radar
from harness.carlite.sensors.semantic_lidar import SemanticLidar

__all__ = ["KINDS", "Pose", "Sensor", "make"]

Maker: TypeAlias = Callable[[Mapping[str, str], int, int], Sensor]

KINDS: dict[str, Maker] = {
    "sensor.camera.depth": DepthCamera,
    "sensor.camera.instance_segmentation": InstanceCamera,
    "sensor.camera.rgb": ColourCamera,
    "sensor.camera.semantic_segmentation": SemanticCamera,
    "sensor.lidar.ray_cast": Lidar,
    "sensor.lidar.ray_cast_semantic": SemanticLidar,
    "sensor.other.gnss": Gnss,
    "sensor.other.imu": Imu,
    "sensor.other.obstacle": Obstacle,
    "sensor.other.radar": Radar,
}


def make(type_id: str, attributes: Mapping[str, str], seed: int, sensor_id: int) -> Sensor:
    """Build a sensor from its blueprint's attributes; CallError if it cannot be built.

    As in CARLA, ray sensors of one `noise_seed` sample the same noise, whatever their ids, so that
    an episode played again after a reload is sensed alike.
    """
    if type_id not in KINDS:
        raise CallError(f"{type_id} is not simulated")
    return KINDS[type_id](attributes, seed, sensor_id)
