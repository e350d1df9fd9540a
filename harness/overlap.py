"""How much boxes overlap, seen from above."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Floats

NOTHING = 1e-9
"""Square metres below which two boxes only touch."""

LEVEL = 1e-12
"""Metres that an edge rises below which it adds no area."""


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
    if len(rows):
        a, b = a[rows], b[columns]
        shared = intersection_areas(a, b)
        union = a[:, 3] * a[:, 4] + b[:, 3] * b[:, 4] - shared
        some = shared >= NOTHING
        result[rows[some], columns[some]] = np.minimum(shared[some] / union[some], 1.0)
    return result


def intersection_areas(a: Floats, b: Floats) -> Floats:
    """Return the area shared by each box of `a` and the box of `b` in the same row.

    By Green's theorem: in the frame of `a`, a box |x| <= h, |y| <= w, it is the integral of x cut
    off at ±h along those parts of the outline of `b` where |y| <= w. Nothing is sorted and no edge
    is a special case, however the outlines run along each other.
    """
    x, y = corners_seen_from(a, b)
    length, width = a[:, 3, None] / 2, a[:, 4, None] / 2
    over, up = np.roll(x, -1, axis=1) - x, np.roll(y, -1, axis=1) - y
    enters = np.clip(y, -width, width)
    leaves = np.roll(enters, -1, axis=1)
    slope = over / np.where(np.abs(up) < LEVEL, 1.0, up)
    mean = mean_cut_off(x + slope * (enters - y), x + slope * (leaves - y), length)
    return np.asarray((mean * (leaves - enters)).sum(axis=1))


def mean_cut_off(start: Floats, end: Floats, limit: Floats) -> Floats:
    """Return the mean of x, cut off at ±limit, along straight lines from start to end."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    left, right = np.clip(low, -limit, limit), np.clip(high, -limit, limit)
    within = (right - left) * (left + right) / 2
    beyond = high - np.maximum(low, limit)
    behind = np.minimum(high, -limit) - low
    total = within + limit * (np.maximum(beyond, 0.0) - np.maximum(behind, 0.0))
    span = high - low
    return np.where(span > 0, total / np.where(span > 0, span, 1.0), left)


def corners_seen_from(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return x and y, (K, 4) each, of the corners of each `b` as the `a` in its row sees them."""
    length, width = b[:, 3, None] / 2, b[:, 4, None] / 2
    x = length * np.array([1.0, -1.0, -1.0, 1.0])
    y = width * np.array([1.0, 1.0, -1.0, -1.0])
    turn = b[:, 6] - a[:, 6]
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    away_x, away_y = b[:, 0] - a[:, 0], b[:, 1] - a[:, 1]
    cos_a, sin_a = np.cos(a[:, 6]), np.sin(a[:, 6])
    ahead = (cos_a * away_x + sin_a * away_y)[:, None]
    aside = (cos_a * away_y - sin_a * away_x)[:, None]
    return ahead + cos * x - sin * y, aside + sin * x + cos * y


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
