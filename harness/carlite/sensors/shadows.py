"""Shadows: how high the lowest light passes, over a plane that is seen along the light.

A point (x, y, z) lies on the light's ray through (x - z kx, y - z ky, 0). A map over these places
has the greatest height of what stands in the way; a point below that is in shadow. The standing
things are drawn once for each direction of the light. Actors are drawn over them and taken out
again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Float32s, Floats, Ints
from harness.carlite.compiled import compiled, vectorised
from harness.carlite.sensors.meshes import PackedMeshes
from harness.carlite.sensors.paint_buffers import ROW, ZERO, PaintBuffers
from harness.carlite.sensors.things import PlacedThings

SHADOW_CELL = 0.2
MOST_CELLS = 24_000_000
SHADOW_BLOCK = 8
LIFT = 0.12
"""Metres by which a surface must lie lower than what shades it."""
NOTHING_THERE = -1e9
MOST_CHANGES = 1_500_000


class ShadowMap(NamedTuple):
    """Heights of what takes the light.

    Attributes:
        x, y, cell: place of the first cell's corner and side of a cell, m.
        slant: (2,) kx and ky, metres aside for each metre up.
        heights: (rows, columns).
        lowest, highest: of blocks of `SHADOW_BLOCK` cells a side and the cells next to them.
        standing: `highest` without actors.
        changed, before: (changes,) cells that actors have changed, and their heights before that.
        changes: (1,) how many.
    """

    x: float
    y: float
    cell: float
    slant: Floats
    heights: Float32s
    lowest: Float32s
    highest: Float32s
    standing: Float32s
    changed: Ints
    before: Float32s
    changes: Ints


def prepare_shadows(
    things: PlacedThings,
    meshes: PackedMeshes,
    key: Floats,
    bounds: tuple[float, float, float, float],
) -> ShadowMap:
    """Return the shadows of standing things in the light from `key`.

    `bounds` are the least x, least y, greatest x and greatest y that matter, at height 0.
    """
    slant = key[:2] / key[2]
    low_x, low_y, high_x, high_y = bounds
    # things of the town and the ground may be some metres above or below height 0
    heights = things.centre[:, 2]
    least, most = float(heights.min(initial=0.0)) - 15, float(heights.max(initial=0.0)) + 15
    ends = np.array([least, most])
    low_x -= float(max(ends * slant[0]))
    high_x -= float(min(ends * slant[0]))
    low_y -= float(max(ends * slant[1]))
    high_y -= float(min(ends * slant[1]))
    area = (high_x - low_x) * (high_y - low_y)
    cell = max(SHADOW_CELL, (area / MOST_CELLS) ** 0.5)
    shape = int((high_y - low_y) / cell) + 2, int((high_x - low_x) / cell) + 2
    blocks = shape[0] // SHADOW_BLOCK + 1, shape[1] // SHADOW_BLOCK + 1
    shadows = ShadowMap(
        x=low_x,
        y=low_y,
        cell=cell,
        slant=slant,
        heights=np.full(shape, NOTHING_THERE, np.float32),
        lowest=np.zeros(blocks, np.float32),
        highest=np.full(blocks, NOTHING_THERE, np.float32),
        standing=np.zeros(blocks, np.float32),
        changed=np.empty(MOST_CHANGES, np.int64),
        before=np.empty(MOST_CHANGES, np.float32),
        changes=np.zeros(1, np.int64),
    )
    render_shadows(shadows, things, meshes, 0, len(things.mesh), False, np.empty((8, 3)))
    _measure_shadow_blocks(shadows)
    return shadows


@compiled
def _measure_shadow_blocks(shadows: ShadowMap) -> None:
    """Write the lowest and the highest of each block and of the cells next to it."""
    rows, columns = shadows.heights.shape
    for i in range(len(shadows.lowest)):
        for j in range(shadows.lowest.shape[1]):
            low, high = np.float32(1e9), np.float32(NOTHING_THERE)
            for row in range(i * SHADOW_BLOCK, min((i + 1) * SHADOW_BLOCK + 1, rows)):
                for column in range(j * SHADOW_BLOCK, min((j + 1) * SHADOW_BLOCK + 1, columns)):
                    low = min(low, shadows.heights[row, column])
                    high = max(high, shadows.heights[row, column])
            shadows.lowest[i, j], shadows.highest[i, j] = low, high
            shadows.standing[i, j] = high


def render_actor_shadows(
    shadows: ShadowMap, things: PlacedThings, meshes: PackedMeshes, first: int
) -> None:
    """Draw the shadows of the things from `first` on, so that they can be taken out again."""
    render_shadows(shadows, things, meshes, first, len(things.mesh), True, np.empty((4, 3)))


@compiled
def remove_actor_shadows(shadows: ShadowMap) -> None:
    """Undo what `render_shadows` has kept."""
    columns = shadows.heights.shape[1]
    for n in range(shadows.changes[0] - 1, -1, -1):
        at = shadows.changed[n]
        shadows.heights[at // columns, at % columns] = shadows.before[n]
    shadows.changes[0] = 0
    for i in range(len(shadows.highest)):
        for j in range(shadows.highest.shape[1]):
            shadows.highest[i, j] = shadows.standing[i, j]


@compiled
def render_shadows(
    shadows: ShadowMap,
    things: PlacedThings,
    meshes: PackedMeshes,
    first: int,
    last: int,
    keep: bool,
    work: Floats,
) -> None:
    """Draw the sides of things that look away from the light; `keep` allows to undo it.

    Args:
        shadows: to draw into.
        things: placed.
        meshes: of all things.
        first: of the things to draw.
        last: the one after them.
        keep: whether to note what was there before.
        work: (8, 3) room for a face.
    """
    kx, ky = shadows.slant
    for thing in range(first, last):
        mesh = things.mesh[thing]
        centre, matrix = things.centre[thing], things.matrix[thing]
        start, closed = meshes.first_vertex[mesh], meshes.closed[mesh]
        for index in range(meshes.first_face[mesh], meshes.first_face[mesh + 1]):
            count = 3 if meshes.faces[index, 3] < 0 else 4
            area = 0.0
            for k in range(count):
                a, b, c = meshes.vertices[start + meshes.faces[index, k]]
                x = centre[0] + matrix[0, 0] * a + matrix[0, 1] * b + matrix[0, 2] * c
                y = centre[1] + matrix[1, 0] * a + matrix[1, 1] * b + matrix[1, 2] * c
                z = centre[2] + matrix[2, 0] * a + matrix[2, 1] * b + matrix[2, 2] * c
                work[k, 0] = (x - z * kx - shadows.x) / shadows.cell
                work[k, 1] = (y - z * ky - shadows.y) / shadows.cell
                work[k, 2] = z
            for k in range(count):
                after = k + 1 if k + 1 < count else 0
                area += work[k, 0] * work[after, 1] - work[after, 0] * work[k, 1]
            # no area, an endless one, or none that is known
            if not 1e-9 <= abs(area) < 1e12 or (closed and area > 0):
                continue
            _fill_face(shadows, work, count, keep)


@compiled
def _fill_face(shadows: ShadowMap, face: Floats, count: int, keep: bool) -> None:
    """Raise the cells that a face touches to the height that it has over their middles."""
    heights = shadows.heights
    rows, columns = heights.shape
    low, high, bottom, top = face[0, 1], face[0, 1], face[0, 2], face[0, 2]
    for k in range(1, count):
        low, high = min(low, face[k, 1]), max(high, face[k, 1])
        bottom, top = min(bottom, face[k, 2]), max(top, face[k, 2])
    # the plane: height over column and row
    ax, ay, az = face[1, 0] - face[0, 0], face[1, 1] - face[0, 1], face[1, 2] - face[0, 2]
    bx, by, bz = face[2, 0] - face[0, 0], face[2, 1] - face[0, 1], face[2, 2] - face[0, 2]
    turn = ax * by - ay * bx
    by_column, by_row = 0.0, 0.0
    if abs(turn) > 1e-9:
        by_column, by_row = (az * by - ay * bz) / turn, (ax * bz - az * bx) / turn
    for row in range(max(int(low), 0), min(int(high), rows - 1) + 1):
        # the columns that the face spans between the two edges of the row
        left, right = 1e30, -1e30
        for k in range(count):
            after = k + 1 if k + 1 < count else 0
            x0, y0, x1, y1 = face[k, 0], face[k, 1], face[after, 0], face[after, 1]
            if y0 > y1:
                x0, y0, x1, y1 = x1, y1, x0, y0
            if y1 < row or y0 > row + 1:
                continue
            from_y, to_y = max(y0, float(row)), min(y1, row + 1.0)
            rise = (x1 - x0) / (y1 - y0) if y1 > y0 else 0.0
            one, other = x0 + (from_y - y0) * rise, x0 + (to_y - y0) * rise
            if y1 == y0:
                one, other = x0, x1
            left, right = min(left, one, other), max(right, one, other)
        for column in range(max(int(left), 0), min(int(right), columns - 1) + 1):
            height = face[0, 2] + (column + 0.5 - face[0, 0]) * by_column
            height += (row + 0.5 - face[0, 1]) * by_row
            height = min(max(height, bottom), top)
            if height > heights[row, column]:
                if keep:
                    n = shadows.changes[0]
                    if n >= len(shadows.changed):
                        return
                    shadows.changed[n] = row * columns + column
                    shadows.before[n] = heights[row, column]
                    shadows.changes[0] = n + 1
                    _raise_blocks(shadows, row, column, height)
                heights[row, column] = height


@compiled
def _raise_blocks(shadows: ShadowMap, row: int, column: int, height: float) -> None:
    """Raise the highest of the blocks that a cell lies in or next to."""
    i, j = row // SHADOW_BLOCK, column // SHADOW_BLOCK
    for block_row in range(i - 1 if row % SHADOW_BLOCK == 0 and i > 0 else i, i + 1):
        for block in range(j - 1 if column % SHADOW_BLOCK == 0 and j > 0 else j, j + 1):
            shadows.highest[block_row, block] = max(shadows.highest[block_row, block], height)


@compiled
def shade_run(shadows: ShadowMap, first: int, last: int, buffers: PaintBuffers) -> None:
    """Take the light that throws shadows from where it does not get to.

    Args:
        shadows: of standing things and of actors.
        first: of the rows.
        last: the row after them.
        buffers: the pixels of a column; changed in place.
    """
    if _find_even_shadows(shadows, first, last, buffers) == 0:
        return
    # the pixels at edges of shadows, one after another
    count = 0
    for row in range(first, last):
        buffers.other[count] = row
        count += buffers.place[row]
    _find_shares_at_edges(shadows, count, buffers)
    for n in range(count):
        buffers.shone[buffers.other[n]] *= buffers.across[n]


@vectorised
def _find_even_shadows(
    shadows: ShadowMap, first: int, last: int, buffers: PaintBuffers
) -> np.int32:
    """Take the light from pixels where the blocks of shadows decide.

    Light reaches what is above the highest of a block, and nothing below its lowest. Writes to
    `buffers.place` which pixels are left, and returns how many.
    """
    rows, columns = shadows.heights.shape
    across = np.int32(shadows.highest.shape[1])
    size = shadows.highest.shape[0] * shadows.highest.shape[1]
    highest, lowest = shadows.highest.reshape(size), shadows.lowest.reshape(size)
    slant_x, slant_y = shadows.slant[0], shadows.slant[1]
    block = np.int32(SHADOW_BLOCK)
    left = np.int32(0)
    for row in range(ROW(first), ROW(last)):
        x, y, z = buffers.x[row], buffers.y[row], buffers.z[row]
        u = (x - z * slant_x - shadows.x) / shadows.cell - 0.5
        v = (y - z * slant_y - shadows.y) / shadows.cell - 0.5
        inside = (u >= 0) & (u < columns - 1) & (v >= 0) & (v < rows - 1)
        u, v = u if inside else 0.0, v if inside else 0.0
        at = np.int32(v) // block * across + np.int32(u) // block
        over = z + LIFT
        lit = over >= highest[at]
        dark = (over < lowest[at]) & inside & (not lit)
        unsure = inside & (not lit) & (not dark) & (buffers.shone[row] > 0)
        buffers.shone[row] = ZERO if dark else buffers.shone[row]
        buffers.place[row] = np.int32(unsure)
        left += np.int32(unsure)
    return left


@vectorised
def _find_shares_at_edges(shadows: ShadowMap, count: int, buffers: PaintBuffers) -> None:
    """Write to `across` how much of the light reaches the pixels listed in `other`, from 0 to 1.

    The share is that of the four cells round a point which do not take the light.
    """
    columns = np.int32(shadows.heights.shape[1])
    heights = shadows.heights.reshape(shadows.heights.size)
    slant_x, slant_y = shadows.slant[0], shadows.slant[1]
    for n in range(count):
        row = buffers.other[n]
        x, y, z = buffers.x[row], buffers.y[row], buffers.z[row]
        u = (x - z * slant_x - shadows.x) / shadows.cell - 0.5
        v = (y - z * slant_y - shadows.y) / shadows.cell - 0.5
        i, j = np.int32(v), np.int32(u)
        at = i * columns + j
        beyond = at + columns
        over = z + LIFT
        u, v = u - j, v - i
        share = (1 - u) * (1 - v) if heights[at] <= over else 0.0
        share += u * (1 - v) if heights[at + 1] <= over else 0.0
        share += (1 - u) * v if heights[beyond] <= over else 0.0
        share += u * v if heights[beyond + 1] <= over else 0.0
        buffers.across[n] = share
