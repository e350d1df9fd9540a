"""How attached actors follow their parents."""

from __future__ import annotations

from math import asin, atan2, cos, sin

import numpy as np

from harness.carlite.arrays import Floats, Ints
from harness.carlite.compiled import allocating


@allocating
def _build_attachment_matrix(rotation: Floats) -> Floats:
    """Return the matrix that turns vectors of a rotated frame into its parent's frame."""
    # pitch, yaw, roll; columns are the axes ahead, right and up
    sp, cp = sin(rotation[0]), cos(rotation[0])
    sy, cy = sin(rotation[1]), cos(rotation[1])
    sr, cr = sin(rotation[2]), cos(rotation[2])
    matrix = np.empty((3, 3))
    matrix[0, 0], matrix[1, 0], matrix[2, 0] = cp * cy, cp * sy, sp
    matrix[0, 1], matrix[1, 1], matrix[2, 1] = (
        cy * sp * sr - sy * cr,
        sy * sp * sr + cy * cr,
        -cp * sr,
    )
    matrix[0, 2], matrix[1, 2], matrix[2, 2] = (
        -cy * sp * cr - sy * sr,
        -sy * sp * cr + cy * sr,
        cp * cr,
    )
    return matrix


@allocating
def _multiply_matrices(first: Floats, second: Floats) -> Floats:
    """Multiply two matrices, always in the same order of additions."""
    product = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                product[i, j] += first[i, k] * second[k, j]
    return product


@allocating
def move_attached_actors(
    child: Ints,
    parent: Ints,
    offset: Floats,
    turn: Floats,
    position: Floats,
    rotation: Floats,
    velocity: Floats,
    angular_velocity: Floats,
    acceleration: Floats,
    mass_centre: Floats,
) -> None:
    """Carry each child along with its parent, rigidly; parents come before their own children.

    `child` and `parent` are slots, `offset` and `turn` the children's poses in the parents' frames.
    """
    # position, rotation and the rest: (actors, 3)
    arm = np.empty(3)
    for n in range(len(child)):
        c, p = child[n], parent[n]
        # the offset, turned with the parent
        matrix = _build_attachment_matrix(rotation[p])
        for i in range(3):
            arm[i] = (
                matrix[i, 0] * offset[n, 0]
                + matrix[i, 1] * offset[n, 1]
                + matrix[i, 2] * offset[n, 2]
            )
            position[c, i] = position[p, i] + arm[i]
        # the child's rotation, from the product of both matrices
        turned = _multiply_matrices(matrix, _build_attachment_matrix(turn[n]))
        rotation[c, 0] = asin(min(max(turned[2, 0], -1.0), 1.0))
        rotation[c, 1] = atan2(turned[1, 0], turned[0, 0])
        rotation[c, 2] = atan2(-turned[2, 1], turned[2, 2])
        # velocity and acceleration of a point of a body that turns about its centre of mass
        for i in range(3):
            arm[i] -= matrix[i, 0] * mass_centre[p]
        wx, wy, wz = angular_velocity[p, 0], angular_velocity[p, 1], angular_velocity[p, 2]
        sx, sy, sz = wy * arm[2] - wz * arm[1], wz * arm[0] - wx * arm[2], wx * arm[1] - wy * arm[0]
        velocity[c, 0] = velocity[p, 0] + sx
        velocity[c, 1] = velocity[p, 1] + sy
        velocity[c, 2] = velocity[p, 2] + sz
        acceleration[c, 0] = acceleration[p, 0] + wy * sz - wz * sy
        acceleration[c, 1] = acceleration[p, 1] + wz * sx - wx * sz
        acceleration[c, 2] = acceleration[p, 2] + wx * sy - wy * sx
        angular_velocity[c] = angular_velocity[p]
