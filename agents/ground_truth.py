"""What of the truth a privileged system gives itself: boxes alone, never whose they are."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Boxes, Mask, Truth

WHOLE_RANGE = (85.0, 85.0)
"""Metres ahead or behind, and aside: as far as the LiDARs reach."""


def within(boxes_in_lidar: Boxes, window: tuple[float, float]) -> Boxes:
    """Return the boxes whose centres lie in a window round the LiDAR."""
    inside: Mask = np.all(np.abs(boxes_in_lidar.geometry[:, :2]) <= window, axis=1)
    return boxes_in_lidar[inside]


def seen(truth: Truth, min_hits: int) -> Boxes:
    """Return the boxes that the observer's own LiDAR hits often enough."""
    return truth.boxes_in_lidar[truth.hits >= min_hits]
