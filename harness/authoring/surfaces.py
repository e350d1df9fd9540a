"""Which roads and junctions cover the same ground."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np

from harness.carlite.arrays import Floats, Ints
from harness.carlite.towns.model import LaneKind, TownLanes

CELL = 0.5
"""Metres of a square of ground."""
ABOVE = 3.0
"""Metres of height from which a road passes over another."""
SHARED = 2.0
"""Square metres that two may share by the rounding to squares."""
SURFACES = (LaneKind.DRIVING, LaneKind.PARKING, LaneKind.SHOULDER, LaneKind.SIDEWALK)

Overlaps = dict[tuple[str, str], tuple[float, float, float]]
"""By two names: a place (x, y) and the shared area in square metres."""


def find_surface_overlaps(lanes: TownLanes) -> Overlaps:
    """Return the pairs of roads and junctions that share ground but are not joined."""
    owner = _compute_lane_owners(lanes)
    joined = _find_joined_owners(lanes, owner)
    # (squares, 2) cells that lanes cover, sorted, with height and owner
    squares, heights, owners = _list_covered_squares(lanes, owner)
    shared: dict[tuple[int, int], list[int]] = defaultdict(list)
    # pairs of owners in one cell, at about the same height, that do not join
    ends = np.flatnonzero(np.any(np.diff(squares, axis=0), axis=1)) + 1
    for group in np.split(np.arange(len(squares)), ends):
        for a, b in combinations(group.tolist(), 2):
            pair = (int(owners[a]), int(owners[b]))
            if abs(heights[a] - heights[b]) < ABOVE and pair not in joined:
                shared[min(pair), max(pair)].append(a)
    return {
        (_format_owner(lanes, owner, a), _format_owner(lanes, owner, b)): (
            *(squares[places].mean(axis=0) * CELL).tolist(),
            len(places) * CELL**2,
        )
        for (a, b), places in shared.items()
        if len(places) * CELL**2 > SHARED
    }


def _compute_lane_owners(lanes: TownLanes) -> Ints:
    """Return for each lane the number of its junction, or of its road behind all junctions."""
    beyond = int(lanes.junction.max()) + 1
    return np.where(lanes.junction >= 0, lanes.junction, lanes.key[:, 0] + beyond).astype(np.int64)


def _find_joined_owners(lanes: TownLanes, owner: Ints) -> set[tuple[int, int]]:
    """Return the pairs of owners where a lane of one leads on to a lane of the other."""
    pairs = set()
    for lane in range(len(owner)):
        first, count = int(lanes.next_first[lane]), int(lanes.next_count[lane])
        for ahead in lanes.next[first : first + count].tolist():
            a, b = int(owner[lane]), int(owner[ahead])
            pairs |= {(a, b), (b, a)}
    return pairs


def _list_covered_squares(lanes: TownLanes, owner: Ints) -> tuple[Ints, Floats, Ints]:
    """Return the squares that lanes cover, once for each owner: where, how high, whose."""
    # (points, 9) places across each lane, and its squares
    lane = np.repeat(np.arange(len(lanes.first)), lanes.count)
    chosen = np.isin(lanes.kind[lane], SURFACES)
    points, yaw, width = lanes.points[chosen], lanes.yaw[chosen], lanes.width[chosen]
    across = np.linspace(-0.5, 0.5, 9)[None, :] * np.maximum(width - CELL, 0)[:, None]
    x = points[:, :1] - np.sin(yaw)[:, None] * across
    y = points[:, 1:2] + np.cos(yaw)[:, None] * across
    # (places, 3): square and owner, each pair once
    rows = np.column_stack(
        [
            np.round(x / CELL).ravel(),
            np.round(y / CELL).ravel(),
            np.repeat(owner[lane[chosen]], across.shape[1]),
        ]
    ).astype(np.int64)
    unique, at = np.unique(rows, axis=0, return_index=True)
    return unique[:, :2], np.repeat(points[:, 2], across.shape[1])[at], unique[:, 2]


def _format_owner(lanes: TownLanes, owner: Ints, number: int) -> str:
    lane = int(np.flatnonzero(owner == number)[0])
    inside = lanes.junction[lane] >= 0
    return f"junction {lanes.junction[lane]}" if inside else f"road {lanes.key[lane, 0]}"
