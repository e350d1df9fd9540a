"""One attempt from its records: all road users at every planning step, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_table, read_result, read_violation_place
from analysis.cases import describe_violation, format_attempt_title
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Floats, Pose

WORLD = Pose(0.0, 0.0)
GEOMETRY = ["x", "y", "z", "length", "width", "height", "yaw"]
TURNS = ("x", "y", "z", "yaw", "pitch", "roll")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecordedDrive:
    """An attempt; tables are those of its records.

    Attributes:
        frames: a row for each planning step.
        place: metres in the world.
    """

    key: AttemptKey
    folder: Path
    frames: pd.DataFrame
    boxes: pd.DataFrame
    poses: pd.DataFrame
    messages: pd.DataFrame
    events: pd.DataFrame
    map: pd.DataFrame
    tracks: pd.DataFrame
    actors: pd.DataFrame
    sightings: pd.DataFrame
    scenery: pd.DataFrame
    end: float  # s: the violation, or when it was over
    what: str  # the end in a few words
    violated: bool
    place: tuple[float, float]  # of the violation; NaN for none
    other: int  # actor that was hit; 0 for none
    reads_messages: bool = True  # false: partners stand for ground truth alone, and are not shown

    @property
    def times(self) -> Floats:
        """When its planning steps were, s."""
        return self.frames["time"].to_numpy(np.float64)

    @property
    def title(self) -> str:
        """Which attempt it is."""
        return format_attempt_title(self.key)

    @property
    def ending(self) -> str:
        """What its end is called."""
        return "the violation" if self.violated else "the end"

    def find_step_row(self, time: float) -> int:
        """Return the last planning step until then, or the first there is."""
        return max(int(np.searchsorted(self.times, time + 1e-6)) - 1, 0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DriveSnapshot:
    """One planning step."""

    time: float  # s
    before: float  # s before the end
    state: pd.Series  # its row of frames
    boxes: pd.DataFrame  # with `world_x`, `world_y`, `world_z` and `world_yaw`
    poses: pd.DataFrame
    lidar_in_world: Pose  # the ego's


def read_recorded_drive(campaign: CampaignRecords, key: AttemptKey) -> RecordedDrive | None:
    """Return an attempt from its records; None if it ended before the first step.

    Args:
        campaign: its records.
        key: a finished attempt.
    """
    frames = read_checked_table(campaign, "frames", key)
    if frames.empty:
        return None
    row = read_result(campaign, key)
    place, other = (
        read_violation_place(campaign, key) if row["violated"] else ((math.nan, math.nan), 0)
    )
    return RecordedDrive(
        key=key,
        folder=campaign.get_result_path(key).parent,
        frames=frames,
        boxes=read_checked_table(campaign, "boxes", key),
        poses=read_checked_table(campaign, "poses", key),
        messages=read_checked_table(campaign, "messages", key),
        events=read_checked_table(campaign, "events", key),
        map=read_checked_table(campaign, "map", key),
        tracks=read_checked_table(campaign, "tracks", key),
        actors=read_checked_table(campaign, "actors", key),
        sightings=read_checked_table(campaign, "sightings", key),
        scenery=read_checked_table(campaign, "scenery", key),
        end=row["violation_time" if row["violated"] else "duration"],
        what=describe_drive_ending(row),
        violated=row["violated"],
        place=place,
        other=other,
        reads_messages=bool(row["reads_messages"]),
    )


def describe_drive_ending(row: Mapping[str, Any]) -> str:
    """Return how a drive ended, in a few words."""
    if not row["violated"]:
        return f"no violation, over after {row['duration']:.1f} s"
    other, stood = row["violation_with"], row["ego_stationary"]
    return describe_violation(row["violation"], other, row["violation_time"], stood)


def build_snapshot(drive: RecordedDrive, row: int) -> DriveSnapshot:
    """Return a planning step by its row in frames.

    Args:
        drive: the recorded attempt.
        row: of `frames`.

    Returns:
        The step with its boxes in the world.
    """
    # rows of all tables at the step's frame
    state = drive.frames.iloc[row]
    poses = drive.poses[drive.poses["frame"] == state["frame"]]
    here = drive.boxes[drive.boxes["frame"] == state["frame"]]
    ego = poses[poses["kind"].astype(str) == "ego"]
    # where the ego's LiDAR truly was; the vehicle's pose for records without it
    lidar = (
        get_recorded_pose(state, "ego_") if ego.empty else get_recorded_pose(ego.iloc[0], "true_")
    )
    # (boxes, 7) from the LiDAR's frame to the world
    in_world = transform_boxes(build_recorded_boxes(here), lidar, WORLD).geometry
    names = ("world_x", "world_y", "world_z")
    places = {name: in_world[:, axis] for axis, name in enumerate(names)}
    boxes = here.assign(**places, world_yaw=in_world[:, 6])
    time = float(state["time"])
    return DriveSnapshot(
        time=time,
        before=drive.end - time,
        state=state,
        boxes=boxes,
        poses=poses if drive.reads_messages else ego,
        lidar_in_world=lidar,
    )


def build_recorded_boxes(rows: pd.DataFrame) -> Boxes:
    """Return recorded boxes without their classes.

    Args:
        rows: of `boxes`.

    Returns:
        N boxes in the ego's LiDAR frame; all are of class 0.
    """
    return Boxes(
        rows[GEOMETRY].to_numpy(np.float64),
        np.zeros(len(rows), np.int64),
        rows["score"].to_numpy(np.float64),
    )


def get_recorded_pose(row: pd.Series, prefix: str) -> Pose:
    """Return a recorded pose.

    Args:
        row: with columns x, y, z (m), yaw, pitch and roll (rad).
        prefix: of these columns.
    """
    return Pose(*(float(row[f"{prefix}{name}"]) for name in TURNS))
