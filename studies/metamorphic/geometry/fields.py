"""Where beams meet the recorded surface of a town."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.common.ground_fields import GroundField
from harness.types.vocabulary import Floats, Integers, Mask, Pose
from studies.metamorphic.scenes.owners import GROUND_LABELS

STRIDE = 0.8
"""Cells between the places along a beam at which heights are compared."""
CLIFF = 1.0
"""Metres up in a stride, from which on ground is the deck of a bridge."""
TERRAIN_TAG = 10
HALVINGS = 14
"""Of a stride, until the place is known to a tenth of a millimetre."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldEnds:
    """Where beams end on a recorded surface."""

    ranges: Floats  # m; inf where a beam ends on no ground
    labels: Integers  # of the ground there
    known: Mask  # whether the field says so; else nothing is recorded along the beam


def find_ends_on_field(field: GroundField, lidar: Pose, rays: Floats, reach: float) -> FieldEnds:
    """Return where beams meet the ground of a field; roofs and walls on the way stop them.

    Args:
        field: the recorded surface.
        lidar: where the beams start.
        rays: (beams, 3) unit vectors in the world.
        reach: m, of the LiDAR.
    """
    # (strides,) m in the plane, and (beams, strides) m along the beams
    flat = np.hypot(rays[:, 0], rays[:, 1])
    steps = np.arange(0.0, reach + STRIDE * field.cell, STRIDE * field.cell)
    along = steps[None] / np.maximum(flat, 1e-6)[:, None]
    over = measure_height_over_field(field, lidar, rays, along)
    # up to the first place that is beneath the ground, all must be known
    beneath = over < 0
    meets = beneath.any(axis=1)
    first = np.where(meets, beneath.argmax(axis=1), len(steps) - 1)
    unknown = np.isnan(over)
    known = ~beneath[:, 0] & ~(unknown.any(axis=1) & (unknown.argmax(axis=1) <= first))
    # a cliff is the side of a bridge, and what is below it is not recorded
    beams = np.arange(len(rays))
    near, far = along[beams, np.maximum(first - 1, 0)], along[beams, first]
    before, behind = (
        field.measure_heights(lidar.x + one * rays[:, 0], lidar.y + one * rays[:, 1])
        for one in (near, far)
    )
    known &= ~(meets & (behind - before > CLIFF))
    # halve the stride before it
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        above = measure_height_over_field(field, lidar, rays, middle[:, None])[:, 0] > 0
        near, far = np.where(above, middle, near), np.where(above, far, middle)
    # what stands in the way, and what is there
    x, y, z = (
        start + rays[:, n, None] * along for n, start in enumerate((lidar.x, lidar.y, lidar.z))
    )
    stopped = ((z < field.find_tops(x, y)) & (along < far[:, None])).any(axis=1)
    labels = field.find_labels(lidar.x + far * rays[:, 0], lidar.y + far * rays[:, 1])
    return FieldEnds(
        ranges=np.where(known & meets & ~stopped & (far <= reach), far, np.inf),
        labels=np.where(np.isin(labels, GROUND_LABELS), labels, TERRAIN_TAG),
        known=known,
    )


def measure_height_over_field(
    field: GroundField, lidar: Pose, rays: Floats, along: Floats
) -> NDArray[np.float64]:
    """Return how far beams are above the ground, (beams, places), NaN where it is not known."""
    x, y, z = (
        start + rays[:, n, None] * along for n, start in enumerate((lidar.x, lidar.y, lidar.z))
    )
    return np.asarray(z - field.measure_heights(x, y))
