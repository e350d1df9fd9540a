"""Which ground is taken: a fine grid over the town, so that no two things stand in one place."""

from __future__ import annotations

import math
from enum import IntFlag

import numpy as np

from harness.carlite.arrays import Bytes, Float32s, Floats, Int32s
from harness.carlite.compiled import allocating, compiled
from harness.carlite.towns.model import LaneKind, TownGround, TownLanes

CELL = 0.25
CLEARANCE = 0.5
"""How far everything keeps from the lanes that are driven on."""
REACH = 1.5
"""How far beyond a driving lane's edge the distance to it is known."""
ISLAND = 120.0
"""Patches of free ground smaller than this, square metres, are traffic islands: left bare."""
BRIDGE_MARGIN = 3.0


class CellUse(IntFlag):
    """What a cell is used for."""

    DRIVE = 1
    WALK = 2
    PARK = 4
    BRIDGE = 8
    ISLAND = 16
    SOLID = 32
    CROWN = 64


STREET = CellUse.DRIVE | CellUse.WALK | CellUse.PARK
EVERYTHING = STREET | CellUse.BRIDGE | CellUse.ISLAND | CellUse.SOLID | CellUse.CROWN

KINDS = {
    LaneKind.DRIVING: CellUse.DRIVE,
    LaneKind.BIKING: CellUse.DRIVE,
    LaneKind.SHOULDER: CellUse.DRIVE,
    LaneKind.SIDEWALK: CellUse.WALK,
    LaneKind.PARKING: CellUse.PARK,
}

Box = tuple[float, float, float, float, float]
"""x, y, yaw, half length, half width."""


class OccupancyGrid:
    """The town's ground, cell by cell, and how far each cell is from the driving lanes."""

    def __init__(self, lanes: TownLanes, ground: TownGround) -> None:
        rows, columns = ground.lower.shape
        # (rows, columns) of cells: their use, and m to the nearest driving lane
        scale = ground.cell / CELL
        shape = math.ceil((rows - 1) * scale), math.ceil((columns - 1) * scale)
        self.x, self.y = ground.x, ground.y
        self.grid = np.zeros(shape, np.uint8)
        self.from_driving = np.full(shape, REACH, np.float32)
        # (segments,) first points of segments: both ends are of one lane
        lane = np.repeat(np.arange(len(lanes.first), dtype=np.int32), lanes.count)
        start = np.flatnonzero(lane[:-1] == lane[1:]).astype(np.int32)
        half = lanes.width / 2
        # cells that lanes of a kind cover
        for kind, use in KINDS.items():
            segments = start[(lanes.kind[lane[start]] == kind) & (lanes.width[start] > 0.1)]
            field = self.from_driving if use is CellUse.DRIVE else np.full(shape, REACH, np.float32)
            _measure_lane_distance(field, self.x, self.y, lanes.points, half, segments)
            self.grid[field < CELL * math.sqrt(0.5)] |= use.value
        _mark_islands(self.grid, int(STREET), int(CellUse.ISLAND), int(ISLAND / CELL**2))
        self._mark_bridges(ground)

    def _mark_bridges(self, ground: TownGround) -> None:
        """Keep clear what a deck covers, and a little around it."""
        for row, column in np.argwhere(~np.isnan(ground.upper)):
            reach = round((BRIDGE_MARGIN + ground.cell) / CELL)
            j, i = (round(k * ground.cell / CELL) for k in (row, column))
            near = (slice(max(v - reach, 0), v + reach + 1) for v in (j, i))
            self.grid[tuple(near)] |= np.uint8(CellUse.BRIDGE)

    def is_free(self, box: Box, without: CellUse) -> bool:
        """Return whether a box keeps off the driving lanes and touches no cell of these uses."""
        return bool(
            _is_clear_of_lanes(self.from_driving, self.x, self.y, *box)
            and _is_free(self.grid, self.x, self.y, *box, int(without))
        )

    def claim_box(self, box: Box, without: CellUse, use: CellUse = CellUse.SOLID) -> bool:
        """Take a box if it is free."""
        if not self.is_free(box, without):
            return False
        _mark_box(self.grid, self.x, self.y, *box, int(use))
        return True


@compiled
def _measure_lane_distance(
    field: Float32s, x0: float, y0: float, points: Floats, half: Floats, start: Int32s
) -> None:
    """Lower each cell's value to its distance from the edge of these lanes; negative is inside."""
    rows, columns = field.shape
    for segment in start:
        # cells that this segment may be nearest to
        ax, ay = points[segment, 0] - x0, points[segment, 1] - y0
        bx, by = points[segment + 1, 0] - x0, points[segment + 1, 1] - y0
        reach = max(half[segment], half[segment + 1]) + REACH
        square = (bx - ax) ** 2 + (by - ay) ** 2
        low_i = max(int((min(ax, bx) - reach) / CELL), 0)
        high_i = min(int((max(ax, bx) + reach) / CELL) + 1, columns - 1)
        low_j = max(int((min(ay, by) - reach) / CELL), 0)
        high_j = min(int((max(ay, by) + reach) / CELL) + 1, rows - 1)
        for j in range(low_j, high_j + 1):
            y = (j + 0.5) * CELL
            for i in range(low_i, high_i + 1):
                x = (i + 0.5) * CELL
                # distance from the segment, less half its width there
                t = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square
                t = min(max(t, 0.0), 1.0)
                dx, dy = x - ax - t * (bx - ax), y - ay - t * (by - ay)
                width = half[segment] + t * (half[segment + 1] - half[segment])
                field[j, i] = min(field[j, i], np.float32(math.hypot(dx, dy) - width))


