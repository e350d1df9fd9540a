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


class Relief(NamedTuple):
    """The lower ground layer, prepared for marching.

    Attributes:
        x, y, cell: as in `Ground`.
        heights, labels: (rows, columns) at the grid points.
        low, high: (block rows, block columns) bounds over blocks of `BLOCK` cells a side.
        span: how many blocks on every side share the one level of this block, plus one; 0 where
            the block itself is not level.
        steepest: largest slope anywhere, as rise over run.
        top: the highest point.
    """

    x: float
    y: float
    cell: float
    heights: Floats
    labels: Bytes
    low: Floats
    high: Floats
    span: Int32s
    steepest: float
    top: float


def prepare(ground: Ground) -> Relief:
    """Bound the ground block by block."""
    heights = np.ascontiguousarray(ground.lower, dtype=np.float64)
    low, high = _block_bounds(heights)
    return Relief(
        x=ground.x,
        y=ground.y,
        cell=ground.cell,
        heights=heights,
        labels=np.ascontiguousarray(ground.label),
        low=low,
        high=high,
        span=_level_spans(low, high),
        steepest=_steepest(heights, ground.cell),
        top=float(heights.max()),
    )


@compiled
def _block_bounds(heights: Floats) -> tuple[Floats, Floats]:
    rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
    shape = ((rows + BLOCK - 1) // BLOCK, (columns + BLOCK - 1) // BLOCK)
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    for block_row in range(shape[0]):
        for block_column in range(shape[1]):
            for row in range(block_row * BLOCK, min(block_row * BLOCK + BLOCK, rows) + 1):
                for column in range(
                    block_column * BLOCK, min(block_column * BLOCK + BLOCK, columns) + 1
                ):
                    height = heights[row, column]
                    low[block_row, block_column] = min(low[block_row, block_column], height)
                    high[block_row, block_column] = max(high[block_row, block_column], height)
    return low, high


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
def _steepest(heights: Floats, cell: float) -> float:
    steepest = 0.0
    for row in range(heights.shape[0] - 1):
        for column in range(heights.shape[1] - 1):
            corner, opposite = heights[row, column], heights[row + 1, column + 1]
            right, left = heights[row, column + 1], heights[row + 1, column]
            steepest = max(
                steepest,
                (right - corner) ** 2 + (opposite - right) ** 2,
                (left - corner) ** 2 + (opposite - left) ** 2,
            )
    return math.sqrt(steepest) / cell


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
def level_window(
    relief: Relief, column: float, row: float
) -> tuple[float, float, float, float, float]:
    """Return a level rectangle about a point: its bounds in columns and rows, and its height.

    Where the ground is not level about the point, the bounds exclude everything.
    """
    if is_over(relief, column, row):
        block_row, block_column = int(row / BLOCK), int(column / BLOCK)
        block_row = min(block_row, relief.span.shape[0] - 1)
        block_column = min(block_column, relief.span.shape[1] - 1)
        span = relief.span[block_row, block_column]
        if span > 0:
            rows, columns = relief.heights.shape
            return (
                max((block_column - span + 1.0) * BLOCK, 0.0),
                min((block_column + span) * BLOCK, columns - 1.0),
                max((block_row - span + 1.0) * BLOCK, 0.0),
                min((block_row + span) * BLOCK, rows - 1.0),
                relief.low[block_row, block_column],
            )
    return np.inf, -np.inf, np.inf, -np.inf, 0.0


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
def ground_hit(
    relief: Relief,
    px: float, py: float, pz: float,
    dx: float, dy: float, dz: float,
    start: float, end: float,
) -> float:  # fmt: skip
    """Return the parameter in [start, end] at which a ray from above meets the ground, or inf.

    The ray is (px, py, pz) + t (dx, dy, dz), in grid units and metres up.
    """
    heights, low, high, span = relief.heights, relief.low, relief.high, relief.span
    rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
    t = start
    if not (
        is_over(relief, px + t * dx, py + t * dy) and is_over(relief, px + end * dx, py + end * dy)
    ):
        t, end = _over_grid(columns, rows, px, py, dx, dy, t, end)
    block_column = min(max(int((px + t * dx) / BLOCK), 0), low.shape[1] - 1)
    block_row = min(max(int((py + t * dy) / BLOCK), 0), low.shape[0] - 1)
    while t < end:
        reach = max(span[block_row, block_column] - 1, 0)
        first_column = max(block_column - reach, 0)
        last_column = min(block_column + reach, low.shape[1] - 1)
        first_row, last_row = max(block_row - reach, 0), min(block_row + reach, low.shape[0] - 1)
        leave_x, leave_y = np.inf, np.inf
        if dx > 0:
            leave_x = ((last_column + 1) * BLOCK - px) / dx
        elif dx < 0:
            leave_x = (first_column * BLOCK - px) / dx
        if dy > 0:
            leave_y = ((last_row + 1) * BLOCK - py) / dy
        elif dy < 0:
            leave_y = (first_row * BLOCK - py) / dy
        leave = max(min(leave_x, leave_y, end), t)
        top = high[block_row, block_column]
        if min(pz + t * dz, pz + leave * dz) <= top:
            if span[block_row, block_column] > 0:
                return max((top - pz) / dz, t) if dz < 0 else t
            hit = _cells_hit(
                heights, px, py, pz, dx, dy, dz, t, leave,
                block_row * BLOCK, block_column * BLOCK,
                min(block_row * BLOCK + BLOCK, rows) - 1,
                min(block_column * BLOCK + BLOCK, columns) - 1,
            )  # fmt: skip
            if hit <= leave:
                return hit
        if leave >= end:
            return np.inf
        if leave_x <= leave_y:
            block_column = last_column + 1 if dx > 0 else first_column - 1
            block_row = min(max(int((py + leave * dy) / BLOCK), first_row), last_row)
        else:
            block_row = last_row + 1 if dy > 0 else first_row - 1
            block_column = min(max(int((px + leave * dx) / BLOCK), first_column), last_column)
        if not (0 <= block_row < low.shape[0] and 0 <= block_column < low.shape[1]):
            return np.inf
        t = leave
    return np.inf
