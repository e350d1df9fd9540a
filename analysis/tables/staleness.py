"""The age of messages in metres: how far the ego and other vehicles move while a message ages.

The same age harms more at a higher speed. So the age stands next to both speeds: a drive of a slow
ego among fast vehicles is stale by what they move, one of a fast ego by what it moves.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.attempt import read_checked_columns, read_checked_table
from analysis.collection import CampaignCollection
from analysis.tables.table import EstimatesTable, estimate_cells, make_ratio_measure
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords, convert_to_dataframe
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Floats, Pose

AGE = "age, s"
EGO_SPEED, EGO_MOVED = "ego, m/s", "ego moved, m"
VEHICLE_SPEED, VEHICLES_MOVED = "vehicles, m/s", "vehicles moved, m"
BOX_COLUMNS = ["frame", "source", "class", "counted", "actor_id", "x", "y", "z"]
POSE_PARTS = ("x", "y", "z", "yaw", "pitch", "roll")


def build_staleness_table(collection: CampaignCollection) -> EstimatesTable:
    """Return age in seconds and metres, and speeds, by arm; it needs boxes and poses."""
    sums = [
        {
            "row": row,
            **sum_ego_motion(read_checked_table(campaign, "frames", key)),
            **sum_vehicle_motion(campaign, key),
        }
        for row, campaign, key in collection.iterate_attempts()
    ]
    arm = collection.factors
    attempts = collection.attempts.reset_index(drop=True)[[*arm, "cluster"]]
    joined = attempts.rename_axis("row").reset_index().merge(pd.DataFrame(sums), on="row")
    measures = {
        AGE: make_ratio_measure("age", "steps_heard"),
        EGO_SPEED: make_ratio_measure("ego_speed", "steps"),
        EGO_MOVED: make_ratio_measure("ego_moved", "steps_heard"),
        VEHICLE_SPEED: make_ratio_measure("vehicle_speed", "vehicles"),
        VEHICLES_MOVED: make_ratio_measure("vehicles_moved", "vehicles_heard"),
    }
    return EstimatesTable(
        name="staleness",
        title="Age of the oldest message at a planning step, what moved in that time, mean speeds",
        by=arm,
        cells=estimate_cells(joined, arm, measures),
        digits={AGE: 3, **dict.fromkeys((EGO_MOVED, VEHICLES_MOVED), 2)},
        arm=len(arm),
    )


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


def sum_vehicle_motion(campaign: CampaignRecords, key: AttemptKey) -> dict[str, float]:
    """Return an attempt's sums over vehicles at planning steps: speeds, and speeds times ages.

    Vehicles are those of the ground truth that counts; parked cars do not.
    """
    frames = read_checked_table(campaign, "frames", key)
    poses = read_checked_table(campaign, "poses", key)
    boxes = convert_to_dataframe(
        read_checked_columns(campaign, "boxes", key).select(list(BOX_COLUMNS))
    )
    vehicles = boxes[
        (boxes["source"].astype(str) == "truth")
        & (boxes["class"].astype(str) == "vehicle")
        & boxes["counted"]
    ]
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
        poses: true poses of LiDARs in the world, the ego's among them.

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
        poses: with the ego's LiDAR at each of these frames.
    """
    ego = poses[poses["sender"].astype(str) == "ego"].set_index("frame")
    columns = [f"true_{part}" for part in POSE_PARTS]
    # (4, 4) of each frame, from the LiDAR to the world
    matrices = {
        frame: build_pose_matrix(Pose(*values))
        for frame, *values in ego[columns].itertuples(name=None)
    }
    if not len(boxes):
        return np.zeros((0, 3))
    to_world = np.stack([matrices[frame] for frame in boxes["frame"]])
    centres = boxes[["x", "y", "z"]].to_numpy(np.float64)
    placed = np.einsum("nij,nj->ni", to_world[:, :3, :3], centres) + to_world[:, :3, 3]
    return np.asarray(placed)
