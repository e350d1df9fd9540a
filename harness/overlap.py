"""How much boxes overlap, seen from above."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Floats

NOTHING = 1e-9
"""Square metres below which two boxes only touch."""


def bev_iou(a: Floats, b: Floats) -> Floats:
    """Return the (N, M) intersection over union of rotated boxes in the plane.

    Rows are `x y z length width height yaw`. An intersection below `NOTHING` is none, so boxes that
    touch, and boxes without an area, overlap nothing.
    """
    a, b = checked(a), checked(b)
    result = np.zeros((len(a), len(b)))
    reach_a = np.hypot(a[:, 3], a[:, 4]) / 2
    reach_b = np.hypot(b[:, 3], b[:, 4]) / 2
    across = np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])
    rows, columns = np.nonzero(across < reach_a[:, None] + reach_b[None, :])
    if not len(rows):
        return result
    shared = intersection_areas(a[rows], b[columns])
    union = a[rows, 3] * a[rows, 4] + b[columns, 3] * b[columns, 4] - shared
    some = shared >= NOTHING
    result[rows[some], columns[some]] = shared[some] / union[some]
    return np.minimum(result, 1.0)


def intersection_areas(a: Floats, b: Floats) -> Floats:
    """Return the area shared by each box of `a` and the box of `b` in the same row."""
    polygons = corners_seen_from(a, b)
    for axis, half in ((0, a[:, 3] / 2), (1, a[:, 4] / 2)):
        for sign in (1.0, -1.0):
            polygons = clipped(polygons, half[:, None] - sign * polygons[:, :, axis])
    return areas(polygons)


def corners_seen_from(a: Floats, b: Floats) -> Floats:
    """Return the (K, 4, 2) corners of each `b` in the frame of the `a` in the same row."""
    length, width = b[:, 3, None] / 2, b[:, 4, None] / 2
    x = length * np.array([1.0, -1.0, -1.0, 1.0])
    y = width * np.array([1.0, 1.0, -1.0, -1.0])
    turn = b[:, 6] - a[:, 6]
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    away = b[:, :2] - a[:, :2]
    cos_a, sin_a = np.cos(a[:, 6]), np.sin(a[:, 6])
    ahead = cos_a * away[:, 0] + sin_a * away[:, 1]
    right = cos_a * away[:, 1] - sin_a * away[:, 0]
    return np.stack([ahead[:, None] + cos * x - sin * y, right[:, None] + sin * x + cos * y], -1)


def clipped(polygons: Floats, inside: Floats) -> Floats:
    """Cut convex polygons (K, V, 2) at a line each; `inside` is how far corners lie within it.

    The result has one corner more; where a polygon has fewer, its last one is repeated, and a
    polygon that lies beyond the line shrinks to a point.
    """
    following = np.roll(polygons, -1, axis=1)
    following_inside = np.roll(inside, -1, axis=1)
    keeps = inside >= 0
    crosses = keeps != (following_inside >= 0)
    share = inside / np.where(crosses, inside - following_inside, 1.0)
    crossing = polygons + share[:, :, None] * (following - polygons)
    count, corners, _ = polygons.shape
    candidates = np.stack([polygons, crossing], 2).reshape(count, 2 * corners, 2)
    valid = np.stack([keeps, crosses], 2).reshape(count, 2 * corners)
    first = np.argsort(~valid, axis=1, kind="stable")[:, : corners + 1]
    last = np.maximum(valid.sum(1) - 1, 0)[:, None]
    first = np.take_along_axis(first, np.minimum(np.arange(corners + 1), last), axis=1)
    return np.take_along_axis(candidates, first[:, :, None], axis=1)


def areas(polygons: Floats) -> Floats:
    """Return the areas of polygons (K, V, 2)."""
    x = polygons[:, :, 0] - polygons[:, :1, 0]
    y = polygons[:, :, 1] - polygons[:, :1, 1]
    return np.asarray(np.abs((x[:, :-1] * y[:, 1:] - x[:, 1:] * y[:, :-1]).sum(1)) / 2)


def checked(boxes: Floats) -> Floats:
    """Return boxes as (N, 7) doubles, or say what is wrong with them."""
    boxes = np.asarray(boxes, np.float64)
    if boxes.size == 0:
        return np.zeros((0, 7))
    if boxes.ndim != 2 or boxes.shape[1] != 7:
        raise ValueError(f"boxes are rows of seven numbers, not {boxes.shape}")
    if not np.isfinite(boxes).all():
        raise ValueError("a box has a number that is not finite")
    if (boxes[:, 3:6] < 0).any():
        raise ValueError("a box has a negative size")
    return boxes
