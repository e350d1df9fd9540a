"""The colours of the ground: its labels' colours, smooth borders between them, grain and water."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Float32s, Floats
from harness.carlite.compiled import compiled, vectorised
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.materials import LINEAR_PALETTE
from harness.carlite.sensors.noise_table import GRAIN_MASK
from harness.carlite.sensors.paint_buffers import ONE, ROW, ZERO, PaintBuffers
from harness.carlite.sensors.relief import GroundRelief

ROAD, SIDEWALK = int(SemanticLabel.ROAD), int(SemanticLabel.SIDEWALK)
LABEL_BITS, MIXED = 63, 64
LABELS = 64
PALETTE_COLUMNS = np.ascontiguousarray(LINEAR_PALETTE[:LABELS].T).ravel()
"""Red of every label, then green, then blue: (3 * LABELS,)."""
FINE_WITHIN = 24.0
"""Metres within which the finest grain is seen."""


class GroundLook(NamedTuple):
    """What a cell of the ground looks like.

    Attributes:
        x, y, cell: as in the relief.
        code: (rows, columns) of cells: the label, MIXED where its corners differ.
        heights, labels: at the grid points, of the relief.
    """

    x: float
    y: float
    cell: float
    code: Bytes
    heights: Floats
    labels: Bytes


def prepare_ground_look(relief: GroundRelief) -> GroundLook:
    """Return what the cells of the ground look like."""
    corners = _list_corners(relief.labels)
    mixed = np.any([corner != corners[0] for corner in corners[1:]], axis=0)
    code = (corners[0] & LABEL_BITS) | MIXED * mixed
    return GroundLook(
        relief.x, relief.y, relief.cell, np.ascontiguousarray(code, np.uint8), relief.heights,
        relief.labels,
    )  # fmt: skip


def _list_corners(points: np.ndarray) -> list[np.ndarray]:
    """Return the four corners of every cell of a grid of points."""
    rows, columns = points.shape[0] - 1, points.shape[1] - 1
    return [points[i : rows + i, j : columns + j] for i in (0, 1) for j in (0, 1)]


def prepare_ground_shine(ground: GroundLook, key: Floats) -> Float32s:
    """Return how squarely light from `key` falls on the two triangles of every cell.

    Returns:
        (cells, 2) cosines, at least 0: of the triangle next to the cell's first column's end,
        then of the other.
    """
    rows, columns = ground.code.shape
    shine = np.empty((rows * columns, 2), np.float32)
    _fill_ground_shine(ground, key, shine)
    return shine


@vectorised
def _fill_ground_shine(ground: GroundLook, key: Floats, shine: Float32s) -> None:
    rows, columns = ground.code.shape
    for i in range(rows):
        for j in range(columns):
            corner, opposite = ground.heights[i, j], ground.heights[i + 1, j + 1]
            right, left = ground.heights[i, j + 1], ground.heights[i + 1, j]
            at = i * columns + j
            shine[at, 0] = _find_shine(right - corner, opposite - right, ground.cell, key)
            shine[at, 1] = _find_shine(opposite - left, left - corner, ground.cell, key)


@compiled
def _find_shine(rise_x: float, rise_y: float, cell: float, key: Floats) -> float:
    rise_x, rise_y = rise_x / cell, rise_y / cell
    size = np.sqrt(1 + rise_x * rise_x + rise_y * rise_y)
    slanted: float = (key[2] - rise_x * key[0] - rise_y * key[1]) / size
    return max(slanted, 0.0)


@compiled
def colour_ground(
    ground: GroundLook, shine: Float32s, noise: Bytes, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Write colours and the light's angle for the rows from `first` to before `last`."""
    _find_cells(ground, first, last, buffers)
    mixed = _read_ground_tables(ground, noise, first, last, buffers)
    _colour_cells(PALETTE_COLUMNS, shine.reshape(len(shine) * 2), first, last, buffers)
    if mixed > 0:
        _colour_mixed_cells(ground, first, last, buffers)


@vectorised
def _find_cells(ground: GroundLook, first: int, last: int, buffers: PaintBuffers) -> None:
    """Write numbers of cells, 1 to `painted` in their upper triangles, and places of the grain."""
    left, front, per_cell = np.float32(ground.x), np.float32(ground.y), np.float32(1 / ground.cell)
    columns, zero = np.int32(ground.code.shape[1]), np.int32(0)
    last_i, last_j = np.int32(ground.code.shape[0] - 1), columns - np.int32(1)
    mask, side = np.int32(GRAIN_MASK), np.int32(GRAIN_MASK + 1)
    coarse, fine = np.float32(2.3), np.float32(47.0)
    for row in range(ROW(first), ROW(last)):
        x, y = buffers.x[row] - left, buffers.y[row] - front
        u, v = x * per_cell, y * per_cell
        i, j = min(max(np.int32(v), zero), last_i), min(max(np.int32(u), zero), last_j)
        buffers.place[row] = i * columns + j
        # which of the cell's two triangles
        buffers.painted[row] = 0 if u - np.float32(j) >= v - np.float32(i) else 1
        x, y = abs(x), abs(y)
        a, b = np.int32(x * coarse) & mask, np.int32(y * coarse) & mask
        buffers.other[row] = b * side + a
        a, b = np.int32(x * fine) & mask, np.int32(y * fine) & mask
        buffers.third[row] = b * side + a


