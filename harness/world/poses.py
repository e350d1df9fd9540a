"""Between CARLA's transforms, in degrees, and ours."""

from __future__ import annotations

import math

import carla

from harness.types.vocabulary import Pose


def to_pose(transform: carla.Transform) -> Pose:
    """Return a transform as a pose."""
    place, turn = transform.location, transform.rotation
    return Pose(
        place.x,
        place.y,
        place.z,
        yaw=math.radians(turn.yaw),
        pitch=math.radians(turn.pitch),
        roll=math.radians(turn.roll),
    )


def make_pose_row(transform: carla.Transform) -> list[float]:
    """Return a transform as x y z in m, pitch yaw roll in degrees."""
    place, turn = transform.location, transform.rotation
    return [place.x, place.y, place.z, turn.pitch, turn.yaw, turn.roll]


def to_carla_transform(pose: Pose) -> carla.Transform:
    """Return a pose as a transform."""
    return carla.Transform(
        carla.Location(pose.x, pose.y, pose.z),
        carla.Rotation(
            pitch=math.degrees(pose.pitch),
            yaw=math.degrees(pose.yaw),
            roll=math.degrees(pose.roll),
        ),
    )
