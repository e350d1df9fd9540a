"""The sky as a table of all directions above the horizon, and looking directions up in it.

A direction (x, y, z) has its place in a disc by (x, y) / (1 + z). Colours are kept as roots of
linear light, ten bits each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled, vectorised
from harness.carlite.sensors.paint_buffers import ONE, ROW, ZERO, PaintBuffers

SKY_SIDE = 640
BITS = 1023
SKY_TOP = 4.0
"""The brightest light that the table keeps."""


@compiled
def encode_sky_light(red: float, green: float, blue: float) -> int:
    """Return three colours in 30 bits."""
    scale = BITS / np.sqrt(SKY_TOP)
    r = int(np.sqrt(min(max(red, 0.0), SKY_TOP)) * scale + 0.5)
    g = int(np.sqrt(min(max(green, 0.0), SKY_TOP)) * scale + 0.5)
    b = int(np.sqrt(min(max(blue, 0.0), SKY_TOP)) * scale + 0.5)
    return r << 20 | g << 10 | b


@compiled
def find_sky_place(x: np.float32, y: np.float32, z: np.float32) -> np.int32:
    """Return the place of a direction in the table, row by row; z is at least 0.

    Args:
        x: of the direction, of any length.
        y: of the direction.
        z: of the direction.
    """
    scale = np.float32(SKY_SIDE / 2) / (np.sqrt(x * x + y * y + z * z) + z)
    half, last_cell = np.float32(SKY_SIDE / 2), np.float32(SKY_SIDE - 1)
    i, j = half + y * scale, half + x * scale
    i = min(i if i > ZERO else ZERO, last_cell)
    j = min(j if j > ZERO else ZERO, last_cell)
    return np.int32(np.int32(i) * np.int32(SKY_SIDE) + np.int32(j))


@compiled
def decode_sky_light(code: np.int32, place: int) -> np.float32:
    """Return the light of the colour that begins at a bit of a code: 20 red, 10 green, 0 blue."""
    part = np.float32(np.sqrt(SKY_TOP) / BITS)
    root = np.float32((code >> np.int32(place)) & np.int32(BITS)) * part
    return root * root


@vectorised
def colour_sky(
    sky: NDArray[np.uint32], origin: Floats, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Write the sky's light for the rows from `first` to before `last`."""
    east, north, height = np.float32(origin[0]), np.float32(origin[1]), np.float32(origin[2])
    half, last_cell = np.float32(SKY_SIDE / 2), np.float32(SKY_SIDE - 1)
    side = np.int32(SKY_SIDE)
    flat_sky = sky.reshape(SKY_SIDE * SKY_SIDE)
    for row in range(ROW(first), ROW(last)):
        scale = half / (buffers.far[row] + max(buffers.z[row] - height, ZERO))
        i = min(max(half + (buffers.y[row] - north) * scale, ZERO), last_cell)
        j = min(max(half + (buffers.x[row] - east) * scale, ZERO), last_cell)
        code = np.int32(flat_sky[np.int32(i) * side + np.int32(j)])
        buffers.red[row] = decode_sky_light(code, 20)
        buffers.green[row] = decode_sky_light(code, 10)
        buffers.blue[row] = decode_sky_light(code, 0)
        buffers.glow[row], buffers.bare[row] = ONE, ZERO
