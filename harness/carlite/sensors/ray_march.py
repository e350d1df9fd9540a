"""Rays over the ground: long strides over level country, cell by cell only where one comes close.

Positions are in grid units: column, row, and metres up.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled
from harness.carlite.sensors.relief import (
    BLOCK,
    GroundRelief,
    interpolate_relief_height,
    is_over_grid,
)

NEAREST = 1e-30


@compiled
def _find_facet_hit(
    corner: float, right: float, left: float, opposite: float,
    u: float, v: float, z: float,
    dx: float, dy: float, dz: float,
) -> float:  # fmt: skip
    """How far a ray goes to meet the very triangle of a cell that it starts above, or inf."""
    # which of the two triangles, and its slope along both sides of the cell
    if u >= v:
        rise_u, rise_v = right - corner, opposite - right
    else:
        rise_u, rise_v = opposite - left, left - corner
    # height above it, and how fast the ray comes nearer
    above = z - corner - u * rise_u - v * rise_v
    fall = dz - rise_u * dx - rise_v * dy
    if above <= 0:
        return 0.0
    if fall >= 0:
        return np.inf
    # the hit counts if it lies in the same triangle of the same cell
    way = -above / fall
    u_hit, v_hit = u + way * dx, v + way * dy
    if (u >= v) != (u_hit >= v_hit) or u_hit < 0 or u_hit > 1 or v_hit < 0 or v_hit > 1:
        return np.inf
    return way


@compiled
def _march_cells(
    heights: Floats,
    px: float, py: float, pz: float,
    dx: float, dy: float, dz: float,
    start: float, end: float,
    first_row: int, first_column: int, last_row: int, last_column: int,
) -> float:  # fmt: skip
    """March cell by cell between two parameters of a ray, within a window of cells."""
    # the cell that the ray starts over, and the parameters at which it leaves columns and rows
    column = min(max(int(px + start * dx), first_column), last_column)
    row = min(max(int(py + start * dy), first_row), last_row)
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    stride_x = 1 / abs(dx) if dx != 0 else np.inf
    stride_y = 1 / abs(dy) if dy != 0 else np.inf
    next_x = (column + (dx > 0) - px) / dx if dx != 0 else np.inf
    next_y = (row + (dy > 0) - py) / dy if dy != 0 else np.inf
    t = start
    # place within the cell, 0 to 1, and height above the ground there
    u, v = px + t * dx - column, py + t * dy - row
    above: float = pz + t * dz - interpolate_relief_height(heights, column + u, row + v)
    if above <= 0:
        return t
    while first_row <= row <= last_row and first_column <= column <= last_column:
        # the ray's height above the ground where it leaves the cell; a cell is two triangles
        leave = min(next_x, next_y, end)
        u_out, v_out = px + leave * dx - column, py + leave * dy - row
        corner, opposite = heights[row, column], heights[row + 1, column + 1]
        right, left = heights[row, column + 1], heights[row + 1, column]
        if u_out >= v_out:
            ground = corner + u_out * (right - corner) + v_out * (opposite - right)
        else:
            ground = corner + v_out * (left - corner) + u_out * (opposite - left)
        above_out = pz + leave * dz - ground
        # on the diagonal it changes triangles: two pieces, along which the height is linear
        side, side_out = u - v, u_out - v_out
        if side * side_out < 0:
            part = side / (side - side_out)
            cross = t + part * (leave - t)
            ground = corner + (u + part * (u_out - u)) * (opposite - corner)
            above_cross = pz + cross * dz - ground
            hit = min(
                _interpolate_ground_hit(t, cross, above, above_cross),
                _interpolate_ground_hit(cross, leave, above_cross, above_out),
            )
        else:
            hit = _interpolate_ground_hit(t, leave, above, above_out)
        if hit < np.inf or leave >= end:
            return hit
        # on to the next cell, across the nearer of its two edges
        t, above, u, v = leave, above_out, u_out, v_out
        if next_x <= next_y:
            column += step_x
            u -= step_x
            next_x += stride_x
        else:
            row += step_y
            v -= step_y
            next_y += stride_y
    return np.inf


@compiled
def _interpolate_ground_hit(start: float, end: float, above: float, above_end: float) -> float:
    """Where a height that changes evenly from `above` to `above_end` runs out, inf if nowhere."""
    if above_end > 0:
        return np.inf
    return start + (end - start) * above / (above - above_end) if above > 0 else start


@compiled
def _clip_to_grid(
    columns: int, rows: int, px: float, py: float, dx: float, dy: float, start: float, end: float
) -> tuple[float, float]:
    """Cut an interval of a ray down to where it is over the grid."""
    for size, p, d in ((columns, px, dx), (rows, py, dy)):
        if d != 0:
            near, far = -p / d, (size - p) / d
            start, end = max(start, min(near, far)), min(end, max(near, far))
        elif not 0 <= p <= size:
            return np.inf, -np.inf
    return start, end


@compiled
def trace_ray(
    relief: GroundRelief,
    x: float, y: float, z: float,
    dx: float, dy: float, dz: float,
    start: float, end: float,
) -> tuple[float, float]:  # fmt: skip
    """Return where a ray meets the ground, and where one that goes higher may begin.

    The ray is `(x, y, z) + t (dx, dy, dz)`, from the parameter `start` to `end`; inf is nowhere.
    Rays that come in over the edge of the grid beneath the ground do not see it.
    """
    heights, lid, span = relief.heights, relief.lid, relief.span
    rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
    block_rows, block_columns = span.shape
    # From where to where: below the highest ground and over the grid.
    t, last = start, end
    if z + t * dz > relief.top:
        if dz >= 0:
            return np.inf, end
        t = (relief.top - z) / dz
    if not is_over_grid(relief, x + t * dx, y + t * dy):
        t, last = _clip_to_grid(columns, rows, x, y, dx, dy, t, end)
        if t < last and z + t * dz < interpolate_relief_height(heights, x + t * dx, y + t * dy):
            return np.inf, start
    # Block by block; level country round a block is crossed in one stride.
    i = min(max(int((y + t * dy) / BLOCK), 0), block_rows - 1)
    j = min(max(int((x + t * dx) / BLOCK), 0), block_columns - 1)
    hit = np.inf
    while t < last and 0 <= i < block_rows and 0 <= j < block_columns:
        reach = max(span[i, j] - 1, 0)
        first_i, last_i = max(i - reach, 0), min(i + reach, block_rows - 1)
        first_j, last_j = max(j - reach, 0), min(j + reach, block_columns - 1)
        left, right = first_j * BLOCK, min((last_j + 1) * BLOCK, columns)
        front, back = first_i * BLOCK, min((last_i + 1) * BLOCK, rows)
        # Where the ray falls below the plane above the block's ground, its lid.
        above = z - lid[i, j, 0] - lid[i, j, 1] * x - lid[i, j, 2] * y
        fall = dz - lid[i, j, 1] * dx - lid[i, j, 2] * dy
        near = t
        if above + t * fall > 0:
            near = -above / fall if fall < 0 else np.inf
        px, py = x + near * dx, y + near * dy
        inside = near <= last and left <= px <= right and front <= py <= back
        # In a level block the lid is the ground; otherwise the triangle there, then all cells.
        if inside and span[i, j] > 0:
            hit = near
            break
        if inside:
            row, column = min(int(py), rows - 1), min(int(px), columns - 1)
            hit = near + _find_facet_hit(
                heights[row, column], heights[row, column + 1],
                heights[row + 1, column], heights[row + 1, column + 1],
                px - column, py - row, z + near * dz, dx, dy, dz,
            )  # fmt: skip
            if hit <= last:
                break
        leave_x = ((right if dx > 0 else left) - x) / dx if dx != 0 else np.inf
        leave_y = ((back if dy > 0 else front) - y) / dy if dy != 0 else np.inf
        leave = max(min(leave_x, leave_y, last), t)
        if inside:
            hit = _march_cells(
                heights, x, y, z, dx, dy, dz, near, leave, front, left, back - 1, right - 1
            )
            if hit <= leave:
                break
        # On to the next block.
        t = leave
        if leave_x <= leave_y:
            j = last_j + 1 if dx > 0 else first_j - 1
            i = min(max(int((y + t * dy) / BLOCK), first_i), last_i)
        else:
            i = last_i + 1 if dy > 0 else first_i - 1
            j = min(max(int((x + t * dx) / BLOCK), first_j), last_j)
    return (hit, hit) if hit <= last else (np.inf, end)
