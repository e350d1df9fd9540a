"""The height of the ground: lane surfaces on a grid, smooth terrain between, decks above.

Where lanes cross more than 3 m above others, the higher ones become a deck in the upper layer and
the lower layer keeps the road beneath. The deck reaches a little beyond the crossing, where both
layers hold it, so that a vehicle that drives onto it passes from one layer to the other unawares.
"""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.arrays import Bytes, Float32s, Floats, Ints
from harness.carlite.compiled import allocating, compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import LaneKind, TownGround, TownLanes
from harness.carlite.towns.patches import mark_junction_gaps
from harness.carlite.towns.terrain import fill_terrain

CELL = 0.5
BORDER = 30.0
MOST_POINTS = 4_000_000
CLEARANCE = 3.0
BRIDGE_END = 3.0
EDGE = 0.35
"""How far lane surfaces reach beyond their edges and ends, to close gaps between neighbours."""

LABELS = {
    LaneKind.DRIVING: SemanticLabel.ROAD,
    LaneKind.SHOULDER: SemanticLabel.ROAD,
    LaneKind.PARKING: SemanticLabel.ROAD,
    LaneKind.BIKING: SemanticLabel.ROAD,
    LaneKind.SIDEWALK: SemanticLabel.SIDEWALK,
    LaneKind.OTHER: SemanticLabel.TERRAIN,
}
RANK = {SemanticLabel.TERRAIN: 0, SemanticLabel.SIDEWALK: 1, SemanticLabel.ROAD: 2}
"""Where surfaces overlap, the higher rank gives its label."""


def build_ground(lanes: TownLanes) -> TownGround:
    """Return the ground under and around the lanes."""
    # a grid round all lanes, coarser for large towns
    reach = float(lanes.width.max()) / 2 + EDGE
    low = lanes.points[:, :2].min(axis=0) - BORDER - reach
    size = lanes.points[:, :2].max(axis=0) + BORDER + reach - low
    cell = CELL * max(1, math.ceil(math.sqrt(size[0] * size[1] / MOST_POINTS) / CELL))
    x, y = (float(v) for v in np.floor(low / cell) * cell)
    shape = (math.ceil(size[1] / cell) + 2, math.ceil(size[0] / cell) + 2)
    segments = _list_lane_segments(lanes)
    # (rows, columns): where decks lie over each other, surfaces are two layers
    bottom, top = _find_surface_levels(x, y, cell, shape, *segments[:-1])
    inner, outer = _compute_deck_thresholds(bottom, top, cell)
    # heights and what lies there; the highest rank wins
    lower, upper, rank = _average_surfaces(x, y, cell, inner, outer, *segments)
    rank[mark_junction_gaps(lanes, np.isnan(bottom), x=x, y=y, cell=cell)] = RANK[
        SemanticLabel.ROAD
    ]
    # ranks to labels
    labels = np.array([int(label) for label in sorted(RANK, key=RANK.__getitem__)], np.uint8)
    return TownGround(
        x=x,
        y=y,
        cell=cell,
        lower=fill_terrain(lower),
        upper=_expand_layer(upper),
        label=labels[rank],
    )


def _list_lane_segments(lanes: TownLanes) -> tuple[Ints, Floats, Floats, Bytes]:
    """Return point index, points, half widths and rank of every lane segment to be drawn."""
    lane = np.repeat(np.arange(len(lanes.first)), lanes.count)
    start = np.flatnonzero((lane[:-1] == lane[1:]) & (lanes.width[:-1] + lanes.width[1:] > 0.02))
    rank_of_kind = np.array([RANK[LABELS[kind]] for kind in LaneKind], np.uint8)
    rank = rank_of_kind[lanes.kind[lane[start]]]
    return start, np.ascontiguousarray(lanes.points), lanes.width / 2, rank


@compiled
def _compute_segment_cover(
    k: int, start: Ints, points: Floats, half: Floats, column: int, row: int, grid: Floats
) -> tuple[float, float]:
    """Return (weight, height) that segment `k` gives a grid point; weight 0 if it is not on it."""
    x0, y0, cell = grid
    ax, ay, az = points[start[k]]
    bx, by, bz = points[start[k] + 1]
    dx, dy = bx - ax, by - ay
    square = dx * dx + dy * dy
    px, py = x0 + column * cell - ax, y0 + row * cell - ay
    # along the segment, 0 to 1, and a little beyond its ends
    t = (px * dx + py * dy) / square
    beyond = EDGE / math.sqrt(square)
    if t < -beyond or t > 1.0 + beyond:
        return 0.0, 0.0
    # across it, 0 to 1 from the middle to the edge
    inside = min(max(t, 0.0), 1.0)
    reach = half[start[k]] + inside * (half[start[k] + 1] - half[start[k]]) + EDGE
    aside = abs(dx * py - dy * px) / math.sqrt(square) / reach
    if aside > 1.0:
        return 0.0, 0.0
    # heavier in the middle; light beyond the ends
    weight = 1.0 - aside * aside + 1e-3
    return (weight if inside == t else weight * 1e-2), az + t * (bz - az)


