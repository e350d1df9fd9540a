"""Upright boxes that move for a tick: where they are, when two first touch, and how. Compiled."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled

Boxes: TypeAlias = NDArray[np.void]

BOX = np.dtype(
    [
        ("x", np.float64),
        ("y", np.float64),
        ("half_length", np.float64),
        ("half_width", np.float64),
        ("yaw", np.float64),
        ("bottom", np.float64),
        ("top", np.float64),
        ("dx", np.float64),
        ("dy", np.float64),
        ("turn", np.float64),
        ("lightness", np.float64),
        ("nimbleness", np.float64),
        ("arm_x", np.float64),
        ("arm_y", np.float64),
        ("reach_x", np.float64),
        ("reach_y", np.float64),
    ]
)
"""A box at the end of a tick in which it moved by (dx, dy) and turned by `turn`.

`lightness` and `nimbleness` are the inverse mass and inverse yaw inertia, zero where nothing moves
it; (arm_x, arm_y) leads from the centre of mass, about which the body turns, to the box's middle;
reach is the half size, along the world's axes, of what it sweeps."""

STRIDE = 0.25
"""Metres that two boxes may approach between two looks."""

REFINEMENTS = 4


@compiled
def fill_box_reach(box: Any) -> None:
    """Fill in the reach of a box whose other fields are set."""
    cos, sin = abs(math.cos(box["yaw"])), abs(math.sin(box["yaw"]))
    spare = abs(box["turn"]) * math.hypot(box["half_length"], box["half_width"])
    box["reach_x"] = cos * box["half_length"] + sin * box["half_width"] + abs(box["dx"]) + spare
    box["reach_y"] = sin * box["half_length"] + cos * box["half_width"] + abs(box["dy"]) + spare


@compiled
def can_boxes_touch(a: Any, b: Any) -> bool:
    """Return whether what two boxes sweep can touch.

    Args:
        a: a record of `BOX`, with its reach during the tick.
        b: another one.
    """
    return bool(
        abs(a["x"] - b["x"]) <= a["reach_x"] + b["reach_x"]
        and abs(a["y"] - b["y"]) <= a["reach_y"] + b["reach_y"]
        and a["bottom"] < b["top"]
        and b["bottom"] < a["top"]
    )


@compiled
def compute_axis_overlap(
    a: Any, b: Any, yaw_a: float, yaw_b: float, x: float, y: float, nx: float, ny: float
) -> float:
    """Return how deep two boxes, `b`'s middle (x, y) off `a`'s, overlap along a unit vector."""
    # how far each box reaches along the vector from its middle
    reach_a = a["half_length"] * abs(math.cos(yaw_a) * nx + math.sin(yaw_a) * ny) + a[
        "half_width"
    ] * abs(math.cos(yaw_a) * ny - math.sin(yaw_a) * nx)
    reach_b = b["half_length"] * abs(math.cos(yaw_b) * nx + math.sin(yaw_b) * ny) + b[
        "half_width"
    ] * abs(math.cos(yaw_b) * ny - math.sin(yaw_b) * nx)
    # less how far the middles are apart along it
    depth: float = reach_a + reach_b - (x * nx + y * ny)
    return depth


@compiled
def find_least_penetration(a: Any, b: Any, share: float) -> tuple[float, float, float]:
    """Return the least depth and its direction, from `a` to `b`, at a share of the tick.

    Separating axes; a depth of zero or less means that the boxes are apart.

    Args:
        a: a record of `BOX`, at the end of the tick.
        b: another one.
        share: of the tick, 0 to 1.

    Returns:
        m, and x and y of a unit vector.
    """
    # both boxes at that share of the tick
    rest = 1.0 - share
    yaw_a, yaw_b = a["yaw"] - rest * a["turn"], b["yaw"] - rest * b["turn"]
    x = b["x"] - a["x"] - rest * (b["dx"] - a["dx"])
    y = b["y"] - a["y"] - rest * (b["dy"] - a["dy"])
    least, normal_x, normal_y = 1e30, 1.0, 0.0
    # two axes of each box
    for axis in range(4):
        yaw = (yaw_a if axis < 2 else yaw_b) + 0.5 * math.pi * (axis % 2)
        nx, ny = math.cos(yaw), math.sin(yaw)
        if x * nx + y * ny < 0.0:
            nx, ny = -nx, -ny
        depth = compute_axis_overlap(a, b, yaw_a, yaw_b, x, y, nx, ny)
        if depth < least - 1e-9:
            least, normal_x, normal_y = depth, nx, ny
        if least <= 0.0:
            break
    return least, normal_x, normal_y


