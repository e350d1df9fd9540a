"""Observations and messages as frames for the child, and its boxes as ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import (
    VEHICLE,
    Boxes,
    Features,
    Floats,
    Message,
    Observation,
    Points,
    Pose,
    Singles,
)

CAMERAS = ("front", "right", "left", "rear")
"""OPV2V's order, camera0 to camera3."""
Request = tuple[dict[str, Any], dict[str, Any]]


def make_agent_request(
    observation: Observation, modality: str, lift: float, speed: float = 0.0
) -> Request:
    """Return an agent that senses, in words and arrays.

    Args:
        observation: its own.
        modality: such as `m1`, or `lidar`.
        lift: metres added to heights.
        speed: m/s.
    """
    name = observation.sender
    words = describe_agent(name, observation.kind, observation.lidar_in_world, modality)
    words.update(speed=speed, is_ego=True)
    arrays: dict[str, Any] = {f"{name}/points": lift_points(observation.points_in_lidar, lift)}
    images = {image.name: image for image in observation.images}
    for place, camera in enumerate(name for name in CAMERAS if name in images):
        image = images[camera]
        matrix = build_pose_matrix(image.camera_in_lidar)
        matrix[2, 3] += lift
        words["cameras"].append({"matrix": matrix.tolist(), "intrinsic": image.intrinsics.tolist()})
        arrays[f"{name}/image{place}"] = image.pixels
    return words, arrays


def make_message_request(message: Message, modality: str, lift: float, now: float) -> Request:
    """Return a partner by its message, in words and arrays.

    Args:
        message: with boxes, points or features.
        modality: such as `m1`, or `lidar`.
        lift: metres added to heights.
        now: seconds of the step.
    """
    name, payload = message.sender, message.payload
    words = describe_agent(name, message.kind, message.lidar_in_world, modality)
    words["delay"] = max(0.0, now - message.capture_time)
    if isinstance(payload, Points):
        return words, {f"{name}/points": lift_points(payload.in_lidar, lift)}
    if isinstance(payload, Features):
        return words, {f"{name}/features": payload.maps[0]}
    rows = payload.geometry + np.array([0.0, 0.0, lift, 0.0, 0.0, 0.0, 0.0])
    return words, {f"{name}/boxes": rows, f"{name}/scores": payload.scores}


def is_without_features(message: Message) -> bool:
    """Return whether a message is of a sender that had too few points to encode."""
    return isinstance(message.payload, Features) and not message.payload.maps


def describe_agent(name: str, kind: str, pose: Pose, modality: str) -> dict[str, Any]:
    """Return what an agent is and where it believes its LiDAR to be."""
    return {
        "name": name,
        "kind": kind,
        "pose": [pose.x, pose.y, pose.z, pose.yaw, pose.pitch, pose.roll],
        "modality": modality,
        "cameras": [],
        "speed": 0.0,
        "delay": 0.0,
        "is_ego": False,
    }


def lift_points(points: Singles, lift: float) -> Singles:
    """Return points with their heights raised."""
    return points + np.array([0.0, 0.0, lift, 0.0], np.float32)


def make_boxes(name: str, answer: dict[str, Any], lift: float) -> Boxes:
    """Return the child's boxes, all of them vehicles, at their true heights."""
    rows: Floats = np.array(answer[f"{name}_boxes"], np.float64).reshape(-1, 7)
    rows[:, 2] -= lift
    scores: Floats = np.array(answer[f"{name}_scores"], np.float64)
    return Boxes(rows, np.full(len(rows), VEHICLE, np.int64), scores)
