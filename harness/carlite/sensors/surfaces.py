"""The patterns of things: facades with windows, bodywork, leaves, stone, lamps."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bytes, Floats
from harness.carlite.compiled import compiled
from harness.carlite.sensors.lamps import find_lamp_colour
from harness.carlite.sensors.materials import (
    BODYWORK,
    DECK,
    FACADE,
    LAMP_POST,
    LEAVES,
    STONE,
    FaceMaterials,
    find_bodywork,
    find_window,
)
from harness.carlite.sensors.noise_table import GRAIN_MASK
from harness.carlite.sensors.paint_buffers import ONE, ZERO, PaintBuffers

LIT_WINDOW = np.array([1.0, 0.72, 0.36], np.float32)
LAMP_GLOW = np.array([1.0, 0.80, 0.52], np.float32)
GLASS = np.array([0.020, 0.026, 0.034], np.float32)
OTHER_PARTS = np.array(
    [
        [0.020, 0.026, 0.034], [0.020, 0.026, 0.034], [0.012, 0.012, 0.013],
        [0.012, 0.012, 0.013], [0.70, 0.70, 0.66], [0.30, 0.31, 0.33],
    ],
    np.float32,
)  # fmt: skip
"""Colours of parts of vehicles, by the number of `find_bodywork`."""
PART_MIRROR = np.array([0.25, 0.8, 0.0, 0.0, 0.0, 0.1], np.float32)
TALL_POST, LAMP_HEAD = 6.6, 0.45
"""Metres: the least height of a street lamp, and the height of its head."""
FAR_AWAY = 4096.0


@compiled
def colour_face(
    faces: FaceMaterials,
    face: int,
    label: int,
    code: int,
    thing: int,
    centre: Floats,
    matrix: Floats,
    dark: float,
    exposure: float,
    noise: Bytes,
    ray_apart: float,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> None:
    """Write a face's colours and light for the rows from `first` to before `last`."""
    kind = faces.kind[face]
    red, green, blue = faces.colour[face, 0], faces.colour[face, 1], faces.colour[face, 2]
    dome, shone, base = faces.open_to_sky[face], faces.facing[face], faces.base[face]
    for row in range(first, last):
        buffers.red[row], buffers.green[row], buffers.blue[row] = red, green, blue
        buffers.dome[row], buffers.shone[row] = dome, shone
        buffers.above[row] = max(buffers.z[row] - base, ZERO)
    if kind == FACADE:
        _colour_facade(
            faces, face, thing, centre, dark, exposure, noise, ray_apart, first, last, buffers
        )
    elif kind == BODYWORK:
        _colour_bodywork(label, centre, matrix, dome, first, last, buffers)
    elif kind in (LEAVES, STONE):
        size = np.float32(37.0) if kind == LEAVES else np.float32(9.0)
        least = np.float32(0.45) if kind == LEAVES else np.float32(0.8)
        most = np.float32(0.80 / 255) if kind == LEAVES else np.float32(0.4 / 255)
        for row in range(first, last):
            x, y = buffers.x[row] + np.float32(FAR_AWAY), buffers.y[row] + np.float32(FAR_AWAY)
            z = buffers.z[row] + np.float32(FAR_AWAY)
            a = int((x + y) * size) & GRAIN_MASK
            b = int((z + (x - y) * np.float32(0.3)) * size) & GRAIN_MASK
            grain = least + most * np.float32(noise[b, a])
            buffers.red[row] *= grain
            buffers.green[row] *= grain
            buffers.blue[row] *= grain
    elif kind == DECK:
        for row in range(first, last):
            buffers.painted[row] = 1
    elif kind == LAMP_POST and dark > 0 and faces.tall[face] > TALL_POST:
        # the head of a street lamp
        top, shine = (
            base + faces.tall[face] - np.float32(LAMP_HEAD),
            np.float32(dark * 1.1 / exposure),
        )
        for row in range(first, last):
            if buffers.z[row] > top:
                buffers.red[row], buffers.green[row] = LAMP_GLOW[0], LAMP_GLOW[1]
                buffers.blue[row], buffers.glow[row] = LAMP_GLOW[2], shine
                buffers.bare[row] = np.float32(0.6)
                buffers.dome[row] = buffers.shone[row] = ZERO
    if code > 0:
        _colour_lamps(code, centre, matrix, exposure, first, last, buffers)


