"""Two oriented boxes seen from above, many pairs at a time: gap, overlap, time to collision.

Rows of rectangles are `x y length width yaw`. Two rectangles are apart if and only if an edge of
one of them has the other all on its far side (separating axes), so that four axes decide for each
pair, whether it stands or moves along a straight line.
"""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Floats, Mask

CORNERS = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, -0.5], [-0.5, 0.5]])
STILL = 1e-9
"""m/s along an axis below which nothing moves along it."""


def build_rectangles(place: Floats, size: Floats) -> Floats:
    """Return rows `x y length width yaw` of places `x y z yaw` and sizes.

    Args:
        place: (N, 4) x y z yaw, metres and radians.
        size: (N, 3) or (3,) length width height, metres.

    Returns:
        (N, 5)
    """
    size = np.broadcast_to(size, (len(place), size.shape[-1]))
    return np.column_stack([place[:, :2], size[:, :2], place[:, 3]])


def find_overlapping_pairs(ours: Floats, theirs: Floats) -> Mask:
    """Return which pairs share an area or touch.

    Args:
        ours: (N, 5) rectangles.
        theirs: (N, 5) rectangles, the partner of each row.

    Returns:
        (N,)
    """
    offset, _, reach = project_on_axes(ours, theirs, np.zeros((len(ours), 2)))
    return np.asarray((np.abs(offset) <= reach).all(axis=0))


def compute_gaps(ours: Floats, theirs: Floats) -> Floats:
    """Return how far each pair is apart, m; 0 where they touch.

    Rectangles that do not overlap are nearest at a corner of one of them.

    Args:
        ours: (N, 5) rectangles.
        theirs: (N, 5) rectangles, the partner of each row.

    Returns:
        (N,) metres.
    """
    apart = np.minimum(
        compute_corner_distances(ours, theirs), compute_corner_distances(theirs, ours)
    )
    return np.where(find_overlapping_pairs(ours, theirs), 0.0, apart)


def compute_times_to_collision(ours: Floats, theirs: Floats, velocity: Floats) -> Floats:
    """Return seconds until each pair touches; infinite if never, 0 if it does.

    Time to collision at unchanged speed and path (Hayward 1972, Highway Research Record 384).
    `velocity` is theirs less ours; neither turns. Exact: along each axis the pair overlaps during
    one interval, and it touches while all four intervals last.

    Args:
        ours: (N, 5) rectangles.
        theirs: (N, 5) rectangles, the partner of each row.
        velocity: (N, 2) m/s.

    Returns:
        (N,) seconds.
    """
    # (4, N), an axis in each row
    offset, speed, reach = project_on_axes(ours, theirs, velocity)
    # when each axis begins and ceases to overlap; an axis without motion overlaps always or never
    moves = np.abs(speed) > STILL
    slow = np.where(moves, speed, 1.0)
    ends = np.stack([(-reach - offset) / slow, (reach - offset) / slow])
    always = np.abs(offset) <= reach
    enter = np.where(moves, ends.min(axis=0), np.where(always, -np.inf, np.inf)).max(axis=0)
    leave = np.where(moves, ends.max(axis=0), np.where(always, np.inf, -np.inf)).min(axis=0)
    # contact from the last beginning to the first end, if it is not over already
    touches = (enter <= leave) & (leave >= 0)
    return np.where(touches, np.maximum(enter, 0.0), np.inf)


def compute_required_decelerations(velocity: Floats, times: Floats, most: float) -> Floats:
    """Return the deceleration of the relative motion that avoids contact, m/s², `most` at most.

    Cooper and Ferguson 1976 (Traffic Engineering and Control 17): Δv² / (2 d) behind a leader. With
    the distance d = Δv t until contact this is Δv / (2 t), which holds for any two directions.

    Args:
        velocity: (N, 2) relative, m/s.
        times: (N,) seconds until contact; infinite for none.
        most: m/s².

    Returns:
        (N,) m/s²; 0 for pairs that do not touch.
    """
    closing = np.hypot(velocity[:, 0], velocity[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = closing / (2 * times)
    needed = np.where(np.isfinite(times), needed, 0.0)
    return np.minimum(np.where(np.isnan(needed), 0.0, needed), most)


def project_on_axes(
    ours: Floats, theirs: Floats, velocity: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return offset, speed and reach of each pair along the four axes, (4, N) each.

    A pair overlaps along an axis while the offset of its centres is at most its reach.

    Args:
        ours: (N, 5) rectangles.
        theirs: (N, 5) rectangles, the partner of each row.
        velocity: (N, 2) theirs less ours, m/s.

    Returns:
        Metres, m/s and metres.
    """
    away = theirs[:, :2] - ours[:, :2]
    parts = []
    # both sides of both rectangles; (N,) each
    for yaw in (ours[:, 4], ours[:, 4] + np.pi / 2, theirs[:, 4], theirs[:, 4] + np.pi / 2):
        cos, sin = np.cos(yaw), np.sin(yaw)
        reach = compute_half_extent(ours, yaw) + compute_half_extent(theirs, yaw)
        offset = away[:, 0] * cos + away[:, 1] * sin
        parts.append((offset, velocity[:, 0] * cos + velocity[:, 1] * sin, reach))
    offsets, speeds, reaches = (np.stack(part) for part in zip(*parts, strict=True))
    return offsets, speeds, reaches


def compute_half_extent(boxes: Floats, direction: Floats) -> Floats:
    """Return how far boxes reach from their centres in some directions.

    Args:
        boxes: (N, 5) rectangles.
        direction: (N,) radians.

    Returns:
        (N,) metres.
    """
    turn = direction - boxes[:, 4]
    reach = np.abs(np.cos(turn)) * boxes[:, 2] + np.abs(np.sin(turn)) * boxes[:, 3]
    return np.asarray(reach / 2)


def compute_rectangle_corners(boxes: Floats) -> Floats:
    """Return the corners, (N, 4, 2)."""
    local = CORNERS * boxes[:, None, 2:4]
    cos, sin = np.cos(boxes[:, 4])[:, None], np.sin(boxes[:, 4])[:, None]
    x = boxes[:, 0, None] + local[..., 0] * cos - local[..., 1] * sin
    y = boxes[:, 1, None] + local[..., 0] * sin + local[..., 1] * cos
    return np.stack([x, y], axis=-1)


def compute_corner_distances(boxes: Floats, others: Floats) -> Floats:
    """Return the distance from each box to the nearest corner of the other one."""
    # (N, 4, 2) corners of the others in the frame of the boxes
    away = compute_rectangle_corners(others) - boxes[:, None, :2]
    cos, sin = np.cos(boxes[:, 4])[:, None], np.sin(boxes[:, 4])[:, None]
    ahead = np.abs(away[..., 0] * cos + away[..., 1] * sin) - boxes[:, 2, None] / 2
    aside = np.abs(away[..., 1] * cos - away[..., 0] * sin) - boxes[:, 3, None] / 2
    return np.asarray(np.hypot(np.maximum(ahead, 0.0), np.maximum(aside, 0.0)).min(axis=1))
