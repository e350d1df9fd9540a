"""What LiDARs saw, where a campaign kept it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from analysis.drive import WORLD, Drive, Moment, pose_of
from harness.geometry import points_between
from harness.records.points import sweeps
from harness.vocabulary import Pose, Singles

Sweeps: TypeAlias = Mapping[tuple[int, str], Singles]
"""By frame and sender, each in the frame of its LiDAR."""


def sweeps_of(drive: Drive) -> Sweeps:
    """Return everybody's sweeps; none where none were kept."""
    kept = (drive.folder / "points.parquet").exists()
    return sweeps(drive.folder) if kept else {}


def in_world(moment: Moment, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z in the world of what somebody's LiDAR saw at one moment."""
    return seen_from(WORLD, moment, sender, kept)


def in_ego_lidar(moment: Moment, sender: str, kept: Sweeps) -> Singles:
    """Return the same in the frame of the ego's LiDAR."""
    return seen_from(moment.lidar_in_world, moment, sender, kept)


def seen_from(pose: Pose, moment: Moment, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z as seen from a pose in the world."""
    points = kept.get((int(moment.state["frame"]), sender))
    own = moment.poses[moment.poses["sender"].astype(str) == sender]
    if points is None or own.empty:
        return np.zeros((0, 3), np.float32)
    return points_between(points, pose_of(own.iloc[0], "true_"), pose)[:, :3]
