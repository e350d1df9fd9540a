"""The surface of a town as a height field: written next to recorded sweeps, read by who needs it.

A field has the ground, and the tops of what stands on it and never moves: houses, walls, parked
cars. Ground beneath these is filled in. Tree crowns, poles and signs are left out. A bridge is
ground, and what is below it is not known.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.common.errors import UserError
from harness.common.safe_reading import BROKEN_ARRAYS, open_arrays
from harness.types.vocabulary import Floats

GROUND_FILE = "ground.npz"
"""In the folder of a scenario; recordings from before it was written have none."""
FINEST = 0.00025
"""Metres: heights in the file are whole numbers of this, or of more where hills are higher."""
UNKNOWN = 65535
"""In the file: a height that is not known."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroundField:
    """Heights on a square grid; rows run along y, columns along x.

    Between grid points, the ground is two triangles for each cell, cut from corner [0, 0] on.
    """

    x: float  # m in the world, of grid point [0, 0]
    y: float
    cell: float  # m between grid points
    heights: Floats  # (rows, columns) m, of the ground; NaN where it is not known
    tops: Floats  # (rows, columns) m, of what stands on it; NaN where nothing does
    labels: NDArray[np.uint8]  # (rows, columns) CARLA's tags of the ground, or of what stands there

    def measure_heights(self, x: Floats, y: Floats) -> Floats:
        """Return the height of the ground at places of any shape, NaN where it is not known."""
        column, row, inside = self._find_cells(x, y)
        j, i = row.astype(np.int64), column.astype(np.int64)
        along, across = column - i, row - j
        # corners of the cell: z00 at [0, 0], z11 across the diagonal
        z00, z11 = self.heights[j, i], self.heights[j + 1, i + 1]
        first = np.where(along >= across, self.heights[j, i + 1], self.heights[j + 1, i])
        more, less = np.maximum(along, across), np.minimum(along, across)
        heights = z00 + (first - z00) * more + (z11 - first) * less
        return np.where(inside, heights, np.nan)

    def find_labels(self, x: Floats, y: Floats) -> NDArray[np.uint8]:
        """Return the labels of the nearest grid points, 0 outside of the grid."""
        column, row, inside = self._find_cells(x, y)
        labels = self.labels[np.rint(row).astype(np.int64), np.rint(column).astype(np.int64)]
        return np.where(inside, labels, 0).astype(np.uint8)

    def find_tops(self, x: Floats, y: Floats) -> Floats:
        """Return the tops of what stands at the nearest grid points, NaN where nothing does."""
        column, row, inside = self._find_cells(x, y)
        tops = self.tops[np.rint(row).astype(np.int64), np.rint(column).astype(np.int64)]
        return np.where(inside, tops, np.nan)

    def crop(self, x: tuple[float, float], y: tuple[float, float]) -> GroundField:
        """Return the part of the field between two x and two y, as far as there is one."""
        rows, columns = self.heights.shape
        left, right = (round((one - self.x) / self.cell) for one in x)
        near, far = (round((one - self.y) / self.cell) for one in y)
        left, near = min(max(left, 0), columns - 2), min(max(near, 0), rows - 2)
        right, far = max(min(right, columns - 1), left + 1), max(min(far, rows - 1), near + 1)
        part = slice(near, far + 1), slice(left, right + 1)
        return GroundField(
            x=self.x + left * self.cell,
            y=self.y + near * self.cell,
            cell=self.cell,
            heights=self.heights[part],
            tops=self.tops[part],
            labels=self.labels[part],
        )

    def _find_cells(self, x: Floats, y: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return columns and rows, clipped to the grid, and which places are inside."""
        rows, columns = self.heights.shape
        column, row = (np.asarray(x) - self.x) / self.cell, (np.asarray(y) - self.y) / self.cell
        inside = (column >= 0) & (column < columns - 1) & (row >= 0) & (row < rows - 1)
        column = np.clip(column, 0, math.nextafter(columns - 1, 0))
        return column, np.clip(row, 0, math.nextafter(rows - 1, 0)), inside


def write_ground_field(folder: Path, field: GroundField) -> None:
    """Write the field of a scenario; equal fields give equal bytes.

    Args:
        folder: of the scenario.
        field: around its agents.
    """
    both = np.stack([field.heights, field.tops])
    known = np.isfinite(both)
    low, high = (float(pick(both[known])) if known.any() else 0.0 for pick in (np.min, np.max))
    unit = max(FINEST, (high - low) / (UNKNOWN - 1))
    whole = np.where(known, np.rint((np.where(known, both, low) - low) / unit), UNKNOWN)
    # steps from column to column: small numbers, which compress well
    np.savez_compressed(
        folder / GROUND_FILE,
        grid=np.array([field.x, field.y, field.cell, low, unit]),
        rises=np.diff(whole.astype(np.uint16), axis=2, prepend=np.uint16(0)),
        labels=field.labels,
    )


def read_ground_field(folder: Path) -> GroundField | None:
    """Return the field of a scenario, None where none was recorded."""
    file = folder / GROUND_FILE
    if not os.path.lexists(file):
        return None
    try:
        with open_arrays(file, within=folder) as arrays:
            grid, rises, labels = (arrays[name] for name in ("grid", "rises", "labels"))
        x, y, cell, low, unit = grid.astype(np.float64).tolist()
        if (rises.dtype, labels.dtype) != (np.uint16, np.uint8):
            raise ValueError("heights or labels of another kind")
        if rises.shape != (2, *labels.shape) or labels.ndim != 2 or min(labels.shape) < 2:
            raise ValueError("heights and labels do not fit together")
        if not np.isfinite(grid).all() or cell <= 0:
            raise ValueError("not a grid")
    except BROKEN_ARRAYS as problem:
        why = str(problem).partition("\n")[0][:100]
        raise UserError(f"{file}: not the ground of a recording ({why})") from None
    whole = np.cumsum(rises, axis=2, dtype=np.uint16)
    heights, tops = np.where(whole == UNKNOWN, np.nan, low + whole * unit)
    return GroundField(x=x, y=y, cell=cell, heights=heights, tops=tops, labels=labels)
