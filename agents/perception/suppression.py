"""Non-maximum suppression, compiled: overlaps of pairs of boxes, as many as are needed.

An overlap is `harness.types.overlap.compute_bev_iou` of one pair, computed in the same order, to
the last bit where numpy's cosines are the C library's.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from harness.types.vocabulary import Floats, Integers

NOTHING, LEVEL = 1e-9, 1e-12
"""As in `harness.types.overlap`; numba's cache does not see what changes in another file."""


@numba.njit(cache=True, nogil=True)
def select_kept_rows(best_first: Floats, classes: Integers, k: int, overlap: float) -> Integers:
    """Return the rows that no kept one of their class and before them suppresses.

    Rows come class by class, the highest score first; of a class, only the first k count.
    """
    # best_first: (N, 7) boxes; classes: (N,)
    suppressed = np.zeros(len(best_first), np.bool_)
    kept = np.empty(len(best_first), np.int64)
    count = first = 0
    # the best row left is kept, and suppresses worse ones of its class
    for row in range(len(best_first)):
        # the first row of the next class
        if classes[row] != classes[first]:
            first = row
        if suppressed[row] or row - first >= k:
            continue
        kept[count] = row
        count += 1
        # overlaps are computed only with rows that are still candidates
        for other in range(row + 1, len(best_first)):
            if classes[other] != classes[row]:
                break
            if not suppressed[other]:
                suppressed[other] = (
                    compute_pair_overlap(best_first[row], best_first[other]) > overlap
                )
    return kept[:count]


@numba.njit(cache=True, nogil=True)
def compute_overlap_matrix(a: Floats, b: Floats) -> Floats:
    """Return the (N, M) overlaps of all pairs."""
    result = np.empty((len(a), len(b)))
    for row in range(len(a)):
        for column in range(len(b)):
            result[row, column] = compute_pair_overlap(a[row], b[column])
    return result


@numba.njit(cache=True, nogil=True)
def compute_pair_overlap(a: Floats, b: Floats) -> float:
    """Return the intersection over union of two boxes, seen from above; 0 if they only touch."""
    # boxes whose circumcircles do not meet share no area
    away_x, away_y = a[0] - b[0], a[1] - b[1]
    reach = (math.hypot(a[3], a[4]) + math.hypot(b[3], b[4])) / 2
    if not away_x * away_x + away_y * away_y < reach * reach:
        return 0.0
    # intersection over union
    shared = compute_shared_area(a, b)
    if shared < NOTHING:
        return 0.0
    ratio: float = shared / (a[3] * a[4] + b[3] * b[4] - shared)
    return min(ratio, 1.0)


@numba.njit(cache=True, nogil=True)
def compute_shared_area(a: Floats, b: Floats) -> float:
    """Return the area of both: the edges of `b`, as `a` sees them, cut off at the sides of `a`."""
    length, width = a[3] / 2, a[4] / 2
    half_length, half_width = b[3] / 2, b[4] / 2
    # the frame of `a`: its centre is the origin, its sides are parallel to the axes
    turn, away_x, away_y = b[6] - a[6], b[0] - a[0], b[1] - a[1]
    cos, sin, cos_a, sin_a = math.cos(turn), math.sin(turn), math.cos(a[6]), math.sin(a[6])
    centre_x, centre_y = cos_a * away_x + sin_a * away_y, cos_a * away_y - sin_a * away_x
    # once round the corners of `b`, with the first one again at the end
    area = last_x = last_y = 0.0
    for corner in range(5):
        ahead = half_length if corner in (0, 3, 4) else -half_length
        aside = half_width if corner in (0, 1, 4) else -half_width
        x = centre_x + cos * ahead - sin * aside
        y = centre_y + sin * ahead + cos * aside
        if corner:
            area += compute_edge_area((last_x, last_y), (x, y), length, width)
        last_x, last_y = x, y
    return area


@numba.njit(cache=True, nogil=True)
def compute_edge_area(
    corner: tuple[float, float], following: tuple[float, float], length: float, width: float
) -> float:
    """Return what an edge adds to the area: its mean x times its rise, both cut off."""
    # the part of the edge between the sides of `a` at y = -width and y = width
    x, y = corner
    to_x, to_y = following
    slope = (to_x - x) / (to_y - y) if abs(to_y - y) > LEVEL else 0.0
    low, high = min(max(y, -width), width), min(max(to_y, -width), width)
    start, end = x + slope * (low - y), x + slope * (high - y)
    # x at both ends, cut off at the other two sides
    first, last = min(max(start, -length), length), min(max(end, -length), length)
    if first == last:
        return first * (high - low)
    # x is cut off along a part of the edge only: its integral over the edge has a part
    # that rises and parts that are level
    integral = (last - first) * (last + first) / 2
    integral += length * (abs(end - last) - abs(start - first))
    return integral / (end - start) * (high - low)
