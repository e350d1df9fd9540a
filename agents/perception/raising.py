"""What is done to points before encoding: heights that do not depend on how high a LiDAR stands,
and an order that favours none.
"""

from __future__ import annotations

import numpy as np

from agents.perception.designs import Level
from harness.vocabulary import Boxes, Pose, Singles

NEAR = 20.0
"""Metres round a LiDAR in which the road is looked for."""

LOW_SHARE = 20
"""Percent of the returns near by that are no higher than the road."""


def height_above(level: Level, points_in_lidar: Singles, lidar_in_world: Pose) -> float:
    """Return how high a LiDAR stands: above the world's zero as believed, or the road it sees."""
    if level == "world":
        return lidar_in_world.z
    near = np.abs(points_in_lidar[:, :2]).max(axis=1, initial=0.0) < NEAR
    heights = points_in_lidar[near, 2]
    return float(-np.percentile(heights, LOW_SHARE)) if len(heights) else 0.0


def raised_points(points_in_lidar: Singles, height: float) -> Singles:
    """Return points whose z is told from the level that networks work with, shuffled.

    A sweep comes channel by channel; in a crowded pillar, where only the first points count, those
    would all be from the top or all from below.
    """
    order = np.random.default_rng(0).permutation(len(points_in_lidar))
    raised = points_in_lidar[order]
    raised[:, 2] += np.float32(height)
    return raised


def lowered_boxes(raised_boxes: Boxes, height: float) -> Boxes:
    """Return boxes in the LiDAR's own frame."""
    geometry = raised_boxes.geometry.copy()
    geometry[:, 2] -= height
    return Boxes(geometry, raised_boxes.classes, raised_boxes.scores)
