"""Sensors: rays, cameras, inertial sensors, each asked the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from harness.carlite.errors import CallError
from harness.carlite.sensors.camera import (
    ColourCamera,
    CosmosCamera,
    DepthCamera,
    InstanceCamera,
    SemanticCamera,
)
from harness.carlite.sensors.events import EventCamera
from harness.carlite.sensors.flow import FlowCamera
from harness.carlite.sensors.gnss import GnssSensor
from harness.carlite.sensors.inertial import ImuSensor
from harness.carlite.sensors.lidar import LidarSensor
from harness.carlite.sensors.normals import NormalsCamera
from harness.carlite.sensors.obstacle import ObstacleSensor
from harness.carlite.sensors.protocol import Sensor, SensorPose
from harness.carlite.sensors.radar import RadarSensor
from harness.carlite.sensors.semantic_lidar import SemanticLidar

__all__ = ["KINDS", "Sensor", "SensorPose", "make_sensor"]

Maker: TypeAlias = Callable[[Mapping[str, str], int, int], Sensor]

KINDS: dict[str, Maker] = {
    "sensor.camera.cosmos_visualization": CosmosCamera,
    "sensor.camera.depth": DepthCamera,
    "sensor.camera.dvs": EventCamera,
    "sensor.camera.instance_segmentation": InstanceCamera,
    "sensor.camera.normals": NormalsCamera,
    "sensor.camera.optical_flow": FlowCamera,
    "sensor.camera.rgb": ColourCamera,
    "sensor.camera.semantic_segmentation": SemanticCamera,
    "sensor.lidar.ray_cast": LidarSensor,
    "sensor.lidar.ray_cast_semantic": SemanticLidar,
    "sensor.other.gnss": GnssSensor,
    "sensor.other.imu": ImuSensor,
    "sensor.other.obstacle": ObstacleSensor,
    "sensor.other.radar": RadarSensor,
}


def make_sensor(type_id: str, attributes: Mapping[str, str], seed: int, sensor_id: int) -> Sensor:
    """Build a sensor from its blueprint's attributes; CallError if it cannot be built.

    As in CARLA, ray sensors of one `noise_seed` sample the same noise, whatever their ids, so that
    an episode played again after a reload is sensed alike.
    """
    if type_id not in KINDS:
        raise CallError(f"{type_id} is not simulated")
    return KINDS[type_id](attributes, seed, sensor_id)