@compiled
def find_first_touch(a: Any, b: Any) -> float:
    """Return the share of the tick at which two boxes first overlap, -1 if they never do."""
    # looks at intervals of at most `STRIDE` metres
    lever = math.hypot(a["half_length"], a["half_width"]) * abs(a["turn"])
    lever += math.hypot(b["half_length"], b["half_width"]) * abs(b["turn"])
    way = math.hypot(b["dx"] - a["dx"], b["dy"] - a["dy"]) + lever
    looks: int = max(math.ceil(way / STRIDE), 1)
    for look in range(looks + 1):
        share = look / looks
        if find_least_penetration(a, b, share)[0] > 0.0:
            # then halves the interval in which they meet
            apart = max(look - 1, 0) / looks
            for _ in range(REFINEMENTS if look > 0 else 0):
                middle = 0.5 * (apart + share)
                if find_least_penetration(a, b, middle)[0] > 0.0:
                    share = middle
                else:
                    apart = middle
            return share
    return -1.0


@compiled
def compute_contact_point(
    a: Any, b: Any, share: float, here: Floats, there: Floats
) -> tuple[float, float]:
    """Return the middle of the corners of two boxes' intersection at a share of the tick.

    `here` and `there` are (16, 2) scratch space.
    """
    # the corners of `a`, cut off at the four sides of `b`
    rest = 1.0 - share
    _write_box_corners(a, rest, here)
    count = 4
    yaw = b["yaw"] - rest * b["turn"]
    x, y = b["x"] - rest * b["dx"], b["y"] - rest * b["dy"]
    for side in range(4):
        angle = yaw + 0.5 * math.pi * side
        nx, ny = math.cos(angle), math.sin(angle)
        limit = x * nx + y * ny + (b["half_length"] if side % 2 == 0 else b["half_width"])
        count = _clip_convex_polygon(here, count, nx, ny, limit, there)
        for corner in range(count):
            here[corner, 0], here[corner, 1] = there[corner, 0], there[corner, 1]
    # no intersection: between the middles
    if count == 0:
        return 0.5 * (a["x"] - rest * a["dx"] + x), 0.5 * (a["y"] - rest * a["dy"] + y)
    sum_x, sum_y = 0.0, 0.0
    for corner in range(count):
        sum_x += here[corner, 0]
        sum_y += here[corner, 1]
    return sum_x / count, sum_y / count


@compiled
def _write_box_corners(box: Any, rest: float, out: Floats) -> None:
    yaw = box["yaw"] - rest * box["turn"]
    cos, sin = math.cos(yaw), math.sin(yaw)
    x, y = box["x"] - rest * box["dx"], box["y"] - rest * box["dy"]
    for corner in range(4):
        ahead = box["half_length"] if (corner + 1) % 4 < 2 else -box["half_length"]
        aside = box["half_width"] if corner < 2 else -box["half_width"]
        out[corner, 0] = x + ahead * cos - aside * sin
        out[corner, 1] = y + ahead * sin + aside * cos


@compiled
def _clip_convex_polygon(
    polygon: Floats, count: int, nx: float, ny: float, limit: float, out: Floats
) -> int:
    """Keep the part of a convex polygon where n . p <= limit; return its number of corners."""
    kept = 0
    for corner in range(count):
        follower = (corner + 1) % count
        here = polygon[corner, 0] * nx + polygon[corner, 1] * ny - limit
        there = polygon[follower, 0] * nx + polygon[follower, 1] * ny - limit
        # a corner that is kept
        if here <= 0.0:
            out[kept, 0], out[kept, 1] = polygon[corner, 0], polygon[corner, 1]
            kept += 1
        # an edge that crosses the limit
        if (here < 0.0 < there) or (there < 0.0 < here):
            share = here / (here - there)
            for axis in range(2):
                out[kept, axis] = polygon[corner, axis] + share * (
                    polygon[follower, axis] - polygon[corner, axis]
                )
            kept += 1
    return kept
