"""How near the ego came to other road users."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from harness.evaluation.frame_evaluation import EGO_BOX
from harness.evaluation.metrics.metric import AttemptData, Metric, StepData
from harness.types.vocabulary import Floats

CORNERS = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, -0.5], [-0.5, 0.5]])
"""In lengths and widths of a box."""


class Clearance(Metric):
    """Metres from the ego's body to the nearest road user, from above; the smallest counts."""

    safe_from_file = True
    unit: ClassVar[str] = "m"

    def step(self, data: StepData) -> float | None:
        """Return the distance to the nearest ground-truth box, if there is one in range."""
        ego = EGO_BOX.geometry[0]
        return min((compute_box_distance(ego, box) for box in data.truth.geometry), default=None)

    def attempt(self, data: AttemptData) -> float | None:
        """Return the smallest distance of the drive."""
        known = data.values[~np.isnan(data.values)]
        return float(known.min()) if len(known) else None


def compute_box_distance(one: Floats, other: Floats) -> float:
    """Return how far two boxes (x y z length width height yaw) are apart in the plane; 0 if not.

    Boxes that do not overlap are nearest at a corner of one of them.

    Args:
        one: (7,) metres and radians.
        other: (7,) in the same frame.

    Returns:
        Metres.
    """
    if has_box_overlap(one, other):
        return 0.0
    return float(min(compute_corner_distance(one, other), compute_corner_distance(other, one)))


def compute_corner_distance(one: Floats, other: Floats) -> float:
    """Return the distance from a box to the nearest corner of another."""
    corners = convert_to_box_frame(one, compute_box_corners(other))
    outside = np.maximum(np.abs(corners) - one[3:5] / 2, 0.0)
    return float(np.hypot(outside[:, 0], outside[:, 1]).min())


def has_box_overlap(one: Floats, other: Floats) -> bool:
    """Return whether no edge of either box lies between them."""
    # separating axes: a side of one box has the other box all beyond it
    for box, others in ((one, compute_box_corners(other)), (other, compute_box_corners(one))):
        seen = convert_to_box_frame(box, others)
        if (seen.min(axis=0) > box[3:5] / 2).any() or (seen.max(axis=0) < -box[3:5] / 2).any():
            return False
    return True


def compute_box_corners(box: Floats) -> Floats:
    """Return a box's corners (4, 2)."""
    return np.asarray(CORNERS * box[3:5] @ make_rotation(box[6]).T + box[:2])


def convert_to_box_frame(box: Floats, points: Floats) -> Floats:
    """Return points as seen from the middle of a box."""
    return np.asarray((points - box[:2]) @ make_rotation(box[6]))


def make_rotation(yaw: float) -> Floats:
    """Return the rotation by an angle."""
    cos, sin = np.cos(yaw), np.sin(yaw)
    return np.array([[cos, -sin], [sin, cos]])
