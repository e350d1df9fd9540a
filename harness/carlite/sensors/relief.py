"""The ground as rays see it: every grid cell cut into two triangles, from corner [0, 0] outwards.

Blocks of cells are bounded by a lid each, and level country by how far it stretches, so that rays
can cross them in long strides. Positions are in grid units: column, row, and metres up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s
from harness.carlite.compiled import allocating, compiled
from harness.carlite.towns.model import TownGround

BLOCK = 8
FINENESS = 8192


class GroundRelief(NamedTuple):
    """The lower ground layer, prepared for marching. Blocks are `BLOCK` cells a side.

    Attributes:
        x, y, cell: as in `TownGround`.
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


def prepare_relief(ground: TownGround) -> GroundRelief:
    """Bound the ground block by block, its heights rounded to an eighth of a millimetre."""
    heights = np.round(ground.lower.astype(np.float64) * FINENESS) / FINENESS
    lid, low, high, steep = _measure_blocks(heights, ground.cell)
    return GroundRelief(
        x=ground.x,
        y=ground.y,
        cell=ground.cell,
        heights=heights,
        labels=np.ascontiguousarray(ground.label),
        lid=lid,
        steep=steep,
        span=_measure_level_spans(low, high),
        top=float(heights.max()),
    )


@allocating
def _measure_blocks(heights: Floats, cell: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return lid, lowest and highest point and steepest slope of every block."""
    # heights: (rows + 1, columns + 1); a block has BLOCK cells a side
    rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
    shape = ((rows + BLOCK - 1) // BLOCK, (columns + BLOCK - 1) // BLOCK)
    lid = np.empty((shape[0], shape[1], 3))
    low, high, steep = np.empty(shape), np.empty(shape), np.empty(shape)
    for i in range(shape[0]):
        for j in range(shape[1]):
            # lowest and highest point
            top, left = i * BLOCK, j * BLOCK
            part = heights[top : min(top + BLOCK, rows) + 1, left : min(left + BLOCK, columns) + 1]
            low[i, j], high[i, j] = part.min(), part.max()
            # the lid: a plane through the corners, raised until no point is above it
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
            steep[i, j] = _find_steepest_slope(part) / cell
    return lid, low, high, steep


@compiled
def _find_steepest_slope(heights: Floats) -> float:
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
def find_steepest_in_reach(relief: GroundRelief, column: float, row: float, reach: float) -> float:
    """Steepest slope of the blocks within `reach` cells of a point given in grid units.

    Args:
        relief: the ground.
        column: in cells from the first column.
        row: in cells from the first row.
        reach: cells.
    """
    rows, columns = relief.steep.shape
    first_row, last_row = int((row - reach) / BLOCK) - 1, int((row + reach) / BLOCK) + 1
    first_column, last_column = int((column - reach) / BLOCK) - 1, int((column + reach) / BLOCK) + 1
    steepest = 0.0
    for i in range(max(first_row, 0), min(last_row + 1, rows)):
        for j in range(max(first_column, 0), min(last_column + 1, columns)):
            steepest = max(steepest, relief.steep[i, j])
    return steepest


@allocating
def _measure_level_spans(low: Floats, high: Floats) -> Int32s:
    """Chessboard distance to the nearest block of another level, by a sweep there and back."""
    rows, columns = low.shape
    span = np.zeros((rows, columns), np.int32)
    far = rows + columns
    # level blocks are as far away as can be, to begin with
    for row in range(rows):
        for column in range(columns):
            if low[row, column] == high[row, column]:
                span[row, column] = far
    # there and back: each block from its neighbours of the same level
    for sweep in range(2):
        for i in range(rows * columns):
            at = i if sweep == 0 else rows * columns - 1 - i
            row, column = at // columns, at % columns
            for step_row in range(-1, 2):
                for step_column in range(-1, 2):
                    next_row, next_column = row + step_row, column + step_column
                    if not (0 <= next_row < rows and 0 <= next_column < columns):
                        continue
                    reach = 1
                    if low[next_row, next_column] == low[row, column]:
                        reach = span[next_row, next_column] + 1
                    span[row, column] = min(span[row, column], reach)
    return span


@compiled
def interpolate_relief_height(heights: Floats, column: float, row: float) -> float:
    """Height of the triangulated ground at a point given in grid units.

    Args:
        heights: (rows, columns) m at grid points.
        column: in cells from the first column.
        row: in cells from the first row.

    Returns:
        m.
    """
    # heights: (rows, columns) of grid points; the cell, and the place in it from 0 to 1
    i = min(max(int(row), 0), heights.shape[0] - 2)
    j = min(max(int(column), 0), heights.shape[1] - 2)
    v, u = row - i, column - j
    corner, opposite = heights[i, j], heights[i + 1, j + 1]
    # the triangle below the diagonal, or above it
    if u >= v:
        neighbour = heights[i, j + 1]
        height: float = corner + u * (neighbour - corner) + v * (opposite - neighbour)
    else:
        neighbour = heights[i + 1, j]
        height = corner + v * (neighbour - corner) + u * (opposite - neighbour)
    return height


@compiled
def is_over_grid(relief: GroundRelief, column: float, row: float) -> bool:
    """Return whether a point given in grid units lies over the grid.

    Args:
        relief: the ground.
        column: in cells from the first column.
        row: in cells from the first row.
    """
    rows, columns = relief.heights.shape
    over: bool = 0 <= column <= columns - 1 and 0 <= row <= rows - 1
    return over


@compiled
def compute_relief_slope(
    heights: Floats, cell: float, column: float, row: float
) -> tuple[float, float]:
    """Rise over run along x and y at a point given in grid units.

    Args:
        heights: (rows, columns) m at grid points.
        cell: m, the side of a cell.
        column: in cells from the first column.
        row: in cells from the first row.

    Returns:
        m for each metre.
    """
    # heights: (rows, columns) of grid points; each cell is two triangles
    i = min(max(int(row), 0), heights.shape[0] - 2)
    j = min(max(int(column), 0), heights.shape[1] - 2)
    corner, opposite = heights[i, j], heights[i + 1, j + 1]
    if column - j >= row - i:
        right = heights[i, j + 1]
        return (right - corner) / cell, (opposite - right) / cell
    left = heights[i + 1, j]
    return (opposite - left) / cell, (left - corner) / cell


@compiled
def find_relief_label(labels: Bytes, column: float, row: float) -> int:
    """Label of the nearest grid point.

    Args:
        labels: (rows, columns) of grid points.
        column: in cells from the first column.
        row: in cells from the first row.
    """
    i = min(max(int(row + 0.5), 0), labels.shape[0] - 1)
    j = min(max(int(column + 0.5), 0), labels.shape[1] - 1)
    label: int = labels[i, j]
    return label
