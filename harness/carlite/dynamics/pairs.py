"""Which boxes may meet: a sweep along x among the movers, the grid for the scenery. Compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import allocating, compiled
from harness.carlite.dynamics.boxes import Boxes, can_boxes_touch
from harness.carlite.dynamics.obstacles import CELL, SceneryCells


@allocating
def find_moving_pairs(boxes: Boxes) -> Int32s:
    """Return (P, 2) pairs of movers that may touch, of which one can be moved, in order."""
    # sweep along x: only boxes whose intervals overlap are compared
    order = _argsort_stably(boxes["x"] - boxes["reach_x"])
    pairs = np.empty((len(boxes) + 8, 2), np.int32)
    count = 0
    for place in range(len(order)):
        a = boxes[order[place]]
        limit = a["x"] + a["reach_x"]
        for later in range(place + 1, len(order)):
            b = boxes[order[later]]
            if b["x"] - b["reach_x"] > limit:
                break
            if not (a["lightness"] > 0.0 or b["lightness"] > 0.0) or not can_boxes_touch(a, b):
                continue
            if count == len(pairs):
                pairs = _expand_pairs(pairs)
            pairs[count, 0] = min(order[place], order[later])
            pairs[count, 1] = max(order[place], order[later])
            count += 1
    # in the order of slots, whatever the order along x
    keys = pairs[:count, 0].astype(np.float64) * len(boxes) + pairs[:count, 1]
    places = _argsort_stably(keys)
    ordered = np.empty((count, 2), np.int32)
    for place in range(count):
        for side in range(2):
            ordered[place, side] = pairs[places[place], side]
    return ordered


@allocating
def find_scenery_pairs(boxes: Boxes, cells: SceneryCells) -> Int32s:
    """Return (P, 2) pairs of a mover and a piece of scenery that may touch, in order of movers."""
    pairs = np.empty((len(boxes) + 8, 2), np.int32)
    count = 0
    for index in range(len(boxes)):
        box = boxes[index]
        if box["lightness"] <= 0.0:
            continue
        # the cells of the grid that the mover may touch
        left, right = _find_cell_span(box["x"], box["reach_x"], cells.column, cells.columns)
        bottom, top = _find_cell_span(box["y"], box["reach_y"], cells.row, cells.rows)
        for row in range(bottom, top + 1):
            for column in range(left, right + 1):
                cell = row * cells.columns + column
                for member in cells.members[cells.first[cell] : cells.first[cell + 1]]:
                    piece = cells.boxes[member]
                    # a piece in several cells counts in the first of them only
                    if not _is_first_common_cell(
                        piece, column, row, left, bottom, cells.column, cells.row
                    ):
                        continue
                    if not can_boxes_touch(box, piece):
                        continue
                    if count == len(pairs):
                        pairs = _expand_pairs(pairs)
                    pairs[count, 0], pairs[count, 1] = index, member
                    count += 1
    return pairs[:count]


@compiled
def _find_cell_span(middle: float, reach: float, start: int, size: int) -> tuple[int, int]:
    low = math.floor((middle - reach) / CELL) - start
    high = math.floor((middle + reach) / CELL) - start
    return max(low, 0), min(high, size - 1)


@compiled
def _is_first_common_cell(
    piece: Any, column: int, row: int, left: int, bottom: int, column0: int, row0: int
) -> bool:
    """Return whether no earlier cell holds both boxes, so that each pair is met once."""
    piece_left = math.floor((piece["x"] - piece["reach_x"]) / CELL) - column0
    piece_bottom = math.floor((piece["y"] - piece["reach_y"]) / CELL) - row0
    first: bool = column == max(left, piece_left) and row == max(bottom, piece_bottom)
    return first


@allocating
def _expand_pairs(pairs: Int32s) -> Int32s:
    larger = np.empty((2 * len(pairs), 2), np.int32)
    for index in range(len(pairs)):
        for side in range(2):
            larger[index, side] = pairs[index, side]
    return larger


@allocating
def _argsort_stably(keys: Floats) -> Int32s:
    """Return the places of ascending keys, equal ones as they come: a shell sort.

    It takes a tenth of the time that numba needs to compile its own sort.
    """
    order = np.arange(len(keys)).astype(np.int32)
    gap = len(keys) // 2
    while gap > 0:
        for start in range(gap, len(keys)):
            moved, place = order[start], start
            while place >= gap and (
                keys[order[place - gap]] > keys[moved]
                or (keys[order[place - gap]] == keys[moved] and order[place - gap] > moved)
            ):
                order[place] = order[place - gap]
                place -= gap
            order[place] = moved
        gap //= 2
    return order
