"""An agent's list of sensors, in the Leaderboard's form, as requests for the rig."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.common.errors import UserError
from harness.types.agent_sensors import SensorRequest
from harness.types.vocabulary import Pose

LIDAR = {
    "range": "85",
    "rotation_frequency": "10",
    "channels": "64",
    "upper_fov": "10",
    "lower_fov": "-30",
    "points_per_second": "600000",
    "atmosphere_attenuation_rate": "0.004",
    "dropoff_general_rate": "0.45",
    "dropoff_intensity_limit": "0.8",
    "dropoff_zero_intensity": "0.4",
}
RADAR = {"points_per_second": "1500", "range": "100"}
GNSS = {f"noise_{axis}_stddev": "0.000005" for axis in ("lat", "lon", "alt")}
IMU = {
    "noise_accel_stddev_x": "0.001",
    "noise_accel_stddev_y": "0.001",
    "noise_accel_stddev_z": "0.015",
    "noise_gyro_stddev_x": "0.001",
    "noise_gyro_stddev_y": "0.001",
    "noise_gyro_stddev_z": "0.001",
}
CAMERAS = tuple(
    f"sensor.camera.{name}"
    for name in ("rgb", "depth", "semantic_segmentation", "instance_segmentation")
)
FIXED: dict[str, dict[str, str]] = {
    "sensor.lidar.ray_cast": LIDAR,
    "sensor.other.radar": RADAR,
    "sensor.other.gnss": GNSS,
    "sensor.other.imu": IMU,
    "sensor.speedometer": {},
    **{camera: {} for camera in CAMERAS},
}
"""Kinds of sensors with the numbers that Leaderboard 1 and 2 give them, whatever the agent says."""
V2XVERSE_LIDAR = LIDAR | {
    "rotation_frequency": "20",
    "points_per_second": "500000",
    "dropoff_general_rate": "0",
}
V2XVERSE: dict[str, dict[str, str]] = {
    **FIXED,
    "sensor.lidar.ray_cast": V2XVERSE_LIDAR,
    "sensor.other.gnss": {},
}
"""What V2Xverse's form of Leaderboard 1 changes: a whole turn in each tick, and exact positions."""
OLD_LIDAR = ("TCP", "LAV", "transfuser", "interfuser", "WOR", "lmdrive")
"""Values of `agent_name` for which V2Xverse mounts the Leaderboard's LiDAR."""
MAP = "sensor.opendrive_map"
"""The town's map is no sensor of the rig: the child gives it."""


def read_sensor_list(
    listed: Sequence[Mapping[str, Any]], agent_name: str | None = None
) -> list[SensorRequest]:
    """Return what the rig mounts; one line says what is wrong in an agent's list.

    Args:
        listed: what the agent's `sensors()` returned.
        agent_name: of an agent in V2Xverse's form; None: of the Leaderboard's own.
    """
    fixed = FIXED if agent_name is None else V2XVERSE
    if agent_name in OLD_LIDAR:
        fixed = {**V2XVERSE, "sensor.lidar.ray_cast": LIDAR}
    requests, names = [], set()
    for spec in listed:
        kind, name = spec.get("type"), spec.get("id")
        if not isinstance(kind, str) or not isinstance(name, str):
            raise UserError(f"the agent's sensors(): {dict(spec)} has no type or no id")
        if name in names:
            raise UserError(f"the agent's sensors(): {name!r} is there twice")
        names.add(name)
        if kind == MAP:
            continue
        if kind not in FIXED:
            known = ", ".join(sorted([*FIXED, MAP]))
            raise UserError(f"the agent's sensors(): {name!r} is of type {kind!r}; known: {known}")
        try:
            requests.append(
                SensorRequest(
                    name=name,
                    kind=kind,
                    on_vehicle=read_mount(spec),
                    attributes=dict(fixed[kind]) | list_attributes(kind, spec),
                )
            )
        except KeyError as missing:
            raise UserError(f"the agent's sensors(): {name!r} has no {missing}") from None
        except (TypeError, ValueError) as problem:
            raise UserError(f"the agent's sensors(): {name!r}: {problem}") from None
    return requests


def read_mount(spec: Mapping[str, Any]) -> Pose:
    """Return where a sensor is mounted; angles are given in degrees."""
    yaw, pitch, roll = (math.radians(float(spec.get(a, 0.0))) for a in ("yaw", "pitch", "roll"))
    if spec["type"] == "sensor.other.gnss":  # has no direction
        yaw = pitch = roll = 0.0
    x, y, z = (float(spec.get(axis, 0.0)) for axis in "xyz")
    pose = Pose(x, y, z, yaw=yaw, pitch=pitch, roll=roll)
    if not all(map(math.isfinite, (x, y, z, yaw, pitch, roll))):
        raise ValueError("its place is not finite")
    return pose


def list_attributes(kind: str, spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes of a sensor's blueprint that the agent chooses."""
    attributes: dict[str, str] = {}
    if kind in CAMERAS:
        attributes |= {
            "image_size_x": str(int(spec["width"])),
            "image_size_y": str(int(spec["height"])),
            "fov": str(float(spec["fov"])),
        }
    if kind == "sensor.other.radar":
        # Leaderboard 1 has one angle for both
        for name in ("horizontal_fov", "vertical_fov"):
            attributes[name] = str(float(spec[name] if name in spec else spec["fov"]))
    return attributes
