"""Numbers of one column of a picture while it is painted."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Bytes, Float32s, Floats, Int32s

Pixels: TypeAlias = NDArray[np.uint32]

STRIP = 16
"""Columns painted before they go to the picture: a row of as many pixels is a cache line."""
ZERO, ONE = np.float32(0.0), np.float32(1.0)
ROW = np.uint64
"""The kind of number that counts rows from other ones than the first.

It has no sign: a row below 0 would count from the end, and then the compiler makes no vectors.
"""

KINDS = {
    "place": "int32", "other": "int32", "third": "int32", "painted": "uint8", "reach": "float64",
}  # fmt: skip


class PaintBuffers(NamedTuple):
    """Numbers of one column, used again for every column; all but the last (rows,).

    Attributes:
        far: distances along the rays, m.
        x, y, z: where the rays end, in the world, m.
        above: how high that is above the foot of the thing, m.
        across: along walls, in windows.
        red, green, blue: linear: first the surface's colour, then that of its light.
        dome: the share of the sky's light that the surface gets.
        shone: the share of the light that throws shadows.
        glow: the surface's own light.
        lamp: the light of lamps at night; before that the grain of the ground, storeys of walls.
        mirror: how smooth it is.
        bare: 1 where the air is before the pixel, 0 where its colour is seen as it is.
        reach: how far the footprints of pixels reach on the ground, m.
        painted: 1 where there may be markings.
        place, other, third: numbers of places in tables.
        runs: (rows + 1,) where runs of the same surface begin.
        strip: (STRIP, rows) finished pixels.
    """

    far: Float32s
    x: Float32s
    y: Float32s
    z: Float32s
    above: Float32s
    across: Float32s
    red: Float32s
    green: Float32s
    blue: Float32s
    dome: Float32s
    shone: Float32s
    glow: Float32s
    lamp: Float32s
    mirror: Float32s
    bare: Float32s
    reach: Floats
    painted: Bytes
    place: Int32s
    other: Int32s
    third: Int32s
    runs: Int32s
    strip: Pixels


def make_paint_buffers(rows: int) -> PaintBuffers:
    """Return buffers for pictures of so many rows."""
    parts: dict[str, np.ndarray] = {}
    for name in PaintBuffers._fields:
        parts[name] = np.zeros(rows, KINDS.get(name, "float32"))
    parts["runs"] = np.zeros(rows + 1, np.int32)
    parts["strip"] = np.zeros((STRIP, rows), np.uint32)
    return PaintBuffers(**parts)
