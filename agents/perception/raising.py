"""Preprocessing of points: heights that do not depend on how high a LiDAR stands, and an order that
does not depend on its channels.
"""

from __future__ import annotations

import numpy as np

from agents.perception.designs import HeightReference
from agents.perception.grid import Grid
from harness.vocabulary import Boxes, Pose, Singles

NEAR = 20.0
"""Metres round a LiDAR in which the height of the road is estimated."""

LOW_SHARE = 20
"""Percent of the returns near by that are no higher than the road."""


def height_above(
    reference: HeightReference, points_in_lidar: Singles, lidar_in_world: Pose
) -> float:
    """Return how high a LiDAR stands: above the world's zero as believed, or the road it sees."""
    if reference == "world":
        return lidar_in_world.z
    near = np.abs(points_in_lidar[:, :2]).max(axis=1, initial=0.0) < NEAR
    heights = points_in_lidar[near, 2]
    return float(-np.percentile(heights, LOW_SHARE)) if len(heights) else 0.0


def raised_points(points_in_lidar: Singles, height: float, grid: Grid) -> Singles:
    """Return the points in a network's window, z above its zero of heights, shuffled.

    A sweep comes channel by channel; in a crowded pillar, where only the first points count, those
    would all be from the top or all from below. The order depends on how many points are shuffled:
    those outside the window, which no network sees, are left out before.
    """
    raised = points_in_lidar + np.array([0.0, 0.0, height, 0.0], np.float32)
    low, high = np.array(grid.low, np.float32), np.array(grid.high, np.float32)
    raised = raised[((raised[:, :3] >= low) & (raised[:, :3] < high)).all(axis=1)]
    shuffled: Singles = raised[np.random.default_rng(0).permutation(len(raised))]
    return shuffled


def lowered_boxes(raised_boxes: Boxes, height: float) -> Boxes:
    """Return boxes in the LiDAR's own frame."""
    geometry = raised_boxes.geometry.copy()
    geometry[:, 2] -= height
    return Boxes(geometry, raised_boxes.classes, raised_boxes.scores)
