"""Preprocessing of points: heights that do not depend on how high a LiDAR stands, and an order that
does not depend on its channels.
"""

from __future__ import annotations

import numba
import numpy as np

from agents.perception.designs import HeightReference
from agents.perception.grid import PillarGrid
from harness.types.vocabulary import Boxes, Pose, Singles

NEAR = 20.0
"""Metres round a LiDAR in which the height of the road is estimated."""

LOW_SHARE = 20
"""Percent of the returns near by that are no higher than the road."""


def estimate_lidar_height(
    reference: HeightReference, points_in_lidar: Singles, lidar_in_world: Pose
) -> float:
    """Return how high a LiDAR stands: above the world's zero as believed, or the road it sees.

    Args:
        reference: `world` or `road`.
        points_in_lidar: (points, 4) in the LiDAR's frame.
        lidar_in_world: as the observer believes.

    Returns:
        Metres; 0 where no point is near.
    """
    if reference == "world":
        return lidar_in_world.z
    heights = select_near_heights(points_in_lidar, NEAR)
    return float(-np.percentile(heights, LOW_SHARE)) if len(heights) else 0.0


def raise_points(points_in_lidar: Singles, height: float, grid: PillarGrid) -> Singles:
    """Return the points in a network's window, z above its zero of heights.

    Where only the first points of a pillar count, they are shuffled: a sweep comes channel by
    channel, and those would all be from the top or all from below. The order depends on how many
    points are shuffled: those outside the window, which no network sees, are left out before.

    Args:
        points_in_lidar: (points, 4) x y z in metres, intensity.
        height: metres from the network's zero of heights up to the LiDAR.
        grid: the window.

    Returns:
        (points inside, 4)
    """
    low, high = np.array(grid.low, np.float32), np.array(grid.high, np.float32)
    raised: Singles = raise_and_crop_points(points_in_lidar, np.float32(height), low, high)
    if grid.points_per_pillar is None:
        return raised
    return raised[np.random.default_rng(0).permutation(len(raised))]


@numba.njit(cache=True, nogil=True)
def select_near_heights(points: Singles, reach: float) -> Singles:
    """Return the z of the points no farther along x and along y than this."""
    # points: (points, 4), x y z intensity; the buffer has room for all of them
    heights = np.empty(len(points), np.float32)
    count = 0
    for i in range(len(points)):
        if abs(points[i, 0]) < reach and abs(points[i, 1]) < reach:
            heights[count] = points[i, 2]
            count += 1
    return heights[:count]


@numba.njit(cache=True, nogil=True)
def raise_and_crop_points(
    points: Singles, height: np.float32, low: Singles, high: Singles
) -> Singles:
    """Return the points, raised, that lie in a window."""
    # points and raised: (points, 4), x y z intensity
    raised = np.empty_like(points)
    count = 0
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2] + height
        # the window is half open, as the grid's cells are
        if low[0] <= x < high[0] and low[1] <= y < high[1] and low[2] <= z < high[2]:
            raised[count, 0], raised[count, 1], raised[count, 2] = x, y, z
            raised[count, 3] = points[i, 3]
            count += 1
    return raised[:count]


def lower_boxes(raised_boxes: Boxes, height: float) -> Boxes:
    """Return boxes in the LiDAR's own frame.

    Args:
        raised_boxes: N boxes in the raised LiDAR frame.
        height: metres by which the frame was raised; a negative one raises.
    """
    geometry = raised_boxes.geometry.copy()
    geometry[:, 2] -= height
    return Boxes(geometry, raised_boxes.classes, raised_boxes.scores)
