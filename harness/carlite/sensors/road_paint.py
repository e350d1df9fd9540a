"""Paint on roads in pictures: how much of each pixel it covers."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled, vectorised
from harness.carlite.sensors.markings import GroundMarkings, cover_with_paint
from harness.carlite.sensors.paint_buffers import ROW, PaintBuffers

MOST_STRIPS = 30
"""Strips of a cell that have a bit of their own."""


@compiled
def paint_roads(
    markings: GroundMarkings, origin: Floats, wide: float, buffers: PaintBuffers
) -> None:
    """Cover what is painted on roads, as far as the paint covers a pixel.

    Args:
        markings: of the town.
        origin: (3,) of the camera in the world.
        wide: the angle between this column and the next.
        buffers: the pixels of a column; changed in place.
    """
    last = len(buffers.painted)
    while last > 0 and buffers.painted[last - 1] == 0:
        last -= 1
    _find_marking_cells(markings, origin, wide, last, buffers)
    # pixels in the same cell together: its strips are looked at once
    row = 0
    while row < last:
        cell, end = buffers.place[row], row + 1
        while end < last and buffers.place[end] == cell:
            end += 1
        has_strips = cell >= 0 and markings.first[cell] < markings.first[cell + 1]
        if has_strips and _find_strips_near(markings, cell, row, end, buffers) > 0:
            for at in range(row, end):
                if buffers.other[at] > 0:
                    _paint_pixel(markings, cell, origin, wide, at, buffers)
        row = end


@vectorised
def _find_marking_cells(
    markings: GroundMarkings, origin: Floats, wide: float, last: int, buffers: PaintBuffers
) -> None:
    """Write cells to `place`, -1 where nothing is painted, and how far footprints reach."""
    left, front = np.float32(markings.x), np.float32(markings.y)
    columns, rows = markings.columns, markings.rows
    height = origin[2]
    for row in range(last):
        x, y = buffers.x[row] - left, buffers.y[row] - front
        inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows) & (buffers.painted[row] > 0)
        x, y = x if inside else np.float32(0), y if inside else np.float32(0)
        cell = np.int32(y) * np.int32(columns) + np.int32(x)
        buffers.place[row] = cell if inside else np.int32(-1)
        # the footprint, as in `_find_paint`
        far = buffers.far[row]
        across = wide * far
        deep = across * far / max(abs(buffers.z[row] - height), 1e-3)
        buffers.reach[row] = (deep + across) * 0.500001 + 1e-3


@vectorised
def _find_strips_near(
    markings: GroundMarkings, cell: int, first: int, last: int, buffers: PaintBuffers
) -> np.int32:
    """Write to `other` which strips of a cell a pixel's footprint may reach, a bit for each.

    From `MOST_STRIPS` on, strips share a bit. Returns whether any may be reached.
    """
    reachable = np.int32(0)
    for row in range(ROW(first), ROW(last)):
        buffers.other[row] = 0
    start = markings.first[cell]
    for entry in range(start, markings.first[cell + 1]):
        strip, bit = markings.listed[entry], np.int32(1) << min(entry - start, MOST_STRIPS)
        begin_x, begin_y = markings.strips[strip, 0], markings.strips[strip, 1]
        along_x, along_y = markings.strips[strip, 3], markings.strips[strip, 4]
        long, half = markings.strips[strip, 5], markings.strips[strip, 6]
        for row in range(ROW(first), ROW(last)):
            dx, dy, reach = buffers.x[row] - begin_x, buffers.y[row] - begin_y, buffers.reach[row]
            along, aside = dx * along_x + dy * along_y, dy * along_x - dx * along_y
            near = (abs(aside) <= half + reach) & (along >= -reach) & (along <= long + reach)
            reached = np.int32(bit) if near else np.int32(0)
            buffers.other[row] |= reached
            reachable |= reached
    return reachable


@compiled
def _paint_pixel(
    markings: GroundMarkings,
    cell: int,
    origin: Floats,
    wide: float,
    row: int,
    buffers: PaintBuffers,
) -> None:
    share, red, green, blue = _find_paint(
        markings, cell, buffers.other[row], buffers.x[row], buffers.y[row],
        buffers.z[row], buffers.x[row] - origin[0], buffers.y[row] - origin[1],
        buffers.z[row] - origin[2], buffers.far[row], wide,
    )  # fmt: skip
    if share > 0:
        buffers.red[row] += share * (red - buffers.red[row])
        buffers.green[row] += share * (green - buffers.green[row])
        buffers.blue[row] += share * (blue - buffers.blue[row])


@compiled
def _find_paint(
    markings: GroundMarkings,
    cell: int,
    reached: int,
    x: float,
    y: float,
    z: float,
    dx: float,
    dy: float,
    dz: float,
    far: float,
    ray_apart: float,
) -> tuple[float, float, float, float]:
    """Return how much of a pixel is painted, and the paint's linear colour.

    The point is given in the world and, by dx, dy and dz, from the camera, `far` metres away.
    `reached` has a bit for each strip of the cell that may reach it.
    """
    # the footprint: a pixel's width across the view, drawn out along it by the slant
    wide = ray_apart * far
    deep = wide * far / max(abs(dz), 1e-3)
    level = max(np.sqrt(dx * dx + dy * dy), 1e-9)
    view_x, view_y = dx / level, dy / level
    total, red, green, blue = 0.0, 0.0, 0.0, 0.0
    start = markings.first[cell]
    for entry in range(start, markings.first[cell + 1]):
        if not (reached >> min(entry - start, MOST_STRIPS)) & 1:
            continue
        strip = markings.listed[entry]
        share = cover_with_paint(markings, strip, x, y, z, view_x, view_y, deep, wide)
        if share > 0:
            total += share
            red += share * markings.light[strip, 0]
            green += share * markings.light[strip, 1]
            blue += share * markings.light[strip, 2]
    if total == 0:
        return 0.0, 0.0, 0.0, 0.0
    return min(total, 1.0), red / total, green / total, blue / total
