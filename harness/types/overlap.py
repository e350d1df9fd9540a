"""How much boxes overlap, seen from above."""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Boxes, Floats, Mask

NOTHING = 1e-9
"""Square metres below which two boxes only touch."""

LEVEL = 1e-12
"""Metres that an edge must rise to add an area."""

AHEAD = np.array([[1.0], [-1.0], [-1.0], [1.0], [1.0]])
ASIDE = np.array([[1.0], [1.0], [-1.0], [-1.0], [1.0]])
"""Corners of a box in half lengths and half widths, once round it."""


def compute_bev_iou(a: Floats, b: Floats) -> Floats:
    """Return the (N, M) intersection over union of rotated boxes in the plane.

    Rows are `x y z length width height yaw`. An intersection below `NOTHING` is none, so boxes that
    touch, and boxes without an area, overlap nothing.

    Args:
        a: (N, 7) boxes in metres and radians, in any frame.
        b: (M, 7) boxes in the same frame.

    Returns:
        (N, M) overlap ratios, 0 to 1.

    Raises:
        ValueError: a box is not seven finite numbers with sizes ≥ 0.
    """
    return _compute_wanted_overlaps(a, b, True)


def compute_class_overlaps(a: Boxes, b: Boxes) -> Floats:
    """Return the (N, M) overlaps, none between boxes of different classes.

    Args:
        a: N boxes, metres and radians.
        b: M boxes in the same frame.

    Returns:
        (N, M) overlap ratios (BEV IoU), 0 to 1.
    """
    return _compute_wanted_overlaps(a.geometry, b.geometry, a.classes[:, None] == b.classes)


def _compute_wanted_overlaps(a: Floats, b: Floats, wanted: Mask | bool) -> Floats:
    """Return the (N, M) overlaps of the pairs that are wanted, 0 of all others."""
    a, b = check_boxes(a), check_boxes(b)
    result = np.zeros((len(a), len(b)))
    # (N, M) half diagonals added: boxes farther apart than this cannot overlap
    reach = (np.hypot(a[:, 3], a[:, 4])[:, None] + np.hypot(b[:, 3], b[:, 4])) / 2
    away_x, away_y = a[:, 0, None] - b[:, 0], a[:, 1, None] - b[:, 1]
    # K pairs that are near enough; only their areas are computed
    rows, columns = np.nonzero(wanted & (away_x * away_x + away_y * away_y < reach * reach))
    result[rows, columns] = compute_pair_overlaps(a[rows], b[columns])
    return result


def compute_pair_overlaps(a: Floats, b: Floats) -> Floats:
    """Return the intersection over union of each box of `a` and the box of `b` in the same row.

    Args:
        a: (K, 7) boxes, metres and radians, as `check_boxes` returns them.
        b: (K, 7) boxes in the same frames.

    Returns:
        (K,) overlap ratios, 0 to 1.
    """
    if not len(a):
        return np.zeros(0)
    shared = compute_intersection_areas(a, b)
    union = a[:, 3] * a[:, 4] + b[:, 3] * b[:, 4] - shared
    some = shared >= NOTHING
    return np.where(some, np.minimum(shared / np.where(some, union, 1.0), 1.0), 0.0)


def find_near_pairs(a: Floats, b: Floats) -> Mask:
    """Return (K,) whether the boxes of a row are near enough to share an area.

    Args:
        a: (K, 7) boxes, metres and radians.
        b: (K, 7) boxes in the same frames.
    """
    reach = (np.hypot(a[:, 3], a[:, 4]) + np.hypot(b[:, 3], b[:, 4])) / 2
    away_x, away_y = a[:, 0] - b[:, 0], a[:, 1] - b[:, 1]
    return np.asarray(away_x * away_x + away_y * away_y < reach * reach)


def compute_intersection_areas(a: Floats, b: Floats) -> Floats:
    """Return the area shared by each box of `a` and the box of `b` in the same row.

    By Green's theorem: in the frame of `a`, a box |x| <= h, |y| <= w, it is the integral of x cut
    off at ±h along those parts of the outline of `b` where |y| <= w. Nothing is sorted and no edge
    is a special case, however the outlines run along each other.

    Args:
        a: (K, 7) boxes, metres and radians.
        b: (K, 7) boxes in the same frame, the partner of each row of `a`.

    Returns:
        (K,) square metres.
    """
    # outlines of `b`: (5, K); half sizes of `a`: (K,)
    x, y = transform_outlines(a, b)
    length, width = a[:, 3] / 2, a[:, 4] / 2
    # the four edges, (4, K): their extents and slopes; level edges add no area
    over, up = x[1:] - x[:-1], y[1:] - y[:-1]
    slope = np.divide(over, up, out=np.zeros_like(up), where=np.abs(up) > LEVEL)
    # the part of each edge in the strip |y| <= w, and x where it enters and leaves
    within = np.minimum(np.maximum(y, -width), width)
    enters = x[:-1] + slope * (within[:-1] - y[:-1])
    leaves = x[:-1] + slope * (within[1:] - y[:-1])
    # the integral of the clipped x over y, edge by edge
    strips = compute_clipped_mean(enters, leaves, length) * (within[1:] - within[:-1])
    return np.asarray(strips.sum(axis=0))


def compute_clipped_mean(start: Floats, end: Floats, limit: Floats) -> Floats:
    """Return the mean of x, cut off at ±limit, along straight lines from start to end.

    Args:
        start: (4, K) x at the start of each line, metres.
        end: (4, K) x at its end.
        limit: (K,) half lengths, metres.

    Returns:
        (4, K) means, from -limit to limit.
    """
    first = np.minimum(np.maximum(start, -limit), limit)
    last = np.minimum(np.maximum(end, -limit), limit)
    # where both ends lie inside: the trapezium; beyond: the constant ±limit
    integral = (last - first) * (last + first) / 2
    integral += limit * (np.abs(end - last) - np.abs(start - first))
    # a line with both ends clipped to the same value has that mean
    mean = first.copy()
    np.divide(integral, end - start, out=mean, where=first != last)
    return mean


def transform_outlines(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return x and y, (5, K) each, once round each `b` as the `a` in its row sees it.

    Args:
        a: (K, 7) boxes, whose frames are used.
        b: (K, 7) boxes in the same frame as `a`.
    """
    # (5, K) corners in the frame of `b`
    ahead, aside = b[:, 3] / 2 * AHEAD, b[:, 4] / 2 * ASIDE
    # (K,) from the frame of `b` to the frame of `a`
    turn = b[:, 6] - a[:, 6]
    cos, sin, cos_a, sin_a = np.cos(turn), np.sin(turn), np.cos(a[:, 6]), np.sin(a[:, 6])
    away_x, away_y = b[:, 0] - a[:, 0], b[:, 1] - a[:, 1]
    return (
        (cos_a * away_x + sin_a * away_y) + cos * ahead - sin * aside,
        (cos_a * away_y - sin_a * away_x) + sin * ahead + cos * aside,
    )


def check_boxes(boxes: Floats) -> Floats:
    """Return boxes as (N, 7) doubles, or raise an error that describes the problem."""
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
