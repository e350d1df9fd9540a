"""The drivable area of a town: where its roads lie, seen from above, as a grid of cells.

A recording holds it (`drivable_area.json`), so that tests of recorded scenes need neither the map
nor CARLA's client. The file has, for every row of cells, the columns where road begins and ends in
turn: 70 kB for Crucible05. Why a grid, and how exact it is: decision 0084.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.errors import UserError
from harness.common.safe_reading import read_json_within
from harness.types.vocabulary import Floats, Mask

DRIVABLE_AREA = "drivable_area.json"
"""The name of the file in the folder of a scenario."""
MOST_CELLS = 100_000_000
"""Of a grid that is read: a town of 2.5 km by 2.5 km in cells of 0.25 m."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DrivableArea:
    """Cells of the ground plane in the world's frame: on the road or off it.

    Attributes:
        cell: side of a cell, m.
        corner: least x and y of the cell in the first row and column, m.
        drivable: (rows along y, columns along x); what lies beyond the grid is off the road.
    """

    cell: float
    corner: tuple[float, float]
    drivable: Mask

    def contains_points(self, xy: Floats) -> Mask:
        """Return which places lie on the drivable area.

        Args:
            xy: (N, 2) in the world, m.
        """
        cells = np.floor((xy - np.array(self.corner)) / self.cell)
        rows, columns = self.drivable.shape
        inside = (cells >= 0).all(axis=1) & (cells < [columns, rows]).all(axis=1)
        column, row = cells[inside].astype(np.int64).T
        on_road = np.zeros(len(xy), np.bool_)
        on_road[inside] = self.drivable[row, column]
        return on_road


def write_drivable_area(area: DrivableArea, folder: Path) -> None:
    """Write the area into the folder of a scenario."""
    record = {
        "cell": area.cell,
        "corner": list(area.corner),
        "columns": area.drivable.shape[1],
        "rows": [find_row_edges(row) for row in area.drivable],
    }
    (folder / DRIVABLE_AREA).write_text(json.dumps(record, separators=(",", ":")))


def find_row_edges(row: Mask) -> list[int]:
    """Return the columns where road begins and ends, in turn: begin, end, begin, end.

    Args:
        row: (columns,) of a grid.

    Returns:
        Ends are the first column behind the road.
    """
    # a cell off the road on either side, so that every begin has an end
    padded = np.concatenate([[False], row, [False]])
    edges: list[int] = np.flatnonzero(padded[1:] != padded[:-1]).tolist()
    return edges


def read_drivable_area(folder: Path) -> DrivableArea | None:
    """Return the area that a scenario holds; None where none was recorded.

    Args:
        folder: of the scenario.

    Raises:
        UserError: the file holds no area.
    """
    file = folder / DRIVABLE_AREA
    try:
        return parse_drivable_area(read_json_within(file, within=folder))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as problem:
        raise UserError(
            f"{file}: not a drivable area ({problem}); record the scenario again"
        ) from None


def parse_drivable_area(record: dict[str, Any]) -> DrivableArea:
    """Return the area of a record; ValueError, KeyError or TypeError if it is none."""
    cell, (x, y) = float(record["cell"]), map(float, record["corner"])
    columns, rows = int(record["columns"]), record["rows"]
    if not (cell > 0 and all(map(math.isfinite, (cell, x, y)))):
        raise ValueError(f"cells of {cell} m from {x}, {y} on")
    if not 0 < columns * len(rows) <= MOST_CELLS:
        raise ValueError(f"{len(rows)} rows of {columns} cells; {MOST_CELLS:,} cells are the most")
    drivable = np.zeros((len(rows), columns), np.bool_)
    for number, edges in enumerate(rows):
        bounds = chain([-1], edges, [columns + 1])
        if len(edges) % 2 or not all(one < other for one, other in pairwise(bounds)):
            raise ValueError(f"row {number}: columns must rise, in pairs, up to {columns}")
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            drivable[number, begin:end] = True
    return DrivableArea(cell=cell, corner=(x, y), drivable=drivable)
