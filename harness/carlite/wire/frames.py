"""The 48 bytes before every sensor frame."""

from __future__ import annotations

import struct
from enum import IntEnum


class FrameKind(IntEnum):
    """Which decoder the client uses for a frame."""

    COLLISION = 0
    DEPTH = 1
    NORMALS = 2
    DVS = 3
    GNSS = 4
    IMU = 5
    LANE_INVASION = 6
    OBSTACLE = 7
    OPTICAL_FLOW = 8
    RADAR = 9
    SEMANTIC_LIDAR = 10
    LIDAR = 11
    RSS = 12
    RGB = 13
    SEMANTIC_SEGMENTATION = 14
    INSTANCE_SEGMENTATION = 15
    COSMOS = 16
    WORLD = 17
    V2X = 20
    V2X_CUSTOM = 21


KIND_OF = {
    "sensor.other.collision": FrameKind.COLLISION,
    "sensor.camera.cosmos_visualization": FrameKind.COSMOS,
    "sensor.camera.depth": FrameKind.DEPTH,
    "sensor.camera.normals": FrameKind.NORMALS,
    "sensor.camera.dvs": FrameKind.DVS,
    "sensor.other.gnss": FrameKind.GNSS,
    "sensor.other.imu": FrameKind.IMU,
    "sensor.other.lane_invasion": FrameKind.LANE_INVASION,
    "sensor.other.obstacle": FrameKind.OBSTACLE,
    "sensor.camera.optical_flow": FrameKind.OPTICAL_FLOW,
    "sensor.other.radar": FrameKind.RADAR,
    "sensor.lidar.ray_cast_semantic": FrameKind.SEMANTIC_LIDAR,
    "sensor.lidar.ray_cast": FrameKind.LIDAR,
    "sensor.other.rss": FrameKind.RSS,
    "sensor.camera.rgb": FrameKind.RGB,
    "sensor.camera.semantic_segmentation": FrameKind.SEMANTIC_SEGMENTATION,
    "sensor.camera.instance_segmentation": FrameKind.INSTANCE_SEGMENTATION,
    "sensor.other.v2x": FrameKind.V2X,
    "sensor.other.v2x_custom": FrameKind.V2X_CUSTOM,
}

NOWHERE = bytes(24)
_START = struct.Struct("<QQd")


def pack_frame_header(kind: FrameKind, frame: int, elapsed: float, pose: bytes = NOWHERE) -> bytes:
    """Return a frame's header; `pose` is the sensor's transform as the snapshot spells it."""
    return _START.pack(kind, frame, elapsed) + pose
