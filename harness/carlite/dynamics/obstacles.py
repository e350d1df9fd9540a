"""The solid part of a town's scenery, laid out in a grid for quick look-up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Int32s, Ints
from harness.carlite.compiled import allocating
from harness.carlite.dynamics.boxes import BOX, Boxes
from harness.carlite.towns.model import SceneryShape, TownScenery

CELL = 8.0
"""Metres."""


class SceneryCells(NamedTuple):
    """Solid pieces of scenery as upright boxes, and the boxes that each grid cell meets.

    Attributes:
        boxes: one per solid piece.
        first, members: cell i, counted row by row, meets boxes members[first[i] : first[i + 1]].
        column, row: the grid's first cell; cell (c, r) begins at CELL times (c, r).
        columns, rows: the grid's size.
    """

    boxes: Boxes
    first: Int32s
    members: Int32s
    column: int
    row: int
    columns: int
    rows: int


class ObstacleGrid:
    """Every solid piece of scenery.

    Attributes:
        piece: (boxes,) index of each box in the scenery.
        cells: the boxes by grid cell.
    """

    def __init__(self, scenery: TownScenery) -> None:
        self.piece: Int32s = np.flatnonzero(scenery.solid).astype(np.int32)
        boxes = _build_piece_boxes(scenery, self.piece)
        place = np.stack([boxes["x"], boxes["y"]], 1)
        reach = np.stack([boxes["reach_x"], boxes["reach_y"]], 1)
        low = np.floor((place - reach) / CELL).astype(np.int64)
        high = np.floor((place + reach) / CELL).astype(np.int64)
        if not len(low):
            low = high = np.zeros((0, 2), np.int64)
            start = end = np.zeros(2, np.int64)
        else:
            start, end = low.min(0), high.max(0)
        columns, rows = (int(size) for size in end - start + 1)
        first, members = _fill_grid_cells(low - start, high - start, columns, rows)
        self.cells = SceneryCells(
            boxes,
            first,
            members,
            column=int(start[0]),
            row=int(start[1]),
            columns=columns,
            rows=rows,
        )


def _build_piece_boxes(scenery: TownScenery, piece: Int32s) -> Boxes:
    boxes: Boxes = np.zeros(len(piece), BOX)
    centre, extent, yaw = scenery.centre[piece], scenery.extent[piece], scenery.yaw[piece]
    boxes["x"], boxes["y"] = centre[:, 0], centre[:, 1]
    width = np.where(scenery.shape[piece] == SceneryShape.CYLINDER, extent[:, 0], extent[:, 1])
    boxes["half_length"], boxes["half_width"] = extent[:, 0], width
    boxes["yaw"] = yaw
    boxes["bottom"], boxes["top"] = centre[:, 2] - extent[:, 2], centre[:, 2] + extent[:, 2]
    cos, sin = np.abs(np.cos(yaw)), np.abs(np.sin(yaw))
    boxes["reach_x"] = cos * extent[:, 0] + sin * width
    boxes["reach_y"] = sin * extent[:, 0] + cos * width
    return boxes


@allocating
def _fill_grid_cells(low: Ints, high: Ints, columns: int, rows: int) -> tuple[Int32s, Int32s]:
    # (cells + 1,) how many boxes touch each cell, summed up: where its members begin
    first = np.zeros(columns * rows + 1, np.int32)
    for box in range(len(low)):
        for row in range(low[box, 1], high[box, 1] + 1):
            for column in range(low[box, 0], high[box, 0] + 1):
                first[row * columns + column + 1] += 1
    first = np.cumsum(first).astype(np.int32)
    # (members,) boxes by cell
    members = np.empty(first[-1], np.int32)
    filled = first[:-1].copy()
    for box in range(len(low)):
        for row in range(low[box, 1], high[box, 1] + 1):
            for column in range(low[box, 0], high[box, 0] + 1):
                cell = row * columns + column
                members[filled[cell]] = box
                filled[cell] += 1
    return first, members
