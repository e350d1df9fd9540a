"""What a front camera sees, with boxes: edges of boxes in the world, on pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from harness.types.geometry import build_pose_matrix, compose_poses
from harness.types.vocabulary import CameraImage, Floats, Pose
from harness.viewing.step import ShownPicture

FRONT = "front"
"""The camera that is shown."""
NEAREST, FARTHEST = 0.3, 70.0
"""Metres before the camera of what is shown in."""
EDGES = (
    *((0, 1), (1, 2), (2, 3), (3, 0)),
    *((4, 5), (5, 6), (6, 7), (7, 4)),
    *((0, 4), (1, 5), (2, 6), (3, 7)),
)
"""Corners that edges of a box join: four below, four above, four upright."""


def compute_box_corners(box: Floats) -> Floats:
    """Return (8, 3) corners of x, y, z, length, width, height, yaw in the same frame."""
    x, y, z, length, width, height, yaw = box
    ahead = np.array([0.5, 0.5, -0.5, -0.5] * 2) * length
    aside = np.array([-0.5, 0.5, 0.5, -0.5] * 2) * width
    up = np.repeat([-0.5, 0.5], 4) * height
    cos, sin = math.cos(yaw), math.sin(yaw)
    corners: Floats = np.stack(
        [x + cos * ahead - sin * aside, y + sin * ahead + cos * aside, z + up], axis=1
    )
    return corners


def project_box_edges(box: Floats, world_in_camera: Floats, intrinsics: Floats) -> Iterator[Floats]:
    """Yield the edges of a box before a camera, (2, 2) columns and rows of their ends.

    Args:
        box: x, y, z, length, width, height, yaw in the world.
        world_in_camera: (4, 4), x forward, y right, z up.
        intrinsics: (3, 3) in pixels.
    """
    corners = compute_box_corners(box) @ world_in_camera[:3, :3].T + world_in_camera[:3, 3]
    if not corners[:, 0].max() > NEAREST or corners[:, 0].min() > FARTHEST:
        return
    for first, second in EDGES:
        ends = corners[[first, second]]
        depths = ends[:, 0]
        if depths.max() <= NEAREST:
            continue
        # what lies behind the camera is cut off
        if depths.min() < NEAREST:
            behind = int(depths.argmin())
            share = (NEAREST - depths[behind]) / (depths[1 - behind] - depths[behind])
            ends[behind] += share * (ends[1 - behind] - ends[behind])
        rays = np.stack([ends[:, 1], -ends[:, 2], ends[:, 0]], axis=1) / ends[:, :1]
        yield (rays @ intrinsics.T)[:, :2]


def compute_world_in_camera(lidar_in_world: Pose, image: CameraImage) -> Floats:
    """Return (4, 4) from the world to the camera of an image.

    Args:
        lidar_in_world: of the agent that has the camera.
        image: says where the camera is.
    """
    camera = compose_poses(lidar_in_world, image.camera_in_lidar)
    return np.asarray(np.linalg.inv(build_pose_matrix(camera)), np.float64)


def find_nearest_partner(
    pictures: Sequence[ShownPicture], ego: str, here: Pose
) -> ShownPicture | None:
    """Return the picture of the partner nearest to a place; None without any.

    Args:
        pictures: of all agents; the first of equally near ones counts.
        ego: the name of the ego.
        here: the place.
    """
    return min(
        (picture for picture in pictures if picture.sender != ego),
        key=lambda one: math.hypot(one.lidar_in_world.x - here.x, one.lidar_in_world.y - here.y),
        default=None,
    )
