"""Rays of neighbouring columns over the ground, side by side: a lane for each column.

A ray begins where the one below it ended, so that the rays of one column wait for one another.
Those of neighbouring columns do not. A step takes one ray of every lane, in loops of vector
instructions. It finds nearly all of them: those that meet level country or the very triangle where
they come close to the ground. The others are traced one by one (`ray_march`).

Both compute a hit with the same arithmetic: pictures do not depend on which of them found it.
Positions are in grid units: column, row, and metres up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import allocating, compiled, vectorised
from harness.carlite.sensors.ray_march import NEAREST, trace_ray
from harness.carlite.sensors.relief import BLOCK, GroundRelief

LANES = 32
HIDDEN, ENDED, SEARCHED, HIT, LONG = 0, 1, 2, 3, 4
"""What became of a lane's ray: it is hidden from its beginning on; nothing is met before its end;
it is not known yet; it meets the ground; it has to be traced cell by cell."""
WITHIN = 1e-6
"""Cells, or metres, by which a place must lie on one side of a border to be sure of it."""


class RayLanes(NamedTuple):
    """Rays of neighbouring columns; all (LANES,), positions in grid units and metres.

    Attributes:
        out_x, out_y, out_z, up_x, up_y, up_z: a ray is `out + slope * up`.
        start: where the next ray begins, as a parameter.
        known: inverse distance of what is drawn.
        x, y, z: the present ray.
        end, begin: the parameters of its end, and of where it is below the highest ground.
        hit: the parameter where it comes close to the ground, then where it meets it.
        across, along: the place where it comes close.
        row, column: of the cell there.
        lid, lid_x, lid_y: of the block where the ray begins, as in the relief.
        west, east, front, back: the borders of the level country round the block, or its own.
        corner, right, left, opposite: heights at the corners of the cell.
        i, j: row and column of the block.
        span: of the block.
        cell: number of the cell.
        state: HIDDEN and so on.
    """

    out_x: Floats
    out_y: Floats
    out_z: Floats
    up_x: Floats
    up_y: Floats
    up_z: Floats
    start: Floats
    known: Floats
    x: Floats
    y: Floats
    z: Floats
    end: Floats
    begin: Floats
    hit: Floats
    across: Floats
    along: Floats
    row: Floats
    column: Floats
    lid: Floats
    lid_x: Floats
    lid_y: Floats
    west: Floats
    east: Floats
    front: Floats
    back: Floats
    corner: Floats
    right: Floats
    left: Floats
    opposite: Floats
    i: Int32s
    j: Int32s
    span: Int32s
    cell: Int32s
    state: Int32s


@allocating
def make_ray_lanes() -> RayLanes:
    """Return lanes without rays."""
    a, b = np.zeros((29, LANES)), np.zeros((5, LANES), np.int32)
    return RayLanes(
        a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
        a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25], a[26],
        a[27], a[28], b[0], b[1], b[2], b[3], b[4],
    )  # fmt: skip


@compiled
def trace_lanes(
    relief: GroundRelief,
    lanes: RayLanes,
    x: float,
    y: float,
    z: float,
    slopes: Floats,
    shared: bool,
    nearness: Floats,
    source: Int32s,
    mark: int,
) -> None:
    """Find the ground along the rays of some columns, nearer than what is drawn.

    Args:
        relief: the ground.
        lanes: with what the columns' rays are made of.
        x: of the sensor, in columns of the grid.
        y: in rows.
        z: m.
        slopes: (rays,) that the columns share.
        shared: whether a ray meets the ground no nearer than the one before, so that it may
            begin where that one ended.
        nearness: (columns, rays) 1 / parameter of what is drawn; changed in place.
        source: (columns, rays) what is drawn; changed in place.
        mark: what the ground is called in `source`.
    """
    columns = len(nearness)
    for lane in range(LANES):
        # lanes without a column see nothing
        lanes.start[lane] = 0.0 if lane < columns else np.inf
        lanes.known[lane], lanes.i[lane] = 1.0, -1
    for ray in range(len(slopes)):
        for lane in range(columns):
            lanes.known[lane] = nearness[lane, ray]
            if not shared:
                lanes.start[lane] = 0.0
        searched, rising, moved = _aim_rays(relief, lanes, x, y, z, slopes[ray])
        # rays above ones that rise from above the highest ground do so, too
        if shared and rising == LANES:
            break
        if searched == 0:
            _end_idle_rays(lanes)
            continue
        if moved > 0:
            _read_lids(relief, lanes)
        if _approach_lids(relief, lanes, x, y, z) > 0:
            _read_corners(relief, lanes)
            _meet_triangles(lanes, z)
        if _end_rays(lanes) > 0:
            _trace_long_rays(relief, lanes, x, y, z)
        for lane in range(columns):
            if lanes.state[lane] == HIT:
                nearness[lane, ray], source[lane, ray] = lanes.known[lane], mark


@vectorised
def _aim_rays(
    relief: GroundRelief, lanes: RayLanes, x: float, y: float, z: float, slope: float
) -> tuple[int, int, int]:
    """Write the next rays, where they begin, and over which block.

    Returns:
        How many lanes search on; how many rays rise from above the highest ground or are none;
        how many begin over another block than the ones before.
    """
    top = relief.top
    last_row, last_column = float(relief.heights.shape[0] - 1), float(relief.heights.shape[1] - 1)
    last_i, last_j = float(relief.span.shape[0] - 1), float(relief.span.shape[1] - 1)
    searched, rising, moved = 0, 0, 0
    for k in range(LANES):
        dx = lanes.out_x[k] + slope * lanes.up_x[k]
        dy = lanes.out_y[k] + slope * lanes.up_y[k]
        dz = lanes.out_z[k] + slope * lanes.up_z[k]
        start, known = lanes.start[k], lanes.known[k]
        stop = 1 / known
        to_top = (top - z) / dz
        height = z + start * dz
        t = to_top if height > top else start
        px, py = x + t * dx, y + t * dy
        over = (px >= 0) & (px <= last_column) & (py >= 0) & (py <= last_row)
        state = SEARCHED if over else LONG
        state = ENDED if (t >= stop) | ((height > top) & (dz >= 0)) else state
        state = HIDDEN if known * start >= 1 else state
        i, j = py / BLOCK, px / BLOCK
        i = i if i > 0 else 0.0
        j = j if j > 0 else 0.0
        i = i if i < last_i else last_i
        j = j if j < last_j else last_j
        lanes.x[k], lanes.y[k], lanes.z[k], lanes.end[k], lanes.begin[k] = dx, dy, dz, stop, t
        moved += (lanes.i[k] != np.int32(i)) | (lanes.j[k] != np.int32(j))
        lanes.i[k], lanes.j[k] = np.int32(i), np.int32(j)
        lanes.state[k] = np.int32(state)
        searched += state >= SEARCHED
        rises = (dz >= 0) & (lanes.up_z[k] > 0) & (height > top + WITHIN)
        rising += rises | (start == np.inf)
    return searched, rising, moved


@vectorised
def _end_idle_rays(lanes: RayLanes) -> None:
    """Write where the next rays begin if no lane searches."""
    for k in range(LANES):
        lanes.start[k] = lanes.end[k] if lanes.state[k] == ENDED else lanes.start[k]


@vectorised
def _read_lids(relief: GroundRelief, lanes: RayLanes) -> None:
    """Write the lids of blocks, and the borders within which they hold."""
    rows, columns = relief.span.shape
    lids, spans = relief.lid.reshape(rows * columns * 3), relief.span.reshape(rows * columns)
    for k in range(LANES):
        at = 3 * (lanes.i[k] * columns + lanes.j[k])
        lanes.lid[k], lanes.lid_x[k], lanes.lid_y[k] = lids[at], lids[at + 1], lids[at + 2]
    for k in range(LANES):
        lanes.span[k] = spans[lanes.i[k] * columns + lanes.j[k]]
    last_i, last_j = np.int32(rows - 1), np.int32(columns - 1)
    most_x, most_y = np.int32(relief.heights.shape[1] - 1), np.int32(relief.heights.shape[0] - 1)
    zero, one, size = np.int32(0), np.int32(1), np.int32(BLOCK)
    for k in range(LANES):
        # a level block is as wide as the level country round it
        i, j, reach = lanes.i[k], lanes.j[k], max(lanes.span[k] - one, zero)
        lanes.west[k], lanes.front[k] = max(j - reach, zero) * size, max(i - reach, zero) * size
        lanes.east[k] = min((min(j + reach, last_j) + one) * size, most_x)
        lanes.back[k] = min((min(i + reach, last_i) + one) * size, most_y)


@vectorised
def _approach_lids(relief: GroundRelief, lanes: RayLanes, x: float, y: float, z: float) -> int:
    """Write where rays fall below the planes over their blocks, and over which cell.

    Level country is its own lid. Returns how many rays are to be met with triangles.
    """
    columns = np.int32(relief.heights.shape[1])
    last_row, last_column = np.int32(relief.heights.shape[0] - 2), columns - np.int32(2)
    sloping = 0
    for k in range(LANES):
        west, east, front, back = lanes.west[k], lanes.east[k], lanes.front[k], lanes.back[k]
        dx, dy, last, t = lanes.x[k], lanes.y[k], lanes.end[k], lanes.begin[k]
        above = z - lanes.lid[k] - lanes.lid_x[k] * x - lanes.lid_y[k] * y
        fall = lanes.z[k] - lanes.lid_x[k] * dx - lanes.lid_y[k] * dy
        way = -above / fall
        way = way if fall < 0 else np.inf
        near = way if above + t * fall > 0 else t
        px, py = x + near * dx, y + near * dy
        inside = (near <= last) & (px >= west) & (px <= east) & (py >= front) & (py <= back)
        # a ray that ends in the block before it comes close meets nothing
        end_x, end_y = x + last * dx, y + last * dy
        ends = (end_x > west + WITHIN) & (end_x < east - WITHIN) & (near > last)
        ends = ends & (end_y > front + WITHIN) & (end_y < back - WITHIN)
        state = ENDED if ends else LONG
        level = lanes.span[k] > 0
        state = (HIT if level else SEARCHED) if inside else state
        state = state if lanes.state[k] == SEARCHED else lanes.state[k]
        lanes.state[k] = np.int32(state)
        sloping += state == SEARCHED
        lanes.hit[k], lanes.across[k], lanes.along[k] = near, px, py
        px = px if inside else 0.0
        py = py if inside else 0.0
        row, column = min(np.int32(py), last_row), min(np.int32(px), last_column)
        lanes.row[k], lanes.column[k] = float(row), float(column)
        lanes.cell[k] = row * columns + column
    return sloping


@vectorised
def _read_corners(relief: GroundRelief, lanes: RayLanes) -> None:
    rows, columns = relief.heights.shape
    heights = relief.heights.reshape(rows * columns)
    for k in range(LANES):
        at = lanes.cell[k]
        lanes.corner[k], lanes.right[k] = heights[at], heights[at + 1]
    for k in range(LANES):
        at = lanes.cell[k] + columns
        lanes.left[k], lanes.opposite[k] = heights[at], heights[at + 1]


@vectorised
def _meet_triangles(lanes: RayLanes, z: float) -> None:
    """Add how far rays go to meet the triangles that they are above, as `_find_facet_hit` does."""
    for k in range(LANES):
        u, v = lanes.across[k] - lanes.column[k], lanes.along[k] - lanes.row[k]
        dx, dy, dz, near = lanes.x[k], lanes.y[k], lanes.z[k], lanes.hit[k]
        corner, right = lanes.corner[k], lanes.right[k]
        left, opposite = lanes.left[k], lanes.opposite[k]
        # which of the cell's two triangles, and its slope along both sides
        lower = u >= v
        rise_u = (right if lower else opposite) - (corner if lower else left)
        rise_v = (opposite if lower else left) - (right if lower else corner)
        above = z + near * dz - corner - u * rise_u - v * rise_v
        fall = dz - rise_u * dx - rise_v * dy
        way = -above / fall
        u_hit, v_hit = u + way * dx, v + way * dy
        outside = (lower != (u_hit >= v_hit)) | (u_hit < 0) | (u_hit > 1)
        outside = outside | (v_hit < 0) | (v_hit > 1) | (fall >= 0)
        way = np.inf if outside else way
        way = 0.0 if above <= 0 else way
        met = near + way
        searched = lanes.state[k] == SEARCHED
        state = HIT if met <= lanes.end[k] else LONG
        lanes.state[k] = np.int32(state if searched else lanes.state[k])
        lanes.hit[k] = met if searched else near


@vectorised
def _end_rays(lanes: RayLanes) -> int:
    """Write what is known now and where the next rays begin; return how many rays are long."""
    long = 0
    for k in range(LANES):
        state, hit = lanes.state[k], lanes.hit[k]
        inverse = 1 / max(hit, NEAREST)
        lanes.known[k] = inverse if state == HIT else lanes.known[k]
        start = lanes.end[k] if state == ENDED else lanes.start[k]
        lanes.start[k] = hit if state == HIT else start
        long += state == LONG
    return long


@compiled
def _trace_long_rays(relief: GroundRelief, lanes: RayLanes, x: float, y: float, z: float) -> None:
    for lane in range(LANES):
        if lanes.state[lane] == LONG:
            hit, lanes.start[lane] = trace_ray(
                relief, x, y, z, lanes.x[lane], lanes.y[lane], lanes.z[lane],
                lanes.start[lane], lanes.end[lane],
            )  # fmt: skip
            if hit < np.inf:
                lanes.known[lane], lanes.state[lane] = 1 / max(hit, NEAREST), HIT
