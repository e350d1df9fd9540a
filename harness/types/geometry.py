"""Poses and frames, left-handed as CARLA's: x forward, y right, z up, yaw clockwise."""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from harness.types.vocabulary import Boxes, Floats, Pose, Singles

APART = 3.0
"""Metres that two ways may be apart anywhere and still be the same."""


@overload
def wrap_angle(angle: float) -> float: ...
@overload
def wrap_angle(angle: Floats) -> Floats: ...
def wrap_angle(angle: float | Floats) -> float | Floats:
    """Return the same directions as angles from -pi to pi; of -pi and pi one is as good."""
    if isinstance(angle, np.ndarray):
        return np.remainder(angle + math.pi, math.tau) - math.pi
    return math.remainder(angle, math.tau)


def wrap_line_angle(angle: Floats) -> Floats:
    """Return the same lines as angles from -pi/2 to pi/2: front and back are one."""
    turned: Floats = np.remainder(angle + 0.5 * math.pi, math.pi) - 0.5 * math.pi
    return turned


def build_pose_matrix(pose: Pose) -> Floats:
    """Return the (4, 4) matrix from the frame of a pose to the frame that it is given in."""
    cy, sy = math.cos(pose.yaw), math.sin(pose.yaw)
    cp, sp = math.cos(pose.pitch), math.sin(pose.pitch)
    cr, sr = math.cos(pose.roll), math.sin(pose.roll)
    # rotation about z (yaw), then y (pitch), then x (roll); CARLA's signs, left-handed
    return np.array(
        [
            [cp * cy, cy * sp * sr - sy * cr, -cy * sp * cr - sy * sr, pose.x],
            [cp * sy, sy * sp * sr + cy * cr, -sy * sp * cr + cy * sr, pose.y],
            [sp, -cp * sr, cp * cr, pose.z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def get_matrix_pose(frame: Floats) -> Pose:
    """Return the pose whose matrix this is."""
    pitch = math.asin(max(-1.0, min(1.0, float(frame[2, 0]))))
    return Pose(
        float(frame[0, 3]),
        float(frame[1, 3]),
        float(frame[2, 3]),
        yaw=math.atan2(frame[1, 0], frame[0, 0]),
        pitch=pitch,
        roll=math.atan2(-frame[2, 1], frame[2, 2]),
    )


def compose_poses(outer: Pose, inner: Pose) -> Pose:
    """Return `inner`, given in the frame of `outer`, in the frame that `outer` is given in.

    Args:
        outer: in any frame; metres and radians.
        inner: in the frame of `outer`.

    Returns:
        The inner pose in the frame that `outer` is given in.
    """
    return get_matrix_pose(build_pose_matrix(outer) @ build_pose_matrix(inner))


def compute_relative_pose(pose: Pose, observer: Pose) -> Pose:
    """Return a pose as seen from an observer; both are given in the same frame.

    Args:
        pose: what is seen; metres and radians, in any frame.
        observer: from where it is seen, in the same frame.

    Returns:
        The pose in the observer's frame.
    """
    return get_matrix_pose(np.linalg.inv(build_pose_matrix(observer)) @ build_pose_matrix(pose))


def transform_points(points: Singles, source: Pose, target: Pose) -> Singles:
    """Take rows of `x y z ...` from the frame of one pose to the frame of another.

    Args:
        points: (N, 3 or more), float32; x y z in metres, further columns are kept as they are.
        source: the frame of the points, given in the world.
        target: the frame of the result, given in the world.

    Returns:
        A copy (N, 3 or more) in the frame of `target`.
    """
    # (4, 4), from the frame of `source` to the frame of `target`
    across = np.linalg.inv(build_pose_matrix(target)) @ build_pose_matrix(source)
    moved = points.copy()
    moved[:, :3] = points[:, :3] @ across[:3, :3].T + across[:3, 3]
    return moved


def transform_boxes(boxes: Boxes, source: Pose, target: Pose) -> Boxes:
    """Take boxes from the frame of one pose to the frame of another; they stay upright.

    Only the yaw is turned: pitch and roll of the poses move the centres but do not tilt the boxes.

    Args:
        boxes: N boxes in the frame of `source`, metres and radians.
        source: the frame of the boxes, given in the world.
        target: the frame of the result, given in the world.

    Returns:
        N boxes in the frame of `target`, yaw from -pi to pi, with the same classes and scores.
    """
    # (4, 4), from the frame of `source` to the frame of `target`
    across = np.linalg.inv(build_pose_matrix(target)) @ build_pose_matrix(source)
    # centres (N, 3) move, sizes stay, yaw (N,) turns
    geometry = boxes.geometry.copy()
    geometry[:, :3] = boxes.geometry[:, :3] @ across[:3, :3].T + across[:3, 3]
    turned = boxes.geometry[:, 6] + math.atan2(across[1, 0], across[0, 0])
    geometry[:, 6] = wrap_angle(turned)
    return Boxes(geometry, boxes.classes, boxes.scores)


def is_same_way(a: Floats, b: Floats) -> bool:
    """Return whether two lines of `x y z` lie next to each other all along, at most `APART` metres.

    Points of each are compared with the other one at equal shares of its rows.

    Args:
        a: (N, 3) x y z in metres.
        b: (M, 3) x y z in metres; it may have another number of points.

    Returns:
        False for two ways in opposite directions: their ends differ.
    """
    # the cheap tests first: both ends, then the lengths
    if max(math.dist(a[0], b[0]), math.dist(a[-1], b[-1])) > APART:
        # every point of one line against the other one, in both directions
        return False
    if abs(_measure_line_length(a) - _measure_line_length(b)) > 2 * APART:
        return False
    return _measure_largest_gap(a, b) <= APART and _measure_largest_gap(b, a) <= APART


def _measure_line_length(line: Floats) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


def _measure_largest_gap(line: Floats, other: Floats) -> float:
    shares = np.linspace(0.0, 1.0, len(line))
    rows = np.linspace(0.0, 1.0, len(other))
    # (N, 3): the other line at the same shares of its rows
    nearest = np.stack([np.interp(shares, rows, column) for column in other.T], axis=1)
    return float(np.linalg.norm(line - nearest, axis=1).max())
