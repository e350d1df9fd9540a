"""Poses in right-handed frames, y to the left, as nuScenes and Foxglove have them."""

from __future__ import annotations

import numpy as np

from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Floats, Pose

MIRROR = np.diag([1.0, -1.0, 1.0, 1.0])


def mirror_pose(pose: Pose) -> Floats:
    """Return (4, 4): a pose of CARLA's left-handed frames with y to the left."""
    mirrored: Floats = MIRROR @ build_pose_matrix(pose) @ MIRROR
    return mirrored


def compute_quaternion(matrix: Floats) -> list[float]:
    """Return w, x, y, z of the rotation of a (4, 4) or (3, 3) matrix."""
    turn = matrix[:3, :3]
    # the symmetric matrix whose first eigenvector is the quaternion (Bar-Itzhack 2000)
    xx, xy, xz = turn[0]
    yx, yy, yz = turn[1]
    zx, zy, zz = turn[2]
    known = np.array(
        [
            [xx - yy - zz, 0, 0, 0],
            [xy + yx, yy - xx - zz, 0, 0],
            [xz + zx, yz + zy, zz - xx - yy, 0],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    _, vectors = np.linalg.eigh(known / 3.0, UPLO="L")
    x, y, z, w = vectors[:, -1]
    sign = -1.0 if w < 0 else 1.0
    return [float(sign * part) for part in (w, x, y, z)]