@vectorised
def _read_ground_tables(
    ground: GroundLook, noise: Bytes, first: int, last: int, buffers: PaintBuffers
) -> int:
    """Replace places of the grain by the grain, from 0 to 255, and add codes to the numbers.

    `other` gets the coarse grain, `third` the fine one and the code above it. Returns whether
    there are cells of several labels.
    """
    codes, grain = ground.code.reshape(ground.code.size), noise.reshape(noise.size)
    joint = 0
    for row in range(ROW(first), ROW(last)):
        code = codes[buffers.place[row]]
        joint |= code
        buffers.other[row] = grain[buffers.other[row]]
        buffers.third[row] = grain[buffers.third[row]] | np.int32(code) << np.int32(8)
    return joint & MIXED


@vectorised
def _colour_cells(
    palette: Float32s, shine: Float32s, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Write the colours of cells, with their grain, as those of cells of one label."""
    part, half = np.float32(1 / 255), np.float32(0.5)
    paved, rough = np.float32(0.26), np.float32(0.55)
    for row in range(ROW(first), ROW(last)):
        label = (buffers.third[row] >> np.int32(8)) & np.int32(LABEL_BITS)
        # grain: patches of some metres, and what is small only where it is near
        grain = np.float32(buffers.other[row]) * part - half
        fine = np.float32(buffers.third[row] & np.int32(255)) * part - half
        near = max(ONE - buffers.far[row] * np.float32(1 / FINE_WITHIN), ZERO)
        grain += fine * near
        buffers.lamp[row] = grain
        strength = paved if (label == ROAD) | (label == SIDEWALK) else rough
        grain = ONE + strength * grain
        buffers.red[row] = palette[label] * grain
        buffers.green[row] = palette[label + LABELS] * grain
        buffers.blue[row] = palette[label + 2 * LABELS] * grain
        buffers.shone[row] = shine[2 * buffers.place[row] + np.int32(buffers.painted[row])]
        buffers.dome[row], buffers.above[row] = ONE, ZERO
        buffers.painted[row] = 1 if label == ROAD else 0


@compiled
def _colour_mixed_cells(ground: GroundLook, first: int, last: int, buffers: PaintBuffers) -> None:
    """Write the colours of cells of several labels, whose grain is in `lamp`."""
    left, front, per_cell = np.float32(ground.x), np.float32(ground.y), np.float32(1 / ground.cell)
    columns = np.int32(ground.code.shape[1])
    for row in range(ROW(first), ROW(last)):
        if not (buffers.third[row] >> 8) & MIXED:
            continue
        u, v = (buffers.x[row] - left) * per_cell, (buffers.y[row] - front) * per_cell
        i, j = buffers.place[row] // columns, buffers.place[row] % columns
        label, other, mix = _mix_labels(
            ground.labels, i, j, u - np.float32(j), v - np.float32(i), buffers.far[row]
        )
        red = LINEAR_PALETTE[label, 0]
        green, blue = LINEAR_PALETTE[label, 1], LINEAR_PALETTE[label, 2]
        red += mix * (LINEAR_PALETTE[other, 0] - red)
        green += mix * (LINEAR_PALETTE[other, 1] - green)
        blue += mix * (LINEAR_PALETTE[other, 2] - blue)
        strength = np.float32(0.26) if label in (ROAD, SIDEWALK) else np.float32(0.55)
        grain = ONE + strength * buffers.lamp[row]
        buffers.red[row], buffers.green[row], buffers.blue[row] = (
            red * grain,
            green * grain,
            blue * grain,
        )
        buffers.painted[row] = 1 if label == ROAD else 0


@compiled
def _mix_labels(
    labels: Bytes, i: int, j: int, u: np.float32, v: np.float32, far: np.float32
) -> tuple[int, int, np.float32]:
    """Return the label of the nearest grid point, another one of the cell, and the latter's share.

    The border of colours runs where both labels would have equal shares if they went over into
    each other. It is as sharp as a pixel is small.
    """
    a, b, c, d = labels[i, j], labels[i, j + 1], labels[i + 1, j], labels[i + 1, j + 1]
    half = np.float32(0.5)
    label = (d if u > half else c) if v > half else (b if u > half else a)
    other = a
    if other == label:
        other = b if b != label else (c if c != label else d)
    share = ZERO
    if a == other:
        share += (ONE - u) * (ONE - v)
    if b == other:
        share += u * (ONE - v)
    if c == other:
        share += (ONE - u) * v
    if d == other:
        share += u * v
    sharp = max(np.float32(8.0) - np.float32(0.15) * far, np.float32(2.0))
    mix = min(max((share - half) * sharp + half, ZERO), ONE)
    return int(label) & LABEL_BITS, int(other) & LABEL_BITS, mix


@vectorised
def wet_ground(
    wet: float, puddles: float, noise: Bytes, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Darken the ground, as water in its pores does, and let it mirror where water stands."""
    damp, film = np.float32(1 - 0.5 * wet), np.float32(0.35 * wet)
    mask, side, three = np.int32(GRAIN_MASK), np.int32(GRAIN_MASK + 1), np.float32(3)
    far_away = np.float32(4096)
    for row in range(ROW(first), ROW(last)):
        a = np.int32(abs(buffers.x[row] + far_away) * three) & mask
        b = np.int32(abs(buffers.y[row] + far_away) * three) & mask
        buffers.place[row] = b * side + a
    grain = noise.reshape(noise.size)
    for row in range(ROW(first), ROW(last)):
        buffers.place[row] = grain[buffers.place[row]]
    for row in range(ROW(first), ROW(last)):
        depth = np.float32(buffers.place[row]) / np.float32(255) - np.float32(1 - puddles)
        puddle = max(film, min(max(depth * np.float32(5), ZERO), ONE))
        buffers.mirror[row] = puddle if puddles > 0 else film
        buffers.red[row] *= damp
        buffers.green[row] *= damp
        buffers.blue[row] *= damp
