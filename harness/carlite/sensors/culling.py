"""What need not be drawn: things out of reach, between the rays, or behind what is drawn already.

Things are drawn from near to far, so that in a street the first house front hides the rest.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import allocating, compiled
from harness.carlite.sensors.fan import SLACK, RayFan, compute_pseudo_angle, find_first_column
from harness.carlite.sensors.things import PlacedThings

SHELLS = 256


@allocating
def select_things_in_reach(things: PlacedThings, origin: Floats, reach: float) -> Int32s:
    """Return the things within reach, nearest first (sorted into `SHELLS` by distance).

    Args:
        things: with centres and radii of spheres round them.
        origin: (3,) m in the world.
        reach: m.

    Returns:
        (things in reach,) numbers.
    """
    total = len(things.mesh)
    # counting sort: first how many things each shell of distance has
    shell = np.full(total, -1, np.int32)
    start = np.zeros(SHELLS + 1, np.int32)
    for n in range(total):
        dx, dy = things.centre[n, 0] - origin[0], things.centre[n, 1] - origin[1]
        dz, far = things.centre[n, 2] - origin[2], reach + things.radius[n]
        square = dx * dx + dy * dy + dz * dz
        if square <= far * far:
            gap = max(np.sqrt(square) - things.radius[n], 0.0)
            shell[n] = min(int(gap / reach * SHELLS), SHELLS - 1)
            start[shell[n] + 1] += 1
    # where each shell begins
    for k in range(SHELLS):
        start[k + 1] += start[k]
    # then each thing into its shell
    close = np.empty(start[SHELLS], np.int32)
    for n in range(total):
        if shell[n] >= 0:
            close[start[shell[n]]] = n
            start[shell[n]] += 1
    return close


@compiled
def is_box_hidden(centre: Floats, axes: Floats, fan: RayFan, nearness: Floats) -> bool:
    """Return whether nothing of a box in the sensor's frame can be nearer than what is drawn.

    `axes` holds the box's half edges as columns. May err to False, never to True.

    Args:
        centre: (3,) m in the sensor's frame.
        axes: (3, 3) m.
        fan: the rays.
        nearness: (columns, rows) 1 / horizontal distance of what is drawn.
    """
    flat = np.sqrt(centre[0] * centre[0] + centre[1] * centre[1])
    if flat == 0:
        return False
    # half sizes of the box along, across and above the direction to its centre
    ahead_x, ahead_y = centre[0] / flat, centre[1] / flat
    depth, half_width, half_height = 0.0, 0.0, 0.0
    for j in range(3):
        depth += abs(axes[0, j] * ahead_x + axes[1, j] * ahead_y)
        half_width += abs(axes[1, j] * ahead_x - axes[0, j] * ahead_y)
        half_height += abs(axes[2, j])
    near = flat - depth
    if near <= 0:
        return False
    far = flat + depth + half_width
    low, high = centre[2] - half_height, centre[2] + half_height
    # the rows of rays that may meet it
    bottom = low / (near * fan.least_scale) if low < 0 else low / far
    top = high / (near * fan.least_scale) if high > 0 else high / far
    first_row = np.searchsorted(fan.slopes, bottom - SLACK)
    last_row = np.searchsorted(fan.slopes, top + SLACK)
    if first_row == last_row:
        return True
    # the columns of rays that may meet it: one interval of pseudo-azimuth, or two
    side = half_width / near
    right = compute_pseudo_angle(ahead_x - ahead_y * side, ahead_y + ahead_x * side) + SLACK
    left = compute_pseudo_angle(ahead_x + ahead_y * side, ahead_y - ahead_x * side) - SLACK
    # hidden if all that is drawn there is nearer than the box can be
    closest = (1 + SLACK) / near
    if left <= right:
        return _is_all_nearer(fan, nearness, left, right, first_row, last_row, closest)
    return _is_all_nearer(
        fan, nearness, left, 2.0, first_row, last_row, closest
    ) and _is_all_nearer(fan, nearness, -2.0, right, first_row, last_row, closest)


@compiled
def _is_all_nearer(
    fan: RayFan,
    nearness: Floats,
    left: float,
    right: float,
    first_row: int,
    last_row: int,
    closest: float,
) -> bool:
    # nearness: (columns, rows); the columns of the interval, all rows between the two
    column = find_first_column(fan, left)
    while column < len(fan.angle) and fan.angle[column] <= right:
        for row in range(first_row, last_row):
            if nearness[column, row] < closest:
                return False
        column += 1
    return True
