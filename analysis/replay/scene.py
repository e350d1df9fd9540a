"""What viewers show of a drive: its boxes, its map's lines, and the LiDAR sweeps that were kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from analysis.drive import WORLD, Drive, Snapshot, pose_of
from analysis.figures.birds_eye import polylines
from harness.geometry import points_between
from harness.records.points import sweeps
from harness.viewing.scene import LINES
from harness.vocabulary import CLASSES, PATTERNS, Floats, Pose, Singles

CONTROLS = ("throttle", "brake", "steer")


def boxes_shown(snapshots: Sequence[Snapshot], source: str) -> tuple[pd.DataFrame, list[int]]:
    """Return the boxes of one source at all moments, and how many each has.

    All true ones, but only detections that count.
    """
    parts = []
    for snapshot in snapshots:
        of_source = snapshot.boxes["source"].astype(str) == source
        parts.append(
            snapshot.boxes[
                of_source if source == "truth" else of_source & snapshot.boxes["counted"]
            ]
        )
    return pd.concat(parts), [len(part) for part in parts]


def lines_of(drive: Drive) -> dict[str, list[Floats]]:
    """Return the lines of the map and the ego's way, as rows of x, y, z in the world."""
    way = drive.frames[["ego_x", "ego_y", "ego_z"]].to_numpy(np.float64)
    kinds = [kind for kind in LINES if kind != "way"]
    return {**{kind: polylines(drive.map, kind) for kind in kinds}, "way": [way]}


def errors_by_class(state: pd.Series) -> dict[str, float]:
    """Return how many errors a planning step has, by class."""
    return {
        kind: float(sum(state[f"{pattern}_{kind}"] for pattern in PATTERNS)) for kind in CLASSES
    }


def ages(messages: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return when messages were delivered and how old they were then."""
    heard = messages[messages["delivered_time"].notna()].sort_values(
        "delivered_time", kind="stable"
    )
    return heard["delivered_time"].to_numpy(np.float64), rounded(heard["age_measured"])


def displacements(messages: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return when messages were captured and how far off their sender believed to be."""
    away = np.hypot(messages["measured_x"].to_numpy(float), messages["measured_y"].to_numpy(float))
    return messages["capture_time"].to_numpy(np.float64), rounded(away)


def rounded(values: Floats | pd.Series) -> Floats:
    """Return numbers without the last bits of clocks and poses, which no curve should show."""
    return np.asarray(values, np.float64).round(6)


Sweeps: TypeAlias = Mapping[tuple[int, str], Singles]
"""By frame and sender, each in the frame of its LiDAR."""


def sweeps_of(drive: Drive) -> Sweeps:
    """Return the sweeps of all agents; empty where none were recorded."""
    kept = os.path.lexists(drive.folder / "points.parquet")
    return sweeps(drive.folder) if kept else {}


def in_world(snapshot: Snapshot, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z in the world of one agent's sweep."""
    return seen_from(WORLD, snapshot, sender, kept)


def in_ego_lidar(snapshot: Snapshot, sender: str, kept: Sweeps) -> Singles:
    """Return the same in the frame of the ego's LiDAR."""
    return seen_from(snapshot.lidar_in_world, snapshot, sender, kept)


def seen_from(pose: Pose, snapshot: Snapshot, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z as seen from a pose in the world."""
    points = kept.get((int(snapshot.state["frame"]), sender))
    poses = snapshot.poses[snapshot.poses["sender"].astype(str) == sender]
    if points is None or poses.empty:
        return np.zeros((0, 3), np.float32)
    return points_between(points, pose_of(poses.iloc[0], "true_"), pose)[:, :3]
