"""Ages in metres: speeds of made-up vehicles are met, and sums equal those of a slow loop."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.collection import CampaignCollection, collect_campaigns
from analysis.tables.staleness import (
    AGE,
    EGO_MOVED,
    EGO_SPEED,
    VEHICLE_SPEED,
    VEHICLES_MOVED,
    build_staleness_table,
    compute_vehicle_speeds,
)
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Floats, Pose
from tests.analysis import again

STEP = 0.2


def test_vehicles_have_their_speeds_though_the_ego_moves_turns_and_tilts() -> None:
    frames = pd.DataFrame({"frame": range(0, 40, 4), "time": np.arange(10) * STEP})
    ego = [
        Pose(3.0 * n, 0.4 * n, 1.9, yaw=0.2 * n, pitch=0.02 * n, roll=-0.01 * n) for n in range(10)
    ]
    poses = pd.DataFrame(
        [
            {
                "frame": frame,
                "sender": "ego",
                **{f"true_{part}": getattr(pose, part) for part in POSE_PARTS},
            }
            for frame, pose in zip(frames["frame"], ego, strict=True)
        ]
    )
    # actor 7 drives 8 m/s along x and is not seen at step 4; actor 3 stands
    rows = []
    for number, pose in enumerate(ego):
        places = {3: (5.0, 9.0, 0.7), 7: (8.0 * STEP * number, -4.0, 0.7)}
        for actor, place in places.items():
            if (actor, number) != (7, 4):
                inverse = np.linalg.inv(build_pose_matrix(pose))
                x, y, z, _ = inverse @ [*place, 1.0]
                row = {"frame": 4 * number, "actor_id": actor, "x": x, "y": y, "z": z}
                rows.append(row)
    speeds = compute_vehicle_speeds(pd.DataFrame(rows), frames, poses)
    # nine steps back to the one before, less the two on either side of the gap
    assert len(speeds) == 9 + 7
    moving = speeds[speeds["speed"] > 1.0]
    assert moving["speed"].to_numpy() == pytest.approx(8.0)
    assert set(moving["frame"]) == set(range(4, 40, 4)) - {16, 20}
    assert speeds["speed"].min() == pytest.approx(0.0, abs=1e-9)


POSE_PARTS = ("x", "y", "z", "yaw", "pitch", "roll")


@pytest.fixture
def collection(little: Path) -> CampaignCollection:
    return collect_campaigns([little])


def test_its_numbers_are_those_of_a_slow_loop(little: Path, collection: CampaignCollection) -> None:
    table = build_staleness_table(collection)
    cells = dict(table.list_rows())
    arms: dict[tuple[str, str], list[again.Attempt]] = {}
    for attempt in again.attempts(little):
        arms.setdefault((attempt.system, attempt.condition), []).append(attempt)
    assert set(cells) == set(arms)
    for arm, attempts in arms.items():
        for measure, expected in slow_measures(attempts).items():
            value = cells[arm][measure].value
            assert value == pytest.approx(expected, rel=1e-9, nan_ok=True), (arm, measure)


def slow_measures(attempts: list[again.Attempt]) -> dict[str, float]:
    """Return the measures of an arm, vehicle by vehicle and step by step."""
    speeds, ages, moved, vehicles, vehicles_moved = [], [], [], [], []
    for attempt in attempts:
        frames = attempt.table("frames").to_dict("records")
        boxes: dict[int, list[dict[Any, Any]]] = {}
        for box in attempt.table("boxes").to_dict("records"):
            boxes.setdefault(box["frame"], []).append(box)
        places = {
            row["frame"]: row
            for row in attempt.table("poses").to_dict("records")
            if row["sender"] == "ego"
        }
        before: dict[int, Floats] = {}
        for number, frame in enumerate(frames):
            speeds.append(frame["speed"])
            heard = math.isfinite(frame["oldest_age"])
            if heard:
                ages.append(frame["oldest_age"])
                moved.append(frame["oldest_age"] * frame["speed"])
            row = places[frame["frame"]]
            matrix = build_pose_matrix(Pose(*(row[f"true_{part}"] for part in POSE_PARTS)))
            now = {}
            for box in boxes.get(frame["frame"], []):
                if (box["source"], box["class"], box["counted"]) == ("truth", "vehicle", True):
                    now[box["actor_id"]] = (matrix @ [box["x"], box["y"], box["z"], 1.0])[:3]
            for actor in set(now) & set(before):
                seconds = frame["time"] - frames[number - 1]["time"]
                speed = math.dist(now[actor], before[actor]) / seconds
                vehicles.append(speed)
                vehicles_moved += [frame["oldest_age"] * speed] if heard else []
            before = now
    return {
        AGE: again.mean(ages),
        EGO_SPEED: again.mean(speeds),
        EGO_MOVED: again.mean(moved),
        VEHICLE_SPEED: again.mean(vehicles),
        VEHICLES_MOVED: again.mean(vehicles_moved),
    }
