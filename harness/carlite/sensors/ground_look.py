"""The colours of the ground: its labels' colours, smooth borders between them, grain and water."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Floats
from harness.carlite.compiled import compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.materials import LINEAR_PALETTE
from harness.carlite.sensors.noise_table import GRAIN_MASK
from harness.carlite.sensors.paint_buffers import ONE, ZERO, PaintBuffers
from harness.carlite.sensors.relief import GroundRelief

ROAD, SIDEWALK = int(SemanticLabel.ROAD), int(SemanticLabel.SIDEWALK)
LABEL_BITS, MIXED, SLOPING = 63, 64, 128
FINE_WITHIN = 24.0
"""Metres within which the finest grain is seen."""


class GroundLook(NamedTuple):
    """What a cell of the ground looks like.

    Attributes:
        x, y, cell: as in the relief.
        code: (rows, columns) of cells: the label, MIXED where its corners differ, SLOPING where
            it is not level.
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
    heights = _list_corners(relief.heights)
    mixed = np.any([corner != corners[0] for corner in corners[1:]], axis=0)
    sloping = np.any([height != heights[0] for height in heights[1:]], axis=0)
    code = (corners[0] & LABEL_BITS) | MIXED * mixed | SLOPING * sloping
    return GroundLook(
        relief.x, relief.y, relief.cell, np.ascontiguousarray(code, np.uint8), relief.heights,
        relief.labels,
    )  # fmt: skip


def _list_corners(points: np.ndarray) -> list[np.ndarray]:
    """Return the four corners of every cell of a grid of points."""
    rows, columns = points.shape[0] - 1, points.shape[1] - 1
    return [points[i : rows + i, j : columns + j] for i in (0, 1) for j in (0, 1)]


@compiled
def colour_ground(
    ground: GroundLook, key: Floats, noise: Bytes, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Write colours and the light's angle for the rows from `first` to before `last`."""
    left, front, per_cell = np.float32(ground.x), np.float32(ground.y), np.float32(1 / ground.cell)
    rows, columns = ground.code.shape
    level = np.float32(max(key[2], 0.0))
    part = np.float32(1 / 255)
    for row in range(first, last):
        x, y = buffers.x[row] - left, buffers.y[row] - front
        u, v = x * per_cell, y * per_cell
        i = min(max(int(v), 0), rows - 1)
        j = min(max(int(u), 0), columns - 1)
        code = int(ground.code[i, j])
        label = code & LABEL_BITS
        red, green, blue = (
            LINEAR_PALETTE[label, 0],
            LINEAR_PALETTE[label, 1],
            LINEAR_PALETTE[label, 2],
        )
        shone = level
        if code >= MIXED:
            u, v = u - np.float32(j), v - np.float32(i)
            if code & MIXED:
                label, other, mix = _mix_labels(ground.labels, i, j, u, v, buffers.far[row])
                red = LINEAR_PALETTE[label, 0]
                green, blue = LINEAR_PALETTE[label, 1], LINEAR_PALETTE[label, 2]
                red += mix * (LINEAR_PALETTE[other, 0] - red)
                green += mix * (LINEAR_PALETTE[other, 1] - green)
                blue += mix * (LINEAR_PALETTE[other, 2] - blue)
            if code & SLOPING:
                corner, opposite = ground.heights[i, j], ground.heights[i + 1, j + 1]
                if u >= v:
                    neighbour = ground.heights[i, j + 1]
                    rise_x, rise_y = neighbour - corner, opposite - neighbour
                else:
                    neighbour = ground.heights[i + 1, j]
                    rise_x, rise_y = opposite - neighbour, neighbour - corner
                rise_x, rise_y = rise_x / ground.cell, rise_y / ground.cell
                size = np.sqrt(1 + rise_x * rise_x + rise_y * rise_y)
                slanted = (key[2] - rise_x * key[0] - rise_y * key[1]) / size
                shone = np.float32(max(slanted, 0.0))
        # grain: patches of some metres, and what is small only where it is near
        x, y = abs(x), abs(y)
        a, b = int(x * np.float32(2.3)) & GRAIN_MASK, int(y * np.float32(2.3)) & GRAIN_MASK
        grain = np.float32(noise[b, a]) * part - np.float32(0.5)
        a, b = int(x * np.float32(47.0)) & GRAIN_MASK, int(y * np.float32(47.0)) & GRAIN_MASK
        fine = np.float32(noise[b, a]) * part - np.float32(0.5)
        near = max(ONE - buffers.far[row] * np.float32(1 / FINE_WITHIN), ZERO)
        grain += fine * near
        strength = np.float32(0.26) if label in (ROAD, SIDEWALK) else np.float32(0.55)
        grain = ONE + strength * grain
        buffers.red[row], buffers.green[row], buffers.blue[row] = (
            red * grain,
            green * grain,
            blue * grain,
        )
        buffers.dome[row], buffers.shone[row], buffers.above[row] = ONE, shone, ZERO
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


@compiled
def wet_ground(
    wet: float, puddles: float, noise: Bytes, first: int, last: int, buffers: PaintBuffers
) -> None:
    """Darken the ground, as water in its pores does, and let it mirror where water stands."""
    damp, film = np.float32(1 - 0.5 * wet), np.float32(0.35 * wet)
    for row in range(first, last):
        mirror = film
        if puddles > 0:
            a = int(abs(buffers.x[row] + np.float32(4096)) * np.float32(3)) & GRAIN_MASK
            b = int(abs(buffers.y[row] + np.float32(4096)) * np.float32(3)) & GRAIN_MASK
            depth = np.float32(noise[b, a]) / np.float32(255) - np.float32(1 - puddles)
            mirror = max(film, min(max(depth * np.float32(5), ZERO), ONE))
        buffers.mirror[row] = mirror
        buffers.red[row] *= damp
        buffers.green[row] *= damp
        buffers.blue[row] *= damp
