"""What is painted on the ground: strips in a grid of cells, found at a point in one look."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import TownSignal

ROAD, ROAD_LINE = int(SemanticLabel.ROAD), int(SemanticLabel.ROAD_LINE)
STOREY = 1.5
"""Metres up or down within which a point lies on a strip's road, not on one above or below."""
CELL = 1.0
MARGIN = 0.6
"""Metres round a strip within which its cells list it: pixels that blur over its edge see it."""


class GroundMarkings(NamedTuple):
    """Strips of paint; cell `c` lists strips `listed[first[c] : first[c + 1]]`.

    Attributes:
        x, y: world position of the corner of cell 0.
        rows, columns: of cells, each `CELL` metres a side.
        first: (rows * columns + 1,).
        listed: (entries,) rows of `strips`.
        strips: (strips, 7) begin x, y, height, unit vector along, length, half width.
        colours: (strips, 3) red, green, blue.
        light: (strips, 3) the same, linear.
    """

    x: float
    y: float
    rows: int
    columns: int
    first: Int32s
    listed: Int32s
    strips: Floats
    colours: Floats
    light: Floats


StripsBuilder: TypeAlias = Callable[[str, tuple[TownSignal, ...]], tuple[Floats, Floats]]
"""Makes strips and colours of a town's OpenDRIVE text and signals."""


def build_no_strips(opendrive: str, signals: tuple[TownSignal, ...]) -> tuple[Floats, Floats]:
    """Return no strips: roads without paint."""
    return np.zeros((0, 7)), np.zeros((0, 3))


@lru_cache(maxsize=1)
def prepare_markings(
    build_strips: StripsBuilder, opendrive: str, signals: tuple[TownSignal, ...]
) -> GroundMarkings:
    """Return what is painted in a town, sorted into cells; the latest town's is kept."""
    return index_markings(*build_strips(opendrive, signals))


def index_markings(strips: Floats, colours: Floats) -> GroundMarkings:
    """Sort strips into cells; a strip is listed wherever its box, with a margin, reaches."""
    if not len(strips):
        return GroundMarkings(
            0.0, 0.0, 0, 0, np.zeros(1, np.int32), np.zeros(0, np.int32), strips, colours, colours
        )
    # (strips, 2) corners of the boxes round the strips
    begin, along = strips[:, :2], strips[:, 3:5] * strips[:, 5:6]
    reach = strips[:, 6:7] + MARGIN
    low = np.minimum(begin, begin + along) - reach
    high = np.maximum(begin, begin + along) + reach
    corner = np.floor(low.min(axis=0))
    columns, rows = (np.ceil((high.max(axis=0) - corner) / CELL).astype(np.int64) + 1).tolist()
    # (strips, 2) first cells, and how many each way
    start = np.floor((low - corner) / CELL).astype(np.int64)
    span = np.floor((high - corner) / CELL).astype(np.int64) - start + 1
    # (entries,) the strip and the cell of each entry
    count = span.prod(axis=1)
    strip = np.repeat(np.arange(len(strips)), count)
    nth = np.arange(len(strip)) - np.repeat(np.cumsum(count) - count, count)
    across = span[strip, 0]
    cell = (start[strip, 1] + nth // across) * columns + start[strip, 0] + nth % across
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(rows * columns + 1)).astype(np.int32)
    return GroundMarkings(
        x=float(corner[0]),
        y=float(corner[1]),
        rows=rows,
        columns=columns,
        first=first,
        listed=strip[order].astype(np.int32),
        strips=np.ascontiguousarray(strips),
        colours=np.ascontiguousarray(colours),
        light=np.ascontiguousarray((colours / 255) ** 2.2),
    )


@compiled
def find_marking_cell(markings: GroundMarkings, x: float, y: float) -> int:
    """Return the cell of a point, -1 off the grid."""
    column, row = int(np.floor((x - markings.x) / CELL)), int(np.floor((y - markings.y) / CELL))
    if 0 <= column < markings.columns and 0 <= row < markings.rows:
        return row * markings.columns + column
    return -1


@compiled
def is_on_marking(markings: GroundMarkings, x: float, y: float, z: float) -> bool:
    """Return whether a point of the ground is painted.

    Args:
        markings: of the town.
        x: m in the world.
        y: m in the world.
        z: m in the world.
    """
    cell = find_marking_cell(markings, x, y)
    if cell < 0:
        return False
    for entry in range(markings.first[cell], markings.first[cell + 1]):
        strip = markings.strips[markings.listed[entry]]
        dx, dy = x - strip[0], y - strip[1]
        along, aside = dx * strip[3] + dy * strip[4], dy * strip[3] - dx * strip[4]
        if abs(z - strip[2]) < STOREY and 0 <= along <= strip[5] and abs(aside) <= strip[6]:
            return True
    return False


@compiled
def cover_with_paint(
    markings: GroundMarkings,
    strip_index: int,
    x: float,
    y: float,
    z: float,
    view_x: float,
    view_y: float,
    deep: float,
    wide: float,
) -> float:
    """Return the share of a pixel that a strip covers.

    The pixel's footprint on the ground is a rectangle, `deep` along the view and `wide` across it;
    along and across the strip it counts as a box of the same width.

    Args:
        markings: of the town.
        strip_index: row of the strip.
        x: m, of the footprint's middle.
        y: m.
        z: m.
        view_x: the horizontal direction of view, a unit vector.
        view_y: its other component.
        deep: m.
        wide: m.
    """
    strip = markings.strips[strip_index]
    if abs(z - strip[2]) >= STOREY:
        return 0.0
    dx, dy = x - strip[0], y - strip[1]
    along, aside = dx * strip[3] + dy * strip[4], dy * strip[3] - dx * strip[4]
    # most strips of a cell are farther away than the footprint can reach
    reach = (deep + wide) * 0.500001 + 1e-3
    if abs(aside) > strip[6] + reach or along < -reach or along > strip[5] + reach:
        return 0.0
    # the footprint's half widths across and along the strip
    facing = abs(view_x * strip[3] + view_y * strip[4])
    turned = abs(view_x * strip[4] - view_y * strip[3])
    across_half = max((deep * turned + wide * facing) / 2, 1e-4)
    along_half = max((deep * facing + wide * turned) / 2, 1e-4)
    share = min(strip[6], aside + across_half) - max(-strip[6], aside - across_half)
    if share <= 0:
        return 0.0
    length = min(strip[5], along + along_half) - max(0.0, along - along_half)
    if length <= 0:
        return 0.0
    covered: float = share * length / (4 * across_half * along_half)
    return covered


@compiled
def find_painted_label(
    markings: GroundMarkings,
    label: int,
    rotation: Floats,
    origin: Floats,
    x: float,
    y: float,
    z: float,
) -> int:
    """Return the label of a point of the sensor's frame: a road's is ROAD_LINE where painted.

    Args:
        markings: of the town.
        label: of the surface there.
        rotation: (3, 3) of the sensor.
        origin: (3,) of the sensor, m in the world.
        x: m in the sensor's frame.
        y: m.
        z: m.
    """
    if label != ROAD:
        return label
    east = origin[0] + rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
    north = origin[1] + rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
    up = origin[2] + rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
    return ROAD_LINE if is_on_marking(markings, east, north, up) else label
