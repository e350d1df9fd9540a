"""Where am I: the nearest lane, the height and the slope of the ground.

Kernels take plain arrays, so other rooms can call them from compiled code of their own:
`find_ground_height(*to_ground_arrays(ground), x, y, z)`, `find_nearest_segment(grid, x, y, z, yaw,
kinds)` with `grid = LaneFinder(lanes).grid`. Lane kinds are asked for as a bit mask,
`make_lane_mask(LaneKind.DRIVING)`.
`make_lane_mask(LaneKind.DRIVING)`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Float32s, Floats, Int32s
from harness.carlite.compiled import allocating, compiled
from harness.carlite.towns.model import LaneKind, TownGround, TownLanes

CELL = 4.0
HEADROOM = 1.0
"""A deck counts as the ground for whatever is not deeper below it than this."""

GroundArrays = tuple[float, float, float, Float32s, Float32s]


def make_lane_mask(*kinds: LaneKind) -> int:
    """Return the bit mask that stands for these kinds of lanes."""
    return sum(1 << kind for kind in kinds)


DRIVING = make_lane_mask(LaneKind.DRIVING)
ANY = make_lane_mask(*LaneKind)


def to_ground_arrays(ground: TownGround) -> GroundArrays:
    """Return what `find_ground_height` and `find_ground_normal` need of the ground, in order."""
    return ground.x, ground.y, ground.cell, ground.lower, ground.upper


class LaneGrid(NamedTuple):
    """Lane segments by grid cell; segment `i` runs from lane point `i` to `i + 1`.

    Cell (row, column) holds `segments[first[c] : first[c + 1]]` with c = row * columns + column.
    """

    x: float
    y: float
    columns: int
    rows: int
    first: Int32s
    segments: Int32s
    lane: Int32s
    kind: Bytes
    points: Floats
    station: Floats
    yaw: Floats


class LaneFinder:
    """Finds the lane nearest to a place."""

    def __init__(self, lanes: TownLanes) -> None:
        self.grid = _build_lane_grid(lanes)

    def find_nearest_lane(
        self, x: float, y: float, z: float, *, kinds: int = DRIVING, yaw: float = math.nan
    ) -> tuple[int, float, float]:
        """Return (lane, station, lateral); lateral counts to the right. Lane -1: there is none.

        With a heading, lanes that run that way are preferred where several overlap.
        """
        segment, station, lateral = find_nearest_segment(self.grid, x, y, z, yaw, kinds)
        return (int(self.grid.lane[segment]) if segment >= 0 else -1), station, lateral


def _build_lane_grid(lanes: TownLanes) -> LaneGrid:
    # (samples,) the lane of each; a segment joins two samples of one lane
    lane = np.repeat(np.arange(len(lanes.first), dtype=np.int32), lanes.count)
    segments = np.flatnonzero(lane[:-1] == lane[1:]).astype(np.int32)
    # (segments, 2) the cell that a segment's middle lies in
    middle = (lanes.points[segments, :2] + lanes.points[segments + 1, :2]) / 2
    low = np.floor(middle.min(axis=0) / CELL) * CELL
    column, row = ((middle - low) / CELL).astype(np.int64).T
    columns, rows = int(column.max()) + 1, int(row.max()) + 1
    cell = row * columns + column
    # segments sorted by cell; `first` says where those of a cell begin
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(columns * rows + 1)).astype(np.int32)
    return LaneGrid(
        float(low[0]),
        float(low[1]),
        columns,
        rows,
        first,
        segments[order],
        lane,
        lanes.kind,
        np.ascontiguousarray(lanes.points),
        lanes.station,
        lanes.yaw,
    )


@compiled
def find_nearest_segment(
    grid: LaneGrid, x: float, y: float, z: float, yaw: float, kinds: int
) -> tuple[int, float, float]:
    """Return (segment, station, lateral) of the nearest lane of these kinds; segment -1: none.

    Rings of cells are searched outwards until no farther cell can hold anything nearer. With a
    finite `yaw`, a lane running across counts as 2 m farther away, one running against as 4 m.

    Args:
        grid: of all lanes.
        x: m.
        y: m.
        z: m.
        yaw: rad; not finite: direction does not matter.
        kinds: of lanes, as bits.
    """
    # the cell of the point, or the nearest cell of the grid
    column = min(max(math.floor((x - grid.x) / CELL), 0), grid.columns - 1)
    row = min(max(math.floor((y - grid.y) / CELL), 0), grid.rows - 1)
    best, best_segment, best_station, best_lateral = math.inf, -1, 0.0, 0.0
    # cells of one ring: whole rows at its edges, two cells of each row between
    for ring in range(max(grid.columns, grid.rows)):
        for j in range(max(row - ring, 0), min(row + ring, grid.rows - 1) + 1):
            edge = abs(j - row) == ring
            step = 1 if edge or ring == 0 else 2 * ring
            for i in range(column - ring, column + ring + 1, step):
                if i < 0 or i >= grid.columns:
                    continue
                cell = j * grid.columns + i
                for slot in range(grid.first[cell], grid.first[cell + 1]):
                    segment = grid.segments[slot]
                    if not (kinds >> grid.kind[grid.lane[segment]]) & 1:
                        continue
                    # square of the distance to the segment
                    ax, ay, az = grid.points[segment]
                    bx, by, bz = grid.points[segment + 1]
                    dx, dy = bx - ax, by - ay
                    square = dx * dx + dy * dy
                    t = ((x - ax) * dx + (y - ay) * dy) / square
                    t = min(max(t, 0.0), 1.0)
                    px, py, pz = x - ax - t * dx, y - ay - t * dy, z - az - t * (bz - az)
                    cost = px * px + py * py + pz * pz
                    # a lane that runs another way costs more
                    if cost < best and not math.isnan(yaw):
                        away = 2.0 * (1.0 - math.cos(yaw - grid.yaw[segment]))
                        cost += away * away
                    if cost < best:
                        best, best_segment = cost, segment
                        start = grid.station[segment]
                        best_station = start + t * (grid.station[segment + 1] - start)
                        best_lateral = (dx * py - dy * px) / math.sqrt(square)
        # nothing in the next ring can be nearer than this
        reach = max(ring * CELL - 0.5, 0.0)
        if best <= reach * reach:
            break
    return best_segment, best_station, best_lateral


@compiled
def _interpolate_patch(
    layer: Float32s, x0: float, y0: float, cell: float, x: float, y: float
) -> tuple[float, float, float]:
    """Return height and slopes along x and y on the bilinear patch that holds (x, y)."""
    # layer: (rows, columns) heights; points outside take the nearest patch
    rows, columns = layer.shape
    u = min(max((x - x0) / cell, 0.0), columns - 1.000001)
    v = min(max((y - y0) / cell, 0.0), rows - 1.000001)
    i, j = int(u), int(v)
    u, v = u - i, v - j
    a, b = float(layer[j, i]), float(layer[j, i + 1])
    c, d = float(layer[j + 1, i]), float(layer[j + 1, i + 1])
    # heights at both ends of each direction: value and slopes of the patch
    near, far = a + (b - a) * u, c + (d - c) * u
    left, right = a + (c - a) * v, b + (d - b) * v
    return near + (far - near) * v, (right - left) / cell, (far - near) / cell


@compiled
def find_ground_surface(
    x0: float,
    y0: float,
    cell: float,
    lower: Float32s,
    upper: Float32s,
    x: float,
    y: float,
    z: float,
) -> tuple[float, float, float]:
    """Return height and slopes of the topmost ground not above z + 1 m; the lower one else."""
    deck, along, across = _interpolate_patch(upper, x0, y0, cell, x, y)
    if deck <= z + HEADROOM:
        return deck, along, across
    return _interpolate_patch(lower, x0, y0, cell, x, y)


@compiled
def find_ground_height(
    x0: float,
    y0: float,
    cell: float,
    lower: Float32s,
    upper: Float32s,
    x: float,
    y: float,
    z: float,
) -> float:
    """Return the height of the topmost ground not above z + 1 m at (x, y).

    Args:
        x0: m, of the first column of the grid.
        y0: m, of its first row.
        cell: m, the side of a cell.
        lower: (rows, columns) m, the ground.
        upper: (rows, columns) m, decks above it; NaN where there is none.
        x: m.
        y: m.
        z: m.
    """
    ground, _, _ = find_ground_surface(x0, y0, cell, lower, upper, x, y, z)
    return ground


@compiled
def find_ground_normal(
    x0: float,
    y0: float,
    cell: float,
    lower: Float32s,
    upper: Float32s,
    x: float,
    y: float,
    z: float,
) -> tuple[float, float, float]:
    """Return the unit normal of the ground that `find_ground_height` finds."""
    _, along, across = find_ground_surface(x0, y0, cell, lower, upper, x, y, z)
    scale = 1.0 / math.sqrt(1.0 + along * along + across * across)
    return -along * scale, -across * scale, scale


@allocating
def find_ground_heights(
    x0: float, y0: float, cell: float, lower: Float32s, upper: Float32s, points: Floats
) -> Floats:
    """Return `find_ground_height` at each of the points (N, 3)."""
    result = np.empty(len(points))
    for k in range(len(points)):
        x, y, z = points[k]
        result[k] = find_ground_height(x0, y0, cell, lower, upper, x, y, z)
    return result
