"""Rotations in CARLA's left-handed frame: pitch up, yaw clockwise from above, roll to the right."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.compiled import allocating


@allocating
def build_rotation_matrix(pitch: float, yaw: float, roll: float) -> Floats:
    """Return the matrix whose columns are the forward, right and up axes of a rotated body.

    Args:
        pitch: rad, up.
        yaw: rad, clockwise as seen from above, as in CARLA.
        roll: rad.

    Returns:
        (3, 3); times a vector of the body's frame it gives one of the frame that the body is in.
    """
    sin_pitch, cos_pitch = math.sin(pitch), math.cos(pitch)
    sin_yaw, cos_yaw = math.sin(yaw), math.cos(yaw)
    sin_roll, cos_roll = math.sin(roll), math.cos(roll)
    # (3, 3), column by column
    matrix = np.empty((3, 3))
    matrix[0, 0] = cos_pitch * cos_yaw
    matrix[1, 0] = cos_pitch * sin_yaw
    matrix[2, 0] = sin_pitch
    matrix[0, 1] = cos_yaw * sin_pitch * sin_roll - sin_yaw * cos_roll
    matrix[1, 1] = sin_yaw * sin_pitch * sin_roll + cos_yaw * cos_roll
    matrix[2, 1] = -cos_pitch * sin_roll
    matrix[0, 2] = -cos_yaw * sin_pitch * cos_roll - sin_yaw * sin_roll
    matrix[1, 2] = -sin_yaw * sin_pitch * cos_roll + cos_yaw * sin_roll
    matrix[2, 2] = cos_pitch * cos_roll
    return matrix
