"""A made-up street of points for several agents, the same everywhere."""

from __future__ import annotations

import numpy as np

from agents.perception.grid import PillarGrid
from harness.common.randomness import make_named_stream
from harness.types.geometry import compute_relative_pose
from harness.types.vocabulary import Pose, Singles

EGO = Pose(0.0, 0.0)
PARTNERS = (Pose(7.3, 2.1, yaw=0.4), Pose(-5.2, -1.7, yaw=-2.3))
"""Where partners stand, as the ego sees it."""


def cloud(grid: PillarGrid, lidar_in_ego: Pose, points: int, name: str) -> Singles:
    """Return a sweep (N, 4): road, and clusters that all agents share; heights are raised."""
    chance = make_named_stream(7, "scene", name)
    around = chance.uniform(-1.2, 1.2, (points // 2, 2)) * grid.high[:2]
    road = np.column_stack([around, chance.normal(0.0, 0.02, len(around))])
    shared = make_named_stream(7, "scene")
    centres = shared.uniform(-1.0, 1.0, (12, 2)) * grid.high[:2]
    which = chance.integers(0, len(centres), points - len(road))
    spread = chance.uniform(-1.0, 1.0, (len(which), 3)) * [1.2, 0.6, 0.8] + [0.0, 0.0, 0.9]
    stuff = spread + np.column_stack([centres[which], np.zeros(len(which))])
    ego_in_lidar = compute_relative_pose(EGO, lidar_in_ego)
    cos, sin = np.cos(ego_in_lidar.yaw), np.sin(ego_in_lidar.yaw)
    stuff[:, :2] = stuff[:, :2] @ [[cos, sin], [-sin, cos]] + [ego_in_lidar.x, ego_in_lidar.y]
    xyz = np.concatenate([road, stuff])
    return np.column_stack([xyz, chance.uniform(0.0, 1.0, len(xyz))]).astype(np.float32)
