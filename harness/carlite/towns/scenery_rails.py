"""Guard rails along bridges."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import LaneKind, TownGround, TownLanes
from harness.carlite.towns.scenery_frontage import compute_right_edge, find_outermost_lanes
from harness.carlite.towns.scenery_pieces import SceneryPiece, SceneryPieces

HALF_HEIGHT, HALF_WIDTH = 0.5, 0.08
LONGEST = 3.0
DROP = 2.0
"""A rail is needed where the ground below lies this much lower."""


def build_bridge_rails(pieces: SceneryPieces, lanes: TownLanes, ground: TownGround) -> None:
    """Rail off the edges of decks, where a sidewalk or shoulder keeps the traffic away."""
    for lane in find_outermost_lanes(lanes):
        if lanes.kind[lane] in {LaneKind.DRIVING, LaneKind.OTHER}:
            continue
        # (samples,) whether the ground lies far below
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        high = _is_bridge(ground, *lanes.points[span].T)
        edge, height = compute_right_edge(lanes, lane), lanes.points[span, 2]
        start = 0
        # straight pieces between samples on the bridge
        for k in range(1, len(edge)):
            if not (high[start] and high[k]):
                start = k
                continue
            (x0, y0), (x1, y1) = edge[start], edge[k]
            length = math.hypot(x1 - x0, y1 - y0)
            # long enough, or the end of the lane: a rail outside of the edge
            if length > LONGEST or k == len(edge) - 1:
                yaw, level = math.atan2(y1 - y0, x1 - x0), float(height[start] + height[k]) / 2
                x = (x0 + x1) / 2 + HALF_WIDTH * math.sin(yaw)
                y = (y0 + y1) / 2 - HALF_WIDTH * math.cos(yaw)
                half = (length / 2, HALF_WIDTH, HALF_HEIGHT)
                pieces.add(
                    SceneryPiece(
                        float(x), float(y), yaw, half, label=SemanticLabel.GUARD_RAIL, level=level
                    )
                )
                start = k


def _is_bridge(ground: TownGround, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return which points lie on a deck with air below it."""
    column = np.rint((x - ground.x) / ground.cell).astype(int)
    row = np.rint((y - ground.y) / ground.cell).astype(int)
    deck, below = ground.upper[row, column], ground.lower[row, column]
    on_deck = np.abs(np.nan_to_num(deck, nan=np.inf) - z) < 0.3
    return np.asarray(on_deck & (z - below > DROP))
