"""What networks should say of a true scene: a hill of likelihood at each centre, codes round it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.perception.grid import CODES, Grid
from harness.vocabulary import CLASSES, VEHICLE, Boxes, Mask, Singles

REACH = {kind: 2 if kind == VEHICLE else 1 for kind in range(len(CLASSES))}
"""Cells from a centre in which its hill rises, and codes are learnt."""
NEAR, NEAR_COUNTS = 12.0, 3.0
"""Metres from the LiDAR within which an invention counts so often: somebody would brake for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Maps for one sample."""

    likelihood: Singles  # (classes, rows, columns), 1 at centres
    care: Singles  # what an invention counts; 0 round those who are hardly seen
    codes: Singles  # (classes, codes, rows, columns)


def targets_of(raised: Boxes, seen: Mask, unsure: Mask, grid: Grid) -> Targets:
    """Return the maps of those who are seen; those who are unsure are neither asked nor denied."""
    shape = (len(CLASSES), *grid.output_shape)
    counts = care_of(grid)
    likelihood, care = np.zeros(shape, np.float32), np.tile(counts, (len(CLASSES), 1, 1))
    codes = np.zeros((len(CLASSES), len(CODES), *grid.output_shape), np.float32)
    cells, told = grid.codes_of(raised.geometry)
    step = grid.cell / np.array(grid.scales[:2])
    for number, ((row, column), kind) in enumerate(
        zip(cells.tolist(), raised.classes.tolist(), strict=True)
    ):
        if not (seen[number] or unsure[number]):
            continue
        reach = REACH[kind]
        for r, c in around(row, column, reach, grid):
            if unsure[number]:
                care[kind, r, c] = 0.0
                continue
            away = (r - row) ** 2 + (c - column) ** 2
            height = np.exp(-away / (2 * ((2 * reach + 1) / 6) ** 2))
            if height > likelihood[kind, r, c]:
                likelihood[kind, r, c] = height
                codes[kind, :, r, c] = told[number]
                codes[kind, 0, r, c] -= (c - column) * step[0]
                codes[kind, 1, r, c] -= (r - row) * step[1]
    return Targets(likelihood, np.where(likelihood > 0, counts, care), codes)


def care_of(grid: Grid) -> Singles:
    """Return what an invention counts in each cell: most near the LiDAR."""
    rows, columns = grid.output_shape
    x = grid.low[0] + grid.cell * (np.arange(columns) + 0.5)
    y = grid.low[1] + grid.cell * (np.arange(rows) + 0.5)
    near = np.hypot(*np.meshgrid(x, y)) < NEAR
    return np.where(near, np.float32(NEAR_COUNTS), np.float32(1.0))


def around(row: int, column: int, reach: int, grid: Grid) -> list[tuple[int, int]]:
    """Return the cells of the output round one that is in it; none for one that is not."""
    rows, columns = grid.output_shape
    if not (0 <= row < rows and 0 <= column < columns):
        return []
    return [
        (r, c)
        for r in range(max(0, row - reach), min(rows, row + reach + 1))
        for c in range(max(0, column - reach), min(columns, column + reach + 1))
    ]
