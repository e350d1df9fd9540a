"""The age of messages in metres: how far the ego and other vehicles move while a message ages.

The same age harms more at a higher speed. So the age stands next to both speeds: a drive of a slow
ego among fast vehicles is stale by what they move, one of a fast ego by what it moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from analysis.attempt import read_checked_columns, read_checked_table
from analysis.collection import CampaignCollection
from analysis.tables.table import (
    EstimatesTable,
    Measure,
    estimate_cells,
    make_known_ratio_measure,
    make_ratio_measure,
)
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords, convert_to_dataframe
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Floats, Pose

STALENESS = "staleness"
"""The name of the table."""
AGE = "age, s"
EGO_SPEED, EGO_MOVED = "ego speed, m/s", "ego moved, m"
PERCEPTION_AGE, PERCEPTION_MOVED = "perception, s", "ego moved since, m"
"""Of the perception of the ego, where that is late."""
VEHICLE_SPEED, VEHICLES_MOVED = "traffic speed, m/s", "vehicles moved, m"
PERCEPTION_SUMS = ("answered", "answer_age", "answer_moved")
"""In `crucible.messages` of a result."""
VEHICLE_SUMS = ("vehicles", "vehicle_speed", "vehicles_heard", "vehicles_moved")
SPEED_SUMS = ("steps", "ego_speed", "vehicles", "vehicle_speed")
"""Of an attempt: what its mean speeds are made of."""
MEAN_SPEEDS: Mapping[str, Measure] = {
    EGO_SPEED: make_known_ratio_measure("ego_speed", "steps"),
    VEHICLE_SPEED: make_known_ratio_measure("vehicle_speed", "vehicles"),
}
"""The mean speeds of the ego and of vehicles near it: see `sum_speeds`."""
BOX_COLUMNS = ["frame", "actor_id", "x", "y", "z"]
POSE_PARTS = ("x", "y", "z", "yaw", "pitch", "roll")


def build_staleness_table(collection: CampaignCollection) -> EstimatesTable:
    """Return age in seconds and metres, and speeds, by arm.

    What vehicles do needs boxes and poses: packed campaigns have no estimates of it.
    """
    sums = [
        {
            "row": row,
            **sum_ego_motion(frames),
            **sum_perception_ages(campaign.read_result(key)),
            **sum_vehicle_motion(campaign, key, frames),
        }
        for row, campaign, key in collection.iterate_attempts()
        for frames in [read_checked_table(campaign, "frames", key)]
    ]
    arm = collection.factors
    attempts = collection.attempts.reset_index(drop=True)[[*arm, "cluster"]]
    joined = attempts.rename_axis("row").reset_index().merge(pd.DataFrame(sums), on="row")
    perception = {
        PERCEPTION_AGE: make_ratio_measure("answer_age", "answered"),
        PERCEPTION_MOVED: make_ratio_measure("answer_moved", "answered"),
    }
    measures = {
        AGE: make_ratio_measure("age", "steps_heard"),
        EGO_SPEED: MEAN_SPEEDS[EGO_SPEED],
        EGO_MOVED: make_ratio_measure("ego_moved", "steps_heard"),
        VEHICLE_SPEED: MEAN_SPEEDS[VEHICLE_SPEED],
        VEHICLES_MOVED: make_known_ratio_measure("vehicles_moved", "vehicles_heard"),
        **(perception if joined["answered"].any() else {}),
    }
    return EstimatesTable(
        name=STALENESS,
        title="Age of the oldest message at a planning step, what moved in that time, mean speeds",
        by=arm,
        cells=estimate_cells(joined, arm, measures),
        digits={
            **dict.fromkeys((AGE, PERCEPTION_AGE), 3),
            **dict.fromkeys((EGO_MOVED, VEHICLES_MOVED, PERCEPTION_MOVED), 2),
        },
        arm=len(arm),
    )


def sum_speeds(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return an attempt's `SPEED_SUMS`: over planning steps, and over vehicles at planning steps.

    The ego's mean speed is that of its planning steps, standing included. The traffic's is that of
    the vehicles of the ground truth that counts, each since the planning step before, weighted by
    how long they are near the ego. NaN where a packed campaign lacks the boxes.

    Args:
        campaign: its records.
        key: of the attempt.
    """
    frames = read_checked_table(campaign, "frames", key)
    sums = sum_ego_motion(frames) | sum_vehicle_motion(campaign, key, frames)
    return {name: sums[name] for name in SPEED_SUMS}


def sum_ego_motion(frames: pd.DataFrame) -> dict[str, float]:
    """Return an attempt's sums over planning steps: ages, speeds, and their products."""
    heard = frames["oldest_age"].notna()  # NaN at steps without a message
    age, speed = frames.loc[heard, "oldest_age"], frames["speed"]
    return {
        "steps": float(len(frames)),
        "steps_heard": float(heard.sum()),
        "age": float(age.sum()),
        "ego_speed": float(speed.sum()),
        "ego_moved": float((age * speed[heard]).sum()),
    }