@compiled
def _colour_lamps(
    code: int,
    centre: Floats,
    matrix: Floats,
    exposure: float,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> None:
    """Write lenses; a lit one has its colour whatever the exposure, through half of the air."""
    for row in range(first, last):
        lens, red, green, blue = find_lamp_colour(
            code, centre, matrix, buffers.x[row], buffers.y[row], buffers.z[row]
        )
        if lens > 0:
            buffers.red[row] = (red / 255) ** 2.2
            buffers.green[row] = (green / 255) ** 2.2
            buffers.blue[row] = (blue / 255) ** 2.2
            buffers.mirror[row] = ZERO
        if lens > 1:
            buffers.glow[row] = 1 / exposure
            buffers.bare[row] = np.float32(0.5)
            buffers.dome[row] = buffers.shone[row] = ZERO


@compiled
def _colour_facade(
    faces: FaceMaterials,
    face: int,
    thing: int,
    centre: Floats,
    dark: float,
    exposure: float,
    noise: Bytes,
    ray_apart: float,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> None:
    """Write windows, frames, doors and the grain of a wall."""
    tangent_x, tangent_y = faces.tangent[face, 0], faces.tangent[face, 1]
    wide = np.float32(2.4 + 0.3 * (thing % 5))
    storey = np.float32(3.0 + 0.2 * (thing % 3))
    shift = np.float32(-(centre[0] * tangent_x + centre[1] * tangent_y)) + wide * np.float32(512.0)
    storeys = int((faces.tall[face] + np.float32(0.2)) / storey)
    for row in range(first, last):
        along = buffers.x[row] * tangent_x + buffers.y[row] * tangent_y + shift
        height = buffers.above[row]
        across, up = along / wide, height / storey
        column, level = int(across), int(up)
        what, number = 0, 0
        if level < storeys:
            what, number = find_window(
                across - np.float32(column), up - np.float32(level), column, level, thing
            )
        # where a pixel is as wide as a window, the wall and its windows are one colour
        blur = min(max(buffers.far[row] * np.float32(ray_apart) - np.float32(0.15), ZERO), ONE)
        if what == 0:
            a = int(along * np.float32(11)) & GRAIN_MASK
            b = int(height * np.float32(11)) & GRAIN_MASK
            grain = np.float32(0.86) + np.float32(0.28 / 255) * np.float32(noise[b, a])
            grain -= np.float32(0.3) * blur
            buffers.red[row] *= grain
            buffers.green[row] *= grain
            buffers.blue[row] *= grain
        elif what == 1:
            if dark > 0 and number < 300 * dark:
                shine = np.float32((0.35 + 0.4 * (number & 15) / 15) * dark / exposure)
                buffers.red[row], buffers.green[row] = LIT_WINDOW[0], LIT_WINDOW[1]
                buffers.blue[row], buffers.glow[row] = LIT_WINDOW[2], shine
                buffers.dome[row] = buffers.shone[row] = ZERO
            else:
                keep = np.float32(0.6) * blur
                buffers.red[row] = GLASS[0] + keep * (buffers.red[row] - GLASS[0])
                buffers.green[row] = GLASS[1] + keep * (buffers.green[row] - GLASS[1])
                buffers.blue[row] = GLASS[2] + keep * (buffers.blue[row] - GLASS[2])
                buffers.mirror[row] = np.float32(0.8) * (ONE - blur)
        elif what == 2:
            keep = np.float32(0.8) * blur
            buffers.red[row] = np.float32(0.55) + keep * (buffers.red[row] - np.float32(0.55))
            buffers.green[row] = np.float32(0.55) + keep * (buffers.green[row] - np.float32(0.55))
            buffers.blue[row] = np.float32(0.53) + keep * (buffers.blue[row] - np.float32(0.53))
        else:
            buffers.red[row] = np.float32(0.10)
            buffers.green[row] = np.float32(0.06)
            buffers.blue[row] = np.float32(0.04)


@compiled
def _colour_bodywork(
    label: int,
    centre: Floats,
    matrix: Floats,
    upright: np.float32,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> None:
    """Write the parts of a vehicle: panes, tyres, plates; paint mirrors the sky as well."""
    long = matrix[0, 0] ** 2 + matrix[1, 0] ** 2 + matrix[2, 0] ** 2
    broad = matrix[0, 1] ** 2 + matrix[1, 1] ** 2 + matrix[2, 1] ** 2
    tall = matrix[0, 2] ** 2 + matrix[1, 2] ** 2 + matrix[2, 2] ** 2
    half, half_long, up_share = np.sqrt(tall), np.sqrt(long), float(upright)
    for row in range(first, last):
        dx, dy, dz = (
            buffers.x[row] - centre[0],
            buffers.y[row] - centre[1],
            buffers.z[row] - centre[2],
        )
        ahead = (matrix[0, 0] * dx + matrix[1, 0] * dy + matrix[2, 0] * dz) / long
        aside = (matrix[0, 1] * dx + matrix[1, 1] * dy + matrix[2, 1] * dz) / broad
        up = (matrix[0, 2] * dx + matrix[1, 2] * dy + matrix[2, 2] * dz) / tall
        what = find_bodywork(label, ahead, aside, (up + 1) * half, up_share, half_long, 2 * half)
        buffers.mirror[row] = PART_MIRROR[what]
        if what > 0:
            buffers.red[row] = OTHER_PARTS[what, 0]
            buffers.green[row] = OTHER_PARTS[what, 1]
            buffers.blue[row] = OTHER_PARTS[what, 2]
