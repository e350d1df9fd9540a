"""Light of street lamps and head lamps on the ground at night, in a grid over the town."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bools, Float32s, Floats, Ints
from harness.carlite.compiled import compiled, vectorised
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.lamps import HIGH, LOW
from harness.carlite.sensors.paint_buffers import ONE, PaintBuffers
from harness.carlite.sensors.things import PlacedThings, round_to_wire

LIGHT_CELL = 1.0
LEAST_LAMP = 3.3
"""Half the height in m from which on a pole is a street lamp; other poles are lower."""
LAMP_REACH, LAMP_POWER = 22.0, 60.0
BEAM_REACH, BEAM_SPREAD = {LOW: 28.0, HIGH: 55.0}, 0.42


class LampLight(NamedTuple):
    """Light at points one cell apart: `standing` of street lamps, `light` with head lamps as well.

    Attributes:
        x, y: of the first point, m.
        standing, light: (rows, columns).
    """

    x: float
    y: float
    standing: Float32s
    light: Float32s


def find_street_lamps(things: PlacedThings) -> Bools:
    """Return which things are street lamps: (things,)."""
    tall = np.abs(things.matrix[:, 2, 2]) > LEAST_LAMP
    posts: Bools = (things.label == SemanticLabel.POLE) & (things.actor == 0) & tall
    return posts


def prepare_lamp_light(
    things: PlacedThings, bounds: tuple[float, float, float, float]
) -> LampLight:
    """Return the light of the street lamps; bounds are least x and y, greatest x and y, in m."""
    rows, columns = int(bounds[3] - bounds[1]) + 2, int(bounds[2] - bounds[0]) + 2
    standing = np.zeros((rows, columns), np.float32)
    lamps = things.centre[find_street_lamps(things)]
    _add_pools(standing, bounds[0], bounds[1], np.ascontiguousarray(lamps))
    return LampLight(bounds[0], bounds[1], standing, standing.copy())


def shine_head_lamps(light: LampLight, table: ActorTable, slots: Ints) -> None:
    """Put the beams of vehicles whose head lamps are on over the light of the street lamps."""
    light.light[:] = light.standing
    lamps = table.lamps[slots].astype(np.int64)
    for slot, state in zip(
        slots[(lamps & (LOW | HIGH)) > 0], lamps[(lamps & (LOW | HIGH)) > 0], strict=True
    ):
        place, turn = round_to_wire(table.position[slot], table.rotation[slot])
        yaw, long = float(turn[1]), float(table.extent[slot, 0])
        forward = np.cos(yaw), np.sin(yaw)
        front = place[:2] + long * np.array(forward)
        reach = BEAM_REACH[HIGH if state & HIGH else LOW]
        _add_beam(light.light, front[0] - light.x, front[1] - light.y, *forward, reach)


@compiled
def _add_pools(standing: Float32s, x: float, y: float, lamps: Floats) -> None:
    for n in range(len(lamps)):
        column, row = lamps[n, 0] - x, lamps[n, 1] - y
        for i in range(
            max(int(row - LAMP_REACH), 0), min(int(row + LAMP_REACH) + 1, len(standing))
        ):
            for j in range(
                max(int(column - LAMP_REACH), 0),
                min(int(column + LAMP_REACH) + 1, standing.shape[1]),
            ):
                square = (i - row) ** 2 + (j - column) ** 2
                edge = max(1 - square / LAMP_REACH**2, 0.0)
                # a lamp 7 m up: inverse square and slant
                standing[i, j] += LAMP_POWER * 7.0 * edge * edge / (square + 49.0) ** 1.5


@compiled
def _add_beam(
    light: Float32s, column: float, row: float, ahead_x: float, ahead_y: float, reach: float
) -> None:
    if not abs(column) + abs(row) < 1e7:  # nowhere
        return
    for i in range(max(int(row - reach), 0), min(int(row + reach) + 1, len(light))):
        for j in range(max(int(column - reach), 0), min(int(column + reach) + 1, light.shape[1])):
            along = (j - column) * ahead_x + (i - row) * ahead_y
            aside = abs((i - row) * ahead_x - (j - column) * ahead_y)
            wide = 1.2 + along * BEAM_SPREAD
            if -1.0 < along < reach and aside < wide:
                edge = 1 - (aside / wide) ** 2
                light[i, j] += (
                    0.9 * edge * (1 - max(along, 0.0) / reach) * min(1.0, 0.4 + along / 8)
                )


@vectorised
def find_lamps_light(light: LampLight, strength: np.float32, buffers: PaintBuffers) -> None:
    """Write the light of lamps on the pixels of a column; it is weaker above the ground.

    Args:
        light: on the ground.
        strength: what it is multiplied with.
        buffers: with places of pixels in the world; changed in place.
    """
    rows, columns = light.light.shape
    grid = light.light.reshape(rows * columns)
    for row in range(len(buffers.lamp)):
        u, v = buffers.x[row] - light.x, buffers.y[row] - light.y
        # nor where it is NaN
        lit = (u >= 0) & (u < columns - 1) & (v >= 0) & (v < rows - 1) & (buffers.dome[row] > 0)
        u, v = u if lit else 0.0, v if lit else 0.0
        i, j = np.int32(v), np.int32(u)
        at = i * np.int32(columns) + j
        above = at + np.int32(columns)
        u, v = u - j, v - i
        low = grid[at] + u * (grid[at + 1] - grid[at])
        high = grid[above] + u * (grid[above + 1] - grid[above])
        lamp = strength * (low + v * (high - low))
        height = buffers.above[row]
        lamp /= ONE + height * height * np.float32(0.04)
        buffers.lamp[row] = lamp if lit else 0.0