def sum_perception_ages(result: Mapping[str, Any]) -> dict[str, float]:
    """Return an attempt's sums over steps at which a late answer of the ego's perception acted.

    Args:
        result: of the attempt; without `own_latency` it has none of them.
    """
    messages = result["crucible"]["messages"]
    return {name: float(messages.get(name, 0.0)) for name in PERCEPTION_SUMS}


def sum_vehicle_motion(
    campaign: CampaignRecords, key: AttemptKey, frames: pd.DataFrame
) -> dict[str, float]:
    """Return an attempt's sums over vehicles at planning steps: speeds, and speeds times ages.

    Vehicles are those of the ground truth that counts; parked cars do not. A packed campaign has
    no boxes, and NaN.

    Args:
        campaign: its records.
        key: of the attempt.
        frames: its planning steps.
    """
    if campaign.packed:
        return dict.fromkeys(VEHICLE_SUMS, math.nan)
    # rows are selected before they become a DataFrame: most boxes are detections
    stored = read_checked_columns(campaign, "boxes", key)
    counted = pc.and_(pc.equal(stored["source"], "truth"), stored["counted"])
    chosen = pc.and_(counted, pc.equal(stored["class"], "vehicle"))
    vehicles = convert_to_dataframe(stored.filter(chosen).select(BOX_COLUMNS))
    places = read_checked_columns(campaign, "poses", key)
    poses = convert_to_dataframe(places.filter(pc.equal(places["sender"], "ego")))
    speeds = compute_vehicle_speeds(vehicles, frames, poses)
    ages = frames.set_index("frame")["oldest_age"]
    # (vehicles at steps,) seconds; NaN at steps without a message
    age = ages.reindex(speeds["frame"]).to_numpy(np.float64)
    speed = speeds["speed"].to_numpy(np.float64)
    heard = np.isfinite(age)
    return {
        "vehicles": float(len(speed)),
        "vehicle_speed": float(speed.sum()),
        "vehicles_heard": float(heard.sum()),
        "vehicles_moved": float((age[heard] * speed[heard]).sum()),
    }


def compute_vehicle_speeds(
    vehicles: pd.DataFrame, frames: pd.DataFrame, poses: pd.DataFrame
) -> pd.DataFrame:
    """Return the speed of each vehicle since the planning step before, where both steps have it.

    Args:
        vehicles: ground-truth boxes in the ego's LiDAR frame: frame, actor_id, x, y, z in metres.
        frames: planning steps, with frame and time in seconds.
        poses: true poses of the ego's LiDAR in the world.

    Returns:
        Columns frame and speed, m/s.
    """
    numbers = {frame: number for number, frame in enumerate(frames["frame"])}
    times = frames["time"].to_numpy(np.float64)
    known = vehicles[vehicles["frame"].isin(numbers)]
    step = known["frame"].map(numbers).to_numpy(np.int64)
    in_world = place_in_world(known, poses)
    # rows of one vehicle in the order of time; its steps are compared with the row before
    order = np.lexsort((step, known["actor_id"].to_numpy(np.int64)))
    actor = known["actor_id"].to_numpy(np.int64)[order]
    step, in_world = step[order], in_world[order]
    follows = (np.diff(actor) == 0) & (np.diff(step) == 1)
    moved = np.linalg.norm(np.diff(in_world, axis=0), axis=1)[follows]
    now = step[1:][follows]
    return pd.DataFrame(
        {
            "frame": frames["frame"].to_numpy(np.int64)[now],
            "speed": moved / (times[now] - times[now - 1]),
        }
    )


def place_in_world(boxes: pd.DataFrame, poses: pd.DataFrame) -> Floats:
    """Return the centres (N, 3) of boxes in the world, metres.

    Args:
        boxes: frame, x, y, z in the ego's LiDAR frame.
        poses: of the ego's LiDAR at each of these frames.
    """
    columns = [f"true_{part}" for part in POSE_PARTS]
    # (frames, 4, 4), from the LiDAR to the world; then (N, 4, 4), that of each box's frame
    matrices = np.array([build_pose_matrix(Pose(*values)) for values in poses[columns].to_numpy()])
    if not len(boxes):
        return np.zeros((0, 3))
    rows = {frame: row for row, frame in enumerate(poses["frame"])}
    to_world = matrices[boxes["frame"].map(rows).to_numpy(np.int64)]
    centres = boxes[["x", "y", "z"]].to_numpy(np.float64)
    placed = np.einsum("nij,nj->ni", to_world[:, :3, :3], centres) + to_world[:, :3, 3]
    return np.asarray(placed)
