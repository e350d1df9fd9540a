"""What smooth surfaces mirror of the sky, by Schlick's approximation of Fresnel's law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Float32s, Floats, Int32s
from harness.carlite.compiled import compiled, vectorised
from harness.carlite.sensors.materials import FaceMaterials
from harness.carlite.sensors.paint_buffers import ONE, ROW, ZERO, PaintBuffers
from harness.carlite.sensors.rasterise import NOTHING
from harness.carlite.sensors.vault import decode_sky_light, find_sky_place


@compiled
def mirror_runs(
    source: Int32s,
    faces: FaceMaterials,
    sky: NDArray[np.uint32],
    origin: Floats,
    runs: int,
    buffers: PaintBuffers,
) -> None:
    """Add what a column's surfaces mirror of the sky, run by run of the same surface."""
    for n in range(runs):
        first, last = buffers.runs[n], buffers.runs[n + 1]
        face = source[first]
        if face == NOTHING or not _does_mirror(first, last, buffers):
            continue
        if face >= 0:
            _mirror_upright(sky, faces.tangent[face], origin, first, last, buffers)
        else:
            _mirror_level(sky, origin, first, last, buffers)


@vectorised
def _does_mirror(first: int, last: int, buffers: PaintBuffers) -> np.bool:
    mirrors = np.int32(0)
    for row in range(ROW(first), ROW(last)):
        mirrors |= np.int32(buffers.mirror[row] > 0)
    return mirrors > 0


@vectorised
def _mirror_upright(
    sky: NDArray[np.uint32],
    tangent: Float32s,
    origin: Floats,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> None:
    """Mirror in a wall or a pane: its horizontal normal is square to its tangent."""
    east, north, height = np.float32(origin[0]), np.float32(origin[1]), np.float32(origin[2])
    across, along = tangent[1], -tangent[0]
    flat_sky = sky.reshape(sky.size)
    for row in range(ROW(first), ROW(last)):
        mirror, part = buffers.mirror[row], ONE / buffers.far[row]
        x = (buffers.x[row] - east) * part
        y = (buffers.y[row] - north) * part
        z = (buffers.z[row] - height) * part
        turned = x * across + y * along
        grazing = ONE - abs(turned)
        square = grazing * grazing
        rate = np.float32(0.05) + np.float32(0.5) * square * square * grazing
        x -= np.float32(2) * turned * across
        y -= np.float32(2) * turned * along
        z = max(abs(z), np.float32(0.35))
        share = mirror * rate if mirror > 0 else ZERO
        code = np.int32(flat_sky[find_sky_place(x, y, z)])
        red, green, blue = buffers.red[row], buffers.green[row], buffers.blue[row]
        buffers.red[row] = red + share * (min(decode_sky_light(code, 20), ONE) - red)
        buffers.green[row] = green + share * (min(decode_sky_light(code, 10), ONE) - green)
        buffers.blue[row] = blue + share * (min(decode_sky_light(code, 0), ONE) - blue)


@vectorised
def _mirror_level(
    sky: NDArray[np.uint32], origin: Floats, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Mirror in water on the ground."""
    east, north, height = np.float32(origin[0]), np.float32(origin[1]), np.float32(origin[2])
    flat_sky = sky.reshape(sky.size)
    for row in range(ROW(first), ROW(last)):
        mirror, part = buffers.mirror[row], ONE / buffers.far[row]
        x = (buffers.x[row] - east) * part
        y = (buffers.y[row] - north) * part
        z = min(max(-((buffers.z[row] - height) * part), ZERO), ONE)
        grazing = ONE - z
        square = grazing * grazing
        rate = np.float32(0.02) + np.float32(0.98) * square * square * grazing
        share = mirror * rate if mirror > 0 else ZERO
        code = np.int32(flat_sky[find_sky_place(x, y, z)])
        red, green, blue = buffers.red[row], buffers.green[row], buffers.blue[row]
        buffers.red[row] = red + share * (min(decode_sky_light(code, 20), ONE) - red)
        buffers.green[row] = green + share * (min(decode_sky_light(code, 10), ONE) - green)
        buffers.blue[row] = blue + share * (min(decode_sky_light(code, 0), ONE) - blue)
