"""Boxes that may be tilted, as OPV2V's files have them, and the upright boxes that are evaluated.

OpenCOOD moves the eight corners of a box from the world into a LiDAR's frame, and takes the upright
box from them: its length and width are those of the corners seen from above. The LiDAR of a braking
car is tilted by a degree or two, so a box that is upright in the world becomes shorter there: by
1.1 mm for a car of 4.9 m at 1.2 degrees. Boxes in recordings are upright in the frame of their
LiDAR. They are therefore written with the LiDAR's own tilt (decision 0098).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.types.geometry import build_pose_matrix, get_matrix_pose
from harness.types.vocabulary import Boxes, Floats, Pose

SIGNS = np.array(
    [(x, y, z) for z in (-1, 1) for x, y in ((1, -1), (1, 1), (-1, 1), (-1, -1))], np.float64
)
"""(8, 3): corners as OpenCOOD counts them; bottom first, from the front left."""
LARGEST_HALF = 50.0
"""Metres that half of a road user may have."""
LENGTHS = ((0, 3), (1, 2), (4, 7), (5, 6))
WIDTHS = ((0, 1), (3, 2), (4, 5), (7, 6))
"""Pairs of corners that an edge joins."""


def parse_opv2v_pose(numbers: Sequence[Any]) -> Pose:
    """Return the pose of `x y z roll yaw pitch`, in metres and degrees."""
    x, y, z, *angles = (float(number) for number in numbers)
    roll, yaw, pitch = (math.radians(angle) for angle in angles)
    pose = Pose(x, y, z, yaw=yaw, pitch=pitch, roll=roll)
    if not all(map(math.isfinite, (x, y, z, roll, yaw, pitch))):
        raise ValueError(f"a pose that is not finite: {list(numbers)}")
    return pose


def format_opv2v_pose(pose: Pose) -> list[float]:
    """Return a pose as `x y z roll yaw pitch`, in metres and degrees."""
    turns = [round(math.degrees(angle), 8) + 0.0 for angle in (pose.roll, pose.yaw, pose.pitch)]
    return [*(round(metres, 6) + 0.0 for metres in (pose.x, pose.y, pose.z)), *turns]


def format_tilted_box(box_in_lidar: Floats, lidar_in_world: Pose) -> dict[str, Any]:
    """Return a box that is upright in a LiDAR's frame as OPV2V writes boxes in the world.

    `location` is below the middle of the box and `center` leads from there to the middle; OpenCOOD
    adds both in the world's axes.

    Args:
        box_in_lidar: (7,) x y z length width height yaw, metres and radians.
        lidar_in_world: where the LiDAR stands.
    """
    x, y, z, length, width, height, yaw = box_in_lidar.tolist()
    stands = build_pose_matrix(lidar_in_world) @ build_pose_matrix(Pose(x, y, z, yaw=yaw))
    east, south, up, *angles = format_opv2v_pose(get_matrix_pose(stands))
    half = [round(size / 2, 6) for size in (length, width, height)]
    return {
        "angle": angles,  # roll, yaw, pitch
        "center": [0.0, 0.0, half[2]],
        "extent": half,
        "location": [east, south, round(up - half[2], 6)],
    }


def parse_tilted_boxes(records: Sequence[Mapping[str, Any]], lidar_in_world: Pose) -> Floats:
    """Return (N, 7) boxes in a LiDAR's frame of boxes in the world as OPV2V writes them.

    The definition is OpenCOOD's (`corner_to_center` and `create_bbx`, Xu et al., ICRA 2022):
    corners are moved, and the box is what they span on average.

    Args:
        records: `location`, `angle`, `extent`, and `center` where there is one.
        lidar_in_world: where the LiDAR stands.
    """
    inverse = np.linalg.inv(build_pose_matrix(lidar_in_world))
    corners = np.array([inverse @ _list_corners(record) for record in records])
    # (N, 8, 3)
    return measure_upright_boxes(corners[:, :3].transpose(0, 2, 1)) if records else np.zeros((0, 7))


def measure_upright_boxes(corners: Floats) -> Floats:
    """Return (N, 7) upright boxes of (N, 8, 3) corners in one frame."""
    flat = corners[..., :2]
    along = np.stack([flat[:, a] - flat[:, b] for a, b in LENGTHS], axis=1)
    aside = np.stack([flat[:, a] - flat[:, b] for a, b in WIDTHS], axis=1)
    # (N, 4, 2) edges: lengths on average, and the direction of their sum
    forward = along.sum(axis=1)
    return np.column_stack(
        [
            corners.mean(axis=1),
            np.linalg.norm(along, axis=2).mean(axis=1),
            np.linalg.norm(aside, axis=2).mean(axis=1),
            np.abs((corners[:, 4:, 2] - corners[:, :4, 2]).mean(axis=1)),
            np.arctan2(forward[:, 1], forward[:, 0]),
        ]
    )


def make_vehicle_boxes(geometry: Floats, classes: Sequence[int]) -> Boxes:
    """Return boxes with scores of 1."""
    return Boxes(geometry, np.array(classes, np.int64), np.ones(len(geometry)))


def _list_corners(record: Mapping[str, Any]) -> Floats:
    """Return the (4, 8) corners of a box in the world, with ones below."""
    half = np.array([float(size) for size in record["extent"]])
    middle = np.array([float(metres) for metres in record["location"]])
    middle = middle + [float(metres) for metres in record.get("center", (0.0, 0.0, 0.0))]
    fits = half.shape == middle.shape == (3,)
    if not fits or half.min() <= 0 or not half.max() < LARGEST_HALF:
        raise ValueError(f"a box of half sizes {half.tolist()} m")
    roll, yaw, pitch = (math.radians(float(angle)) for angle in record["angle"])
    x, y, z = middle.tolist()
    stands = build_pose_matrix(Pose(x, y, z, yaw=yaw, pitch=pitch, roll=roll))
    if not np.isfinite(stands).all():
        raise ValueError("a box that is not finite")
    local = np.column_stack([SIGNS * half, np.ones(8)])
    corners: Floats = stands @ local.T
    return corners
