"""Which boxes of one answer belong to which of another, and which boxes lie where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.channel.effects import Window
from harness.types.geometry import wrap_angle
from harness.types.overlap import compute_bev_iou, compute_class_overlaps
from harness.types.precision import find_centres_inside
from harness.types.vocabulary import Boxes, Floats, Integers, Mask

OVERLAP = 0.5
"""Overlap ratio from which on two boxes belong together (CooTest 4.3, V2XGen 3.1, MultiTest)."""
ON_PLACE = 0.1
"""Overlap ratio from which on a box lies on a place, whatever its class."""


@dataclass(frozen=True, slots=True, eq=False)
class BoxPairing:
    """Which box of another answer each box has, -1 for none; no box is in two pairs."""

    other: Integers  # (N,) for each box of one answer
    of_other: Integers  # (M,) for each box of the other answer


def pair_overlapping_boxes(one: Boxes, other: Boxes, least: float = OVERLAP) -> BoxPairing:
    """Pair boxes of a class that overlap by as much, those that overlap most first.

    Args:
        one: N boxes.
        other: M boxes in the same frame.
        least: overlap ratio, 0 to 1.
    """
    overlaps = compute_class_overlaps(one, other)
    return pair_greedily(-overlaps, overlaps >= max(least, np.finfo(np.float64).tiny))


def pair_equal_boxes(one: Boxes, other: Boxes, tolerance: float) -> BoxPairing:
    """Pair boxes of a class whose numbers and scores differ by no more than a tolerance."""
    apart = compute_box_differences(one, other)
    return pair_greedily(apart, apart <= tolerance)


def compute_box_differences(one: Boxes, other: Boxes) -> Floats:
    """Return the largest difference (m, rad, score) of each two boxes; infinite across classes."""
    apart = np.abs(one.geometry[:, None] - other.geometry[None])
    apart[..., 6] = np.where(apart[..., 6] == 0.0, 0.0, np.abs(wrap_angle(apart[..., 6])))
    most = np.maximum(
        apart.max(axis=2, initial=0.0), np.abs(one.scores[:, None] - other.scores[None])
    )
    return np.where(one.classes[:, None] == other.classes[None], most, np.inf)


def pair_greedily(costs: Floats, allowed: Mask) -> BoxPairing:
    """Pair rows and columns one to one, the least cost first; equal costs keep their order."""
    rows, columns = np.nonzero(allowed)
    order = np.argsort(costs[rows, columns], kind="stable")
    other, of_other = np.full(costs.shape[0], -1), np.full(costs.shape[1], -1)
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if other[row] < 0 and of_other[column] < 0:
            other[row], of_other[column] = column, row
    return BoxPairing(other, of_other)


def is_on_places(boxes: Boxes, places: Boxes) -> Mask:
    """Return which boxes lie on any of the places, whatever their class.

    Args:
        boxes: N boxes.
        places: M boxes in the same frame.

    Returns:
        (N,)
    """
    overlaps = compute_bev_iou(boxes.geometry, places.geometry)
    inside = find_centres_inside(boxes.geometry, places.geometry)
    return np.asarray(((overlaps >= ON_PLACE) | inside).any(axis=1))


def compute_best_overlap(boxes: Boxes, others: Boxes) -> Floats:
    """Return the highest overlap of each box with another of its class; 0 if there is none.

    Args:
        boxes: N boxes.
        others: M boxes in the same frame.

    Returns:
        (N,) overlap ratio seen from above, 0 to 1.
    """
    return np.asarray(compute_class_overlaps(boxes, others).max(axis=1, initial=0.0))


def is_whole_in_window(boxes: Boxes, window: Window, margin: float = 0.0) -> Mask:
    """Return which boxes lie with all corners in a window round the ego, a margin from its edge.

    Args:
        boxes: N boxes in the ego's LiDAR frame.
        window: half its length and half its width, m.
        margin: m.

    Returns:
        (N,)
    """
    x, y, length, width, yaw = boxes.geometry[:, [0, 1, 3, 4, 6]].T
    cos, sin = np.abs(np.cos(yaw)), np.abs(np.sin(yaw))
    ahead = np.abs(x) + (length * cos + width * sin) / 2
    aside = np.abs(y) + (length * sin + width * cos) / 2
    return np.asarray((ahead <= window[0] - margin) & (aside <= window[1] - margin))
