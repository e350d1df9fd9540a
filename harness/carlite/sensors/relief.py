"""The ground as rays see it: every grid cell cut into two triangles, from corner [0, 0] outwards.

A ray crosses level country in one stride, skips blocks it stays above, and goes cell by cell only
where the ground undulates beneath it. Positions are in grid units: column, row, and metres up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s
from harness.carlite.compiled import compiled
from harness.carlite.towns.model import Ground

BLOCK = 8
FINENESS = 8192
NEAREST = 1e-30


class Relief(NamedTuple):
    """The lower ground layer, prepared for marching. Blocks are `BLOCK` cells a side.

    Attributes:
        x, y, cell: as in `Ground`.
        heights, labels: (rows, columns) at the grid points.
        lid: (block rows, block columns, 3) a plane close above the ground of each block: its
            height where column and row are 0, its rise per column and per row.
        steep: (block rows, block columns) steepest slope, as rise over run.
        span: how many blocks on every side share the one level of this block, plus one; 0 where
            the block itself is not level.
        top: the highest point of all.
    """

    x: float
    y: float
    cell: float
    heights: Floats
    labels: Bytes
    lid: Floats
    steep: Floats
    span: Int32s
    top: float


def prepare(ground: Ground) -> Relief:
    """Bound the ground block by block, its heights rounded to an eighth of a millimetre."""
    heights = np.round(ground.lower.astype(np.float64) * FINENESS) / FINENESS
    lid, low, high, steep = _blocks(heights, ground.cell)
    return Relief(
        x=ground.x,
        y=ground.y,
        cell=ground.cell,
        heights=heights,
        labels=np.ascontiguousarray(ground.label),
        lid=lid,
        steep=steep,
        span=_level_spans(low, high),
        top=float(heights.max()),
    )


@compiled
def _blocks(heights: Floats, cell: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return lid, lowest and highest point and steepest slope of every block."""
    rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
    shape = ((rows + BLOCK - 1) // BLOCK, (columns + BLOCK - 1) // BLOCK)
    lid = np.empty((shape[0], shape[1], 3))
    low, high, steep = np.empty(shape), np.empty(shape), np.empty(shape)
    for i in range(shape[0]):
        for j in range(shape[1]):
            top, left = i * BLOCK, j * BLOCK
            part = heights[top : min(top + BLOCK, rows) + 1, left : min(left + BLOCK, columns) + 1]
            low[i, j], high[i, j] = part.min(), part.max()
            last_row, last_column = part.shape[0] - 1, part.shape[1] - 1
            fall = part[last_row, last_column] - part[0, 0]
            slant = part[0, last_column] - part[last_row, 0]
            by_column, by_row = (fall + slant) / 2 / last_column, (fall - slant) / 2 / last_row
            over = 0.0
            for row in range(last_row + 1):
                for column in range(last_column + 1):
                    flat = part[0, 0] + column * by_column + row * by_row
                    over = max(over, part[row, column] - flat)
            lid[i, j, 0] = part[0, 0] + over - left * by_column - top * by_row
            lid[i, j, 1], lid[i, j, 2] = by_column, by_row
            steep[i, j] = _steepest(part) / cell
    return lid, low, high, steep


@compiled
def _steepest(heights: Floats) -> float:
    """Steepest slope of a piece of the grid, as rise per cell."""
    steepest = 0.0
    for row in range(heights.shape[0] - 1):
        for column in range(heights.shape[1] - 1):
            corner, opposite = heights[row, column], heights[row + 1, column + 1]
            right, left = heights[row, column + 1], heights[row + 1, column]
            one = (right - corner) ** 2 + (opposite - right) ** 2
            other = (left - corner) ** 2 + (opposite - left) ** 2
            steepest = max(steepest, one, other)
    return math.sqrt(steepest)


@compiled
def steepest_near(relief: Relief, column: float, row: float, reach: float) -> float:
    """Steepest slope of the blocks within `reach` cells of a point given in grid units."""
    rows, columns = relief.steep.shape
    first_row, last_row = int((row - reach) / BLOCK) - 1, int((row + reach) / BLOCK) + 1
    first_column, last_column = int((column - reach) / BLOCK) - 1, int((column + reach) / BLOCK) + 1
    steepest = 0.0
    for i in range(max(first_row, 0), min(last_row + 1, rows)):
        for j in range(max(first_column, 0), min(last_column + 1, columns)):
            steepest = max(steepest, relief.steep[i, j])
    return steepest


@compiled
def _level_spans(low: Floats, high: Floats) -> Int32s:
    """Chessboard distance to the nearest block of another level, by a sweep there and back."""
    rows, columns = low.shape
    span = np.zeros((rows, columns), np.int32)
    far = rows + columns
    for row in range(rows):
        for column in range(columns):
            if low[row, column] == high[row, column]:
                span[row, column] = far
    for sweep in range(2):
        for i in range(rows * columns):
            at = i if sweep == 0 else rows * columns - 1 - i
            row, column = at // columns, at % columns
            for step_row in range(-1, 2):
                for step_column in range(-1, 2):
                    beside_row, beside_column = row + step_row, column + step_column
                    if not (0 <= beside_row < rows and 0 <= beside_column < columns):
                        continue
                    reach = 1
                    if low[beside_row, beside_column] == low[row, column]:
                        reach = span[beside_row, beside_column] + 1
                    span[row, column] = min(span[row, column], reach)
    return span


@compiled
def height_at(heights: Floats, column: float, row: float) -> float:
    """Height of the triangulated ground at a point given in grid units."""
    i = min(max(int(row), 0), heights.shape[0] - 2)
    j = min(max(int(column), 0), heights.shape[1] - 2)
    v, u = row - i, column - j
    corner, opposite = heights[i, j], heights[i + 1, j + 1]
    if u >= v:
        beside = heights[i, j + 1]
        height: float = corner + u * (beside - corner) + v * (opposite - beside)
    else:
        beside = heights[i + 1, j]
        height = corner + v * (beside - corner) + u * (opposite - beside)
    return height


@compiled
def is_over(relief: Relief, column: float, row: float) -> bool:
    """Tell whether a point given in grid units lies over the grid."""
    rows, columns = relief.heights.shape
    over: bool = 0 <= column <= columns - 1 and 0 <= row <= rows - 1
    return over


@compiled
def slope_at(heights: Floats, cell: float, column: float, row: float) -> tuple[float, float]:
    """Rise over run along x and y at a point given in grid units."""
    i = min(max(int(row), 0), heights.shape[0] - 2)
    j = min(max(int(column), 0), heights.shape[1] - 2)
    corner, opposite = heights[i, j], heights[i + 1, j + 1]
    if column - j >= row - i:
        right = heights[i, j + 1]
        return (right - corner) / cell, (opposite - right) / cell
    left = heights[i + 1, j]
    return (opposite - left) / cell, (left - corner) / cell


@compiled
def label_at(labels: Bytes, column: float, row: float) -> int:
    """Label of the nearest grid point."""
    i = min(max(int(row + 0.5), 0), labels.shape[0] - 1)
    j = min(max(int(column + 0.5), 0), labels.shape[1] - 1)
    label: int = labels[i, j]
    return label


@compiled
def _facet_hit(
    corner: float, right: float, left: float, opposite: float,
    u: float, v: float, z: float,
    dx: float, dy: float, dz: float,
) -> float:  # fmt: skip
    """How far a ray goes to meet the very triangle of a cell that it starts above, or inf."""
    if u >= v:
        rise_u, rise_v = right - corner, opposite - right
    else:
        rise_u, rise_v = opposite - left, left - corner
    above = z - corner - u * rise_u - v * rise_v
    fall = dz - rise_u * dx - rise_v * dy
    if above <= 0:
        return 0.0
    if fall >= 0:
        return np.inf
    way = -above / fall
    u_hit, v_hit = u + way * dx, v + way * dy
    if (u >= v) != (u_hit >= v_hit) or u_hit < 0 or u_hit > 1 or v_hit < 0 or v_hit > 1:
        return np.inf
    return way


@compiled
def _cells_hit(
    heights: Floats,
    px: float, py: float, pz: float,
    dx: float, dy: float, dz: float,
    start: float, end: float,
    first_row: int, first_column: int, last_row: int, last_column: int,
) -> float:  # fmt: skip
    """March cell by cell between two parameters of a ray, within a window of cells."""
    column = min(max(int(px + start * dx), first_column), last_column)
    row = min(max(int(py + start * dy), first_row), last_row)
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    stride_x = 1 / abs(dx) if dx != 0 else np.inf
    stride_y = 1 / abs(dy) if dy != 0 else np.inf
    next_x = (column + (dx > 0) - px) / dx if dx != 0 else np.inf
    next_y = (row + (dy > 0) - py) / dy if dy != 0 else np.inf
    t = start
    u, v = px + t * dx - column, py + t * dy - row
    above: float = pz + t * dz - height_at(heights, column + u, row + v)
    if above <= 0:
        return t
    while first_row <= row <= last_row and first_column <= column <= last_column:
        leave = min(next_x, next_y, end)
        u_out, v_out = px + leave * dx - column, py + leave * dy - row
        corner, opposite = heights[row, column], heights[row + 1, column + 1]
        right, left = heights[row, column + 1], heights[row + 1, column]
        if u_out >= v_out:
            ground = corner + u_out * (right - corner) + v_out * (opposite - right)
        else:
            ground = corner + v_out * (left - corner) + u_out * (opposite - left)
        above_out = pz + leave * dz - ground
        side, side_out = u - v, u_out - v_out
        if side * side_out < 0:
            part = side / (side - side_out)
            cross = t + part * (leave - t)
            ground = corner + (u + part * (u_out - u)) * (opposite - corner)
            above_cross = pz + cross * dz - ground
            hit = min(
                _dip(t, cross, above, above_cross), _dip(cross, leave, above_cross, above_out)
            )
        else:
            hit = _dip(t, leave, above, above_out)
        if hit < np.inf or leave >= end:
            return hit
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
def _dip(start: float, end: float, above: float, above_end: float) -> float:
    """Where a height that changes evenly from `above` to `above_end` runs out, inf if nowhere."""
    if above_end > 0:
        return np.inf
    return start + (end - start) * above / (above - above_end) if above > 0 else start


@compiled
def _over_grid(
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
def march(
    relief: Relief,
    x: float, y: float, z: float,
    out_x: float, out_y: float, out_z: float,
    up_x: float, up_y: float, up_z: float,
    slopes: Floats,
    shared: bool,
    nearness: Floats,
    source: Int32s,
    mark: int,
) -> None:  # fmt: skip
    """Draw the ground along rays `(x, y, z) + t (out + slope up)`, nearer than `1 / nearness`.

    Positions are in grid units and metres up. If `shared`, each ray meets the ground no nearer
    than the one before, and takes up the march where that ended. Rays that come in over the edge
    of the grid beneath the ground do not see it.
    """
    heights, lid, span = relief.heights, relief.lid, relief.span
    rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
    block_rows, block_columns = span.shape
    start = 0.0
    for ray in range(len(slopes)):
        if not shared:
            start = 0.0
        if nearness[ray] * start >= 1:
            continue
        end = 1 / nearness[ray]
        slope = slopes[ray]
        dx, dy, dz = out_x + slope * up_x, out_y + slope * up_y, out_z + slope * up_z
        t, last, begin = start, end, start
        start = end
        if z + t * dz > relief.top:
            if dz >= 0:
                continue
            t = (relief.top - z) / dz
        if not is_over(relief, x + t * dx, y + t * dy):
            t, last = _over_grid(columns, rows, x, y, dx, dy, t, end)
            if t < last and z + t * dz < height_at(heights, x + t * dx, y + t * dy):
                start = begin
                continue
        i = min(max(int((y + t * dy) / BLOCK), 0), block_rows - 1)
        j = min(max(int((x + t * dx) / BLOCK), 0), block_columns - 1)
        hit = np.inf
        while t < last and 0 <= i < block_rows and 0 <= j < block_columns:
            reach = max(span[i, j] - 1, 0)
            first_i, last_i = max(i - reach, 0), min(i + reach, block_rows - 1)
            first_j, last_j = max(j - reach, 0), min(j + reach, block_columns - 1)
            left, right = first_j * BLOCK, min((last_j + 1) * BLOCK, columns)
            front, back = first_i * BLOCK, min((last_i + 1) * BLOCK, rows)
            above = z - lid[i, j, 0] - lid[i, j, 1] * x - lid[i, j, 2] * y
            fall = dz - lid[i, j, 1] * dx - lid[i, j, 2] * dy
            near = t
            if above + t * fall > 0:
                near = -above / fall if fall < 0 else np.inf
            px, py = x + near * dx, y + near * dy
            inside = near <= last and left <= px <= right and front <= py <= back
            if inside and span[i, j] > 0:
                hit = near
                break
            if inside:
                row, column = min(int(py), rows - 1), min(int(px), columns - 1)
                hit = near + _facet_hit(
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
                hit = _cells_hit(
                    heights, x, y, z, dx, dy, dz, near, leave, front, left, back - 1, right - 1
                )
                if hit <= leave:
                    break
            t = leave
            if leave_x <= leave_y:
                j = last_j + 1 if dx > 0 else first_j - 1
                i = min(max(int((y + t * dy) / BLOCK), first_i), last_i)
            else:
                i = last_i + 1 if dy > 0 else first_i - 1
                j = min(max(int((x + t * dx) / BLOCK), first_j), last_j)
        if hit <= last:
            nearness[ray] = 1 / max(hit, NEAREST)
            source[ray] = mark
            start = hit
