"""Rectangles on the ground and whether they touch, many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.types.vocabulary import Floats, Mask


@dataclass(frozen=True, slots=True, eq=False)
class GroundRectangles:
    """Rectangles of any array shape; sizes are that of `yaw`, or one where they are the same."""

    centre: Floats  # (…, 2)
    yaw: Floats  # (…)
    half_length: Floats  # (…)
    half_width: Floats  # (…)

    def __getitem__(self, chosen: Any) -> GroundRectangles:
        """Return chosen rectangles of the first axes, or the same ones with new axes of one."""
        return GroundRectangles(
            self.centre[chosen], self.yaw[chosen], self.half_length[chosen], self.half_width[chosen]
        )


def make_grown_rectangles(
    centre: Floats,
    yaw: Floats,
    *,
    size: tuple[Floats, Floats],
    front: Floats,
    rear: Floats,
    side: Floats,
) -> GroundRectangles:
    """Return rectangles of (length, width) with room added ahead, behind and on both sides.

    Args:
        centre: (…, 2) metres in the world.
        yaw: (…) radians.
        size: lengths and widths, m, of a shape that broadcasts with `yaw`.
        front: metres added ahead.
        rear: metres added behind.
        side: metres added on either side.

    Returns:
        The same shape as `yaw`; centres move by half the difference of front and rear.
    """
    shift = 0.5 * (front - rear)
    ahead = np.stack([np.cos(yaw), np.sin(yaw)], -1)
    return GroundRectangles(
        centre + shift[..., None] * ahead,
        yaw,
        0.5 * (size[0] + front + rear),
        0.5 * size[1] + side,
    )


def find_touching_pairs(ours: GroundRectangles, theirs: GroundRectangles) -> Mask:
    """Return which pairs overlap, broadcasting: no axis of either separates them.

    Args:
        ours: rectangles in the world.
        theirs: rectangles whose shape broadcasts with that of `ours`.

    Returns:
        The broadcast shape.
    """
    # |cos| and |sin| of the angle between them: how far one reaches along the other's axes
    off = theirs.centre - ours.centre
    turn = theirs.yaw - ours.yaw
    c, s = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    apart = np.zeros(np.broadcast_shapes(ours.yaw.shape, theirs.yaw.shape), np.bool_)
    # two axes of each: beyond the half sizes on one axis they are apart
    for one, other in ((ours, theirs), (theirs, ours)):
        cos, sin = np.cos(one.yaw), np.sin(one.yaw)
        along = np.abs(off[..., 0] * cos + off[..., 1] * sin)
        aside = np.abs(off[..., 1] * cos - off[..., 0] * sin)
        apart |= along > one.half_length + c * other.half_length + s * other.half_width
        apart |= aside > one.half_width + s * other.half_length + c * other.half_width
    return ~apart


def find_reachable_rows(ours: GroundRectangles, theirs: GroundRectangles) -> Mask:
    """Return which rows of theirs (N, T) come so near all of ours (C, T) that some may touch."""
    # half sizes added instead of diagonals: an upper bound of how far a rectangle reaches
    reach = (theirs.half_length + theirs.half_width).max(1, keepdims=True)
    reach = reach + (ours.half_length + ours.half_width).max()
    low, high = ours.centre.min((0, 1)), ours.centre.max((0, 1))
    near = (theirs.centre.min(1) - reach <= high) & (theirs.centre.max(1) + reach >= low)
    return np.asarray(near.all(1))


def compute_footprint_corners(centre: Floats, yaw: Floats, length: Floats, width: Floats) -> Floats:
    """Return the corners (N, 4, 2) of rectangles.

    Args:
        centre: (N, 2) metres.
        yaw: (N,) radians.
        length: (N,) metres.
        width: (N,) metres.
    """
    signs = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * 0.5
    local = signs * np.stack([length, width], -1)[:, None]
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x = centre[:, None, 0] + local[..., 0] * cos - local[..., 1] * sin
    y = centre[:, None, 1] + local[..., 0] * sin + local[..., 1] * cos
    return np.stack([x, y], -1)
