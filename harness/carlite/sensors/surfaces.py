"""The patterns of things: facades with windows, bodywork, leaves, stone, lamps."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bytes, Floats
from harness.carlite.compiled import compiled, vectorised
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
    may_be_open,
)
from harness.carlite.sensors.noise_table import GRAIN_MASK, hash_cell
from harness.carlite.sensors.paint_buffers import ONE, ROW, ZERO, PaintBuffers

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
    dome, base = faces.open_to_sky[face], faces.base[face]
    _colour_plain(faces, face, kind == DECK, first, last, buffers)
    if kind == FACADE:
        _colour_facade(
            faces, face, thing, centre, dark, exposure, noise, ray_apart, first, last, buffers
        )
    elif kind == BODYWORK:
        _colour_bodywork(label, centre, matrix, dome, first, last, buffers)
    elif kind == LEAVES:
        _add_grain(37.0, 0.45, 0.80, noise, first, last, buffers)
    elif kind == STONE:
        _add_grain(9.0, 0.8, 0.4, noise, first, last, buffers)
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


@vectorised
def _colour_plain(
    faces: FaceMaterials, face: int, painted: bool, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Write the colour of a whole face, and how high above its foot pixels are."""
    red, green, blue = faces.colour[face, 0], faces.colour[face, 1], faces.colour[face, 2]
    dome, shone, base = faces.open_to_sky[face], faces.facing[face], faces.base[face]
    for row in range(ROW(first), ROW(last)):
        buffers.red[row], buffers.green[row], buffers.blue[row] = red, green, blue
        buffers.dome[row], buffers.shone[row] = dome, shone
        buffers.above[row] = max(buffers.z[row] - base, ZERO)
        buffers.painted[row] = painted


@vectorised
def _add_grain(
    size: float,
    least: float,
    more: float,
    noise: Bytes,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> None:
    """Darken leaves or stone: `size` grains to a metre, from `least` to as much `more`."""
    fine, away, slant = np.float32(size), np.float32(FAR_AWAY), np.float32(0.3)
    mask, side = np.int32(GRAIN_MASK), np.int32(GRAIN_MASK + 1)
    for row in range(ROW(first), ROW(last)):
        x, y, z = buffers.x[row] + away, buffers.y[row] + away, buffers.z[row] + away
        a = np.int32((x + y) * fine) & mask
        b = np.int32((z + (x - y) * slant) * fine) & mask
        buffers.place[row] = b * side + a
    grains = noise.reshape(noise.size)
    for row in range(ROW(first), ROW(last)):
        buffers.place[row] = grains[buffers.place[row]]
    part = np.float32(more / 255)
    for row in range(ROW(first), ROW(last)):
        grain = np.float32(least) + part * np.float32(buffers.place[row])
        buffers.red[row] *= grain
        buffers.green[row] *= grain
        buffers.blue[row] *= grain


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
    openings = _divide_facade(faces, face, thing, centre, first, last, buffers)
    _colour_wall(ray_apart, noise, first, last, buffers)
    if openings > 0:
        _colour_openings(thing, dark, exposure, ray_apart, first, last, buffers)


@vectorised
def _divide_facade(
    faces: FaceMaterials,
    face: int,
    thing: int,
    centre: Floats,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> np.int32:
    """Divide a wall into parts as wide as a window and as tall as a storey.

    Writes columns and storeys to `across` and `lamp`, with the place within them as fractions;
    places of the grain; and to `other` where there may be a window or a door. Returns whether
    there are any.
    """
    tangent_x, tangent_y = faces.tangent[face, 0], faces.tangent[face, 1]
    wide = np.float32(2.4 + 0.3 * (thing % 5))
    storey = np.float32(3.0 + 0.2 * (thing % 3))
    shift = np.float32(-(centre[0] * tangent_x + centre[1] * tangent_y)) + wide * np.float32(512.0)
    storeys = np.int32((faces.tall[face] + np.float32(0.2)) / storey)
    eleven, mask, side = np.float32(11), np.int32(GRAIN_MASK), np.int32(GRAIN_MASK + 1)
    openings = np.int32(0)
    for row in range(ROW(first), ROW(last)):
        along = buffers.x[row] * tangent_x + buffers.y[row] * tangent_y + shift
        height = buffers.above[row]
        across, up = along / wide, height / storey
        level = np.int32(up)
        u, v = across - np.float32(np.int32(across)), up - np.float32(level)
        a, b = np.int32(along * eleven) & mask, np.int32(height * eleven) & mask
        is_open = (level < storeys) & may_be_open(u, v, level)
        buffers.across[row], buffers.lamp[row] = across, up
        buffers.place[row], buffers.other[row] = b * side + a, np.int32(is_open)
        openings |= np.int32(is_open)
    return openings


@vectorised
def _colour_wall(
    ray_apart: float, noise: Bytes, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Give a wall its grain where there is no opening."""
    grains = noise.reshape(noise.size)
    for row in range(ROW(first), ROW(last)):
        buffers.place[row] = grains[buffers.place[row]]
    apart, least, part = np.float32(ray_apart), np.float32(0.86), np.float32(0.28 / 255)
    for row in range(ROW(first), ROW(last)):
        # where a pixel is as wide as a window, the wall and its windows are one colour
        blur = min(max(buffers.far[row] * apart - np.float32(0.15), ZERO), ONE)
        grain = least + part * np.float32(buffers.place[row])
        grain -= np.float32(0.3) * blur
        kept = ONE if buffers.other[row] > 0 else grain
        buffers.red[row] *= kept
        buffers.green[row] *= kept
        buffers.blue[row] *= kept


@compiled
def _colour_openings(
    thing: int,
    dark: float,
    exposure: float,
    ray_apart: float,
    first: int,
    last: int,
    buffers: PaintBuffers,
) -> None:
    """Write windows, frames and doors, where they may be."""
    apart, part = np.float32(ray_apart), np.float32(0.28 / 255)
    column, level, number = -1, -1, 0
    for row in range(first, last):
        if buffers.other[row] == 0:
            continue
        across, up = buffers.across[row], buffers.lamp[row]
        if int(across) != column or int(up) != level:
            # another window: the number that it has for its own
            column, level = int(across), int(up)
            number = hash_cell(column, level, thing)
        what = find_window(across - np.float32(column), up - np.float32(level), level, number)
        blur = min(max(buffers.far[row] * apart - np.float32(0.15), ZERO), ONE)
        if what == 0:
            grain = np.float32(0.86) + part * np.float32(buffers.place[row])
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