@compiled
def _find_segment_range(
    k: int, start: Ints, points: Floats, half: Floats, grid: Floats, shape: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Return the range of columns and rows that segment `k` may touch."""
    x0, y0, cell = grid
    # points: (points, 3); half: (points,) half widths; both ends with their reach
    a, b = points[start[k]], points[start[k] + 1]
    reach = max(half[start[k]], half[start[k] + 1]) + 2 * EDGE
    left = max(int((min(a[0], b[0]) - reach - x0) / cell), 0)
    right = min(int((max(a[0], b[0]) + reach - x0) / cell) + 1, shape[1] - 1)
    near = max(int((min(a[1], b[1]) - reach - y0) / cell), 0)
    far = min(int((max(a[1], b[1]) + reach - y0) / cell) + 1, shape[0] - 1)
    return left, right, near, far


@allocating
def _find_surface_levels(
    x: float,
    y: float,
    cell: float,
    shape: tuple[int, int],
    start: Ints,
    points: Floats,
    half: Floats,
) -> tuple[Floats, Floats]:
    """Return the lowest and highest lane surface at each grid point, NaN where there is none."""
    grid = np.array([x, y, cell])
    # (rows, columns)
    bottom, top = np.full(shape, np.nan), np.full(shape, np.nan)
    for k in range(len(start)):
        left, right, near, far = _find_segment_range(k, start, points, half, grid, shape)
        for row in range(near, far + 1):
            for column in range(left, right + 1):
                weight, z = _compute_segment_cover(k, start, points, half, column, row, grid)
                if weight > 0.0:
                    if not bottom[row, column] <= z:
                        bottom[row, column] = z
                    if not top[row, column] >= z:
                        top[row, column] = z
    return bottom, top


@allocating
def _average_surfaces(
    x: float,
    y: float,
    cell: float,
    inner: Floats,
    outer: Floats,
    start: Ints,
    points: Floats,
    half: Floats,
    rank: Bytes,
) -> tuple[Floats, Floats, Bytes]:
    """Average the lane surfaces of each layer, NaN where it has none; rank the lower label."""
    # two layers: below and above a bridge
    grid = np.array([x, y, cell])
    shape = inner.shape
    sums, weights = np.zeros((2, *shape)), np.zeros((2, *shape))
    ranks = np.zeros(shape, np.uint8)
    for k in range(len(start)):
        left, right, near, far = _find_segment_range(k, start, points, half, grid, shape)
        for row in range(near, far + 1):
            for column in range(left, right + 1):
                # a weighted mean of all segments that cover a grid point
                weight, z = _compute_segment_cover(k, start, points, half, column, row, grid)
                if weight == 0.0:
                    continue
                if z > outer[row, column]:
                    sums[1, row, column] += weight * z
                    weights[1, row, column] += weight
                if not z > inner[row, column]:
                    sums[0, row, column] += weight * z
                    weights[0, row, column] += weight
                    ranks[row, column] = max(ranks[row, column], rank[k])
    layers = sums / weights
    return layers[0], layers[1], ranks


def _compute_deck_thresholds(bottom: Floats, top: Floats, cell: float) -> tuple[Floats, Floats]:
    """Return the height above which a lane is a deck: near crossings, and a little farther out.

    NaN where no lane is.
    """
    middle = np.where(top - bottom > CLEARANCE, (top + bottom) / 2, np.nan)
    if np.isnan(middle).all():
        return middle, middle
    reach = math.ceil(BRIDGE_END / cell)
    return _spread_maximum(middle, reach), _spread_maximum(middle, reach + 2)


def _spread_maximum(values: Floats, reach: int) -> Floats:
    """Give every point the highest value within a square around it."""
    for axis in (0, 1):
        spread = values.copy()
        for shift in range(1, reach + 1):
            source, target = np.swapaxes(values, 0, axis), np.swapaxes(spread, 0, axis)
            target[:-shift] = np.fmax(target[:-shift], source[shift:])
            target[shift:] = np.fmax(target[shift:], source[:-shift])
        values = spread
    return values


def _expand_layer(layer: Floats) -> Float32s:
    """Grow a layer by one grid point, so that bilinear patches at its rim are complete."""
    if np.isnan(layer).all():
        return layer.astype(np.float32)
    padded = np.pad(layer, 1, constant_values=np.nan)
    rows, columns = layer.shape
    offsets = [(j, i) for j in range(3) for i in range(3) if (j, i) != (1, 1)]
    around = np.stack([padded[j : j + rows, i : i + columns] for j, i in offsets])
    rim = np.isnan(layer) & ~np.isnan(around).all(axis=0)
    widened = layer.copy()
    widened[rim] = np.nanmean(around[:, rim], axis=0)
    return widened.astype(np.float32)
