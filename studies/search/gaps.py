"""Gaps and times to collision between oriented rectangles, for many pairs at once.

A rectangle is `x y length width yaw`: centre, full sizes, radians.
"""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Floats, Mask

SIGNS = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]) / 2


def compute_pair_corners(rectangles: Floats) -> Floats:
    """Return the corners (N, 4, 2) of rectangles (N, 5), in order round each."""
    offsets = SIGNS * rectangles[:, None, 2:4]
    cos, sin = np.cos(rectangles[:, None, 4]), np.sin(rectangles[:, None, 4])
    x, y = offsets[..., 0], offsets[..., 1]
    turned = np.stack([x * cos - y * sin, x * sin + y * cos], axis=-1)
    return np.asarray(rectangles[:, None, :2] + turned)


def compute_side_directions(one: Floats, other: Floats) -> Floats:
    """Return the four directions (N, 4, 2) of the sides of both rectangles."""
    yaws = np.stack(
        [one[:, 4], one[:, 4] + np.pi / 2, other[:, 4], other[:, 4] + np.pi / 2], axis=1
    )
    return np.stack([np.cos(yaws), np.sin(yaws)], axis=-1)


def project_rectangles(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return along each axis how far the other's interval lies beyond, and its upper overlap.

    The intervals overlap where the first is ≤ 0 and the second ≥ 0: the other must move by at least
    minus the second, at most minus the first, for them to touch.
    """
    axes = compute_side_directions(one, other)
    near = np.einsum("nac,nkc->nak", axes, compute_pair_corners(one))
    far = np.einsum("nac,nkc->nak", axes, compute_pair_corners(other))
    return far.min(axis=2) - near.max(axis=2), far.max(axis=2) - near.min(axis=2)


def is_overlapping(one: Floats, other: Floats) -> Mask:
    """Return which pairs of rectangles touch, by separating axes."""
    low, high = project_rectangles(one, other)
    return np.asarray(((low <= 0) & (high >= 0)).all(axis=1))


def compute_rectangle_gaps(one: Floats, other: Floats) -> Floats:
    """Return the shortest distance between each pair of rectangles (N, 5): 0 where they touch."""
    first, second = compute_pair_corners(one), compute_pair_corners(other)
    apart = np.minimum(
        _measure_side_distances(first, second), _measure_side_distances(second, first)
    )
    return np.where(is_overlapping(one, other), 0.0, apart)


def _measure_side_distances(points: Floats, polygons: Floats) -> Floats:
    """Return the shortest distance of any point (N, 4, 2) to any side of its polygon (N, 4, 2)."""
    start = polygons[:, None]
    side = np.roll(polygons, -1, axis=1)[:, None] - start
    to_point = points[:, :, None] - start
    length = np.maximum((side**2).sum(axis=-1), np.finfo(np.float64).tiny)
    share = np.clip((to_point * side).sum(axis=-1) / length, 0.0, 1.0)
    away = np.hypot(*np.moveaxis(to_point - share[..., None] * side, -1, 0))
    return np.asarray(away.min(axis=(1, 2)))


def compute_pair_collision_times(
    one: Floats, other: Floats, velocity: Floats, most: float
) -> Floats:
    """Return the seconds until each pair touches if both go straight on, at most `most`.

    Time to collision (Hayward 1972, section 2: the time until a collision if both keep their
    course and speed), here of rectangles that keep their yaw. `velocity` (N, 2) is the other's,
    less the one's. They touch at a time if the intervals along all four axes overlap then.
    """
    low, high = project_rectangles(one, other)
    speed = np.einsum("nac,nc->na", compute_side_directions(one, other), velocity)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        edges = np.stack([-low / speed, -high / speed])
    still = speed == 0
    enters = np.where(still, np.where((low <= 0) & (high >= 0), -np.inf, np.inf), edges.min(axis=0))
    leaves = np.where(still, np.inf, edges.max(axis=0))
    first, last = np.maximum(enters.max(axis=1), 0.0), leaves.min(axis=1)
    return np.where(first <= last, np.minimum(first, most), most)
