"""What viewers show of a drive: its boxes, its map's lines, and the LiDAR sweeps that were kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from analysis.drive import WORLD, DriveSnapshot, RecordedDrive, get_recorded_pose
from analysis.figures.birds_eye import extract_polylines
from harness.records.points import read_point_sweeps
from harness.types.geometry import transform_points
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CLASSES, Floats, Pose, Singles
from harness.viewing.scene import LINES

CONTROLS = ("throttle", "brake", "steer")


def select_source_boxes(
    snapshots: Sequence[DriveSnapshot], source: str
) -> tuple[pd.DataFrame, list[int]]:
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


def collect_map_lines(drive: RecordedDrive) -> dict[str, list[Floats]]:
    """Return the lines of the map and the ego's way, as rows of x, y, z in the world."""
    way = drive.frames[["ego_x", "ego_y", "ego_z"]].to_numpy(np.float64)
    kinds = [kind for kind in LINES if kind != "way"]
    return {**{kind: extract_polylines(drive.map, kind) for kind in kinds}, "way": [way]}


def count_errors_by_class(state: pd.Series) -> dict[str, float]:
    """Return how many errors a planning step has, by class."""
    return {
        kind: float(sum(state[f"{pattern}_{kind}"] for pattern in PATTERNS)) for kind in CLASSES
    }


def get_message_ages(messages: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return when messages were delivered and how old they were then."""
    heard = messages[messages["delivered_time"].notna()].sort_values(
        "delivered_time", kind="stable"
    )
    return heard["delivered_time"].to_numpy(np.float64), round_for_curves(heard["age_measured"])


def compute_message_displacements(messages: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return when messages were captured and how far off their sender believed to be."""
    away = np.hypot(messages["measured_x"].to_numpy(float), messages["measured_y"].to_numpy(float))
    return messages["capture_time"].to_numpy(np.float64), round_for_curves(away)


def round_for_curves(values: Floats | pd.Series) -> Floats:
    """Return numbers without the last bits of clocks and poses, which no curve should show."""
    return np.asarray(values, np.float64).round(6)


Sweeps: TypeAlias = Mapping[tuple[int, str], Singles]
"""By frame and sender, each in the frame of its LiDAR."""


def read_kept_sweeps(drive: RecordedDrive) -> Sweeps:
    """Return the sweeps of all agents; empty where none were recorded."""
    kept = os.path.lexists(drive.folder / "points.parquet")
    return read_point_sweeps(drive.folder) if kept else {}


def transform_sweep_to_world(snapshot: DriveSnapshot, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z in the world of one agent's sweep.

    Args:
        snapshot: the planning step.
        sender: of the sweep.
        kept: sweeps by frame and agent.

    Returns:
        (points, 3) m; none if the sweep was not kept.
    """
    return transform_sweep(WORLD, snapshot, sender, kept)


def transform_sweep_to_ego_lidar(snapshot: DriveSnapshot, sender: str, kept: Sweeps) -> Singles:
    """Return the same in the frame of the ego's LiDAR."""
    return transform_sweep(snapshot.lidar_in_world, snapshot, sender, kept)


def transform_sweep(pose: Pose, snapshot: DriveSnapshot, sender: str, kept: Sweeps) -> Singles:
    """Return rows of x, y, z as seen from a pose in the world."""
    points = kept.get((int(snapshot.state["frame"]), sender))
    poses = snapshot.poses[snapshot.poses["sender"].astype(str) == sender]
    if points is None or poses.empty:
        return np.zeros((0, 3), np.float32)
    return transform_points(points, get_recorded_pose(poses.iloc[0], "true_"), pose)[:, :3]
