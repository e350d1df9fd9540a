"""Asphalt between the lanes of a junction: patches of it that no lane covers.

The lanes through a junction leave small gaps between them. A gap is the junction's own where it
lies wholly within the convex hull of its carriageways; what leads out of the hull, like the block
of houses behind a corner, is not.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bools, Floats
from harness.carlite.compiled import allocating
from harness.carlite.towns.model import LaneKind, TownLanes

CARRIAGEWAY = (LaneKind.DRIVING, LaneKind.SHOULDER, LaneKind.PARKING, LaneKind.BIKING)


def mark_junction_gaps(
    lanes: TownLanes, uncovered: Bools, *, x: float, y: float, cell: float
) -> Bools:
    """Mark those uncovered points of the grid that lie in gaps between a junction's lanes.

    Args:
        lanes: of the town.
        uncovered: (rows, columns) points that no lane covers.
        x: m, of the first column.
        y: m, of the first row.
        cell: m between two points.

    Returns:
        (rows, columns)
    """
    inside = np.zeros(uncovered.shape, np.bool_)
    lane = np.repeat(np.arange(len(lanes.first)), lanes.count)
    junction = np.where(np.isin(lanes.kind, CARRIAGEWAY), lanes.junction, -1)[lane]
    for number in np.unique(junction[junction >= 0]):
        points = np.flatnonzero(junction == number)
        across = np.stack([-np.sin(lanes.yaw[points]), np.cos(lanes.yaw[points])], axis=1)
        half = across * lanes.width[points, None] / 2
        middle = lanes.points[points, :2]
        corners = np.concatenate([middle - half, middle + half])
        _fill_convex_polygon(inside, compute_convex_hull((corners - (x, y)) / cell))
    return _mark_enclosed_points(uncovered, inside)


def compute_convex_hull(points: Floats) -> Floats:
    """Return the corners of the convex hull, in the sense in which x turns to y."""
    ordered = np.unique(points, axis=0).tolist()
    halves = []
    for run in (ordered, ordered[::-1]):
        chain: list[list[float]] = []
        for point in run:
            while len(chain) > 1 and _compute_hull_turn(chain[-2], chain[-1], point) <= 0.0:
                chain.pop()
            chain.append(point)
        halves += chain[:-1]
    return np.array(halves)


def _compute_hull_turn(a: list[float], b: list[float], c: list[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _fill_convex_polygon(inside: Bools, corners: Floats) -> None:
    """Mark the points within a convex polygon, given in columns and rows of the grid."""
    low = np.maximum(np.ceil(corners.min(axis=0)).astype(int), 0)
    high = np.floor(corners.max(axis=0)).astype(int) + 1
    window = inside[low[1] : high[1], low[0] : high[0]]
    row, column = np.mgrid[low[1] : low[1] + window.shape[0], low[0] : low[0] + window.shape[1]]
    within = np.ones(window.shape, np.bool_)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        within &= (bx - ax) * (row - ay) >= (by - ay) * (column - ax)
    window |= within


@allocating
def _mark_enclosed_points(free: Bools, inside: Bools) -> Bools:
    """Mark the free points inside from which no way over free points leads outside."""
    rows, columns = free.shape
    closed = free & inside
    waiting = np.empty(rows * columns, np.int64)
    size = 0
    # begin at the free points outside
    for row in range(rows):
        for column in range(columns):
            if free[row, column] and not inside[row, column]:
                waiting[size] = row * columns + column
                size += 1
    # what they lead to is not enclosed
    while size > 0:
        size -= 1
        row, column = waiting[size] // columns, waiting[size] % columns
        for side in range(4):
            j = row + (side == 0) - (side == 1)
            i = column + (side == 2) - (side == 3)
            if 0 <= j < rows and 0 <= i < columns and closed[j, i]:
                closed[j, i] = False
                waiting[size] = j * columns + i
                size += 1
    return closed