@compiled
def _is_clear_of_lanes(
    field: Float32s,
    x0: float,
    y0: float,
    x: float,
    y: float,
    yaw: float,
    length: float,
    width: float,
) -> bool:
    """Return whether no point of a box's outline or inside comes too near to a driving lane."""
    # field: (rows, columns) distance from lanes; half sizes in metres
    rows, columns = field.shape
    c, s = math.cos(yaw), math.sin(yaw)
    along, across = int(2 * length) + 1, int(2 * width) + 1
    # points every half metre, over the whole box
    for a in range(along + 1):
        for b in range(across + 1):
            u, v = length * (2 * a / along - 1), width * (2 * b / across - 1)
            column = (x + u * c - v * s - x0) / CELL - 0.5
            row = (y + u * s + v * c - y0) / CELL - 0.5
            i, j = math.floor(column), math.floor(row)
            if i < 0 or j < 0 or i >= columns - 1 or j >= rows - 1:
                return False
            # the distance between four cells; outside the field nothing is known
            p, q = column - i, row - j
            near = field[j, i] * (1 - p) + field[j, i + 1] * p
            far = field[j + 1, i] * (1 - p) + field[j + 1, i + 1] * p
            if near * (1 - q) + far * q < CLEARANCE:
                return False
    return True


@allocating
def _mark_islands(grid: Bytes, walls: int, use: int, most: int) -> None:
    """Mark patches of at most `most` cells that `walls` enclose."""
    rows, columns = grid.shape
    seen = np.zeros((rows, columns), np.bool_)
    patch = np.empty(rows * columns, np.int64)
    for j in range(rows):
        for i in range(columns):
            # a new patch: flood it from its first cell
            if seen[j, i] or grid[j, i] & walls:
                continue
            seen[j, i] = True
            patch[0] = j * columns + i
            done, size = 0, 1
            while done < size:
                row, column = patch[done] // columns, patch[done] % columns
                done += 1
                for side in range(4):
                    y = row + (side == 0) - (side == 1)
                    x = column + (side == 2) - (side == 3)
                    if 0 <= y < rows and 0 <= x < columns and not seen[y, x]:
                        seen[y, x] = True
                        if not grid[y, x] & walls:
                            patch[size] = y * columns + x
                            size += 1
            # small enough: mark all of its cells
            if size <= most:
                for k in range(size):
                    grid[patch[k] // columns, patch[k] % columns] |= use


@compiled
def _find_box_span(
    grid: Bytes, x0: float, y0: float, x: float, y: float, yaw: float, length: float, width: float
) -> tuple[int, int, int, int]:
    """Return the rows and columns around a box."""
    c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
    reach_x, reach_y = length * c + width * s, length * s + width * c
    low_i, high_i = math.floor((x - reach_x - x0) / CELL), math.floor((x + reach_x - x0) / CELL)
    low_j, high_j = math.floor((y - reach_y - y0) / CELL), math.floor((y + reach_y - y0) / CELL)
    return low_j, high_j, low_i, high_i


@compiled
def _is_free(
    grid: Bytes,
    x0: float,
    y0: float,
    x: float,
    y: float,
    yaw: float,
    length: float,
    width: float,
    without: int,
) -> bool:
    # grid: (rows, columns) bits of what each cell is used for
    rows, columns = grid.shape
    c, s = math.cos(yaw), math.sin(yaw)
    low_j, high_j, low_i, high_i = _find_box_span(grid, x0, y0, x, y, yaw, length, width)
    if low_j < 0 or low_i < 0 or high_j >= rows or high_i >= columns:
        return False
    # a cell counts as soon as a part of it lies in the box
    slack = CELL * (abs(c) + abs(s)) / 2
    for j in range(low_j, high_j + 1):
        dy = y0 + (j + 0.5) * CELL - y
        for i in range(low_i, high_i + 1):
            if grid[j, i] & without:
                dx = x0 + (i + 0.5) * CELL - x
                along, across = dx * c + dy * s, dy * c - dx * s
                if abs(along) <= length + slack and abs(across) <= width + slack:
                    return False
    return True


@compiled
def _mark_box(
    grid: Bytes,
    x0: float,
    y0: float,
    x: float,
    y: float,
    yaw: float,
    length: float,
    width: float,
    use: int,
) -> None:
    # grid: (rows, columns) bits of what each cell is used for
    c, s = math.cos(yaw), math.sin(yaw)
    low_j, high_j, low_i, high_i = _find_box_span(grid, x0, y0, x, y, yaw, length, width)
    # the same cells as `_is_free` looks at
    slack = CELL * (abs(c) + abs(s)) / 2
    for j in range(low_j, high_j + 1):
        dy = y0 + (j + 0.5) * CELL - y
        for i in range(low_i, high_i + 1):
            dx = x0 + (i + 0.5) * CELL - x
            along, across = dx * c + dy * s, dy * c - dx * s
            if abs(along) <= length + slack and abs(across) <= width + slack:
                grid[j, i] |= use
