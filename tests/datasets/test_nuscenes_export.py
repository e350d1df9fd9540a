"""nuScenes' tables: links between rows, and boxes, points and cameras by its public definitions."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.datasets.export import export_dataset
from harness.datasets.mirrored import compute_quaternion, mirror_pose
from harness.types.vocabulary import Floats, Pose
from tests.datasets.pictured import YAWS, write_pictured_recording
from tests.training.made_up import LOOKERS, MOMENTS, boxes_in_world, look_of

Tables = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    write_pictured_recording(tmp_path / "recorded")
    export_dataset(tmp_path / "recorded", tmp_path / "out", "nuscenes")
    return tmp_path / "out"


def read_tables(exported: Path) -> Tables:
    """Return all tables by name, with rows by token."""
    return {
        file.stem: {row["token"]: row for row in json.loads(file.read_text())}
        for file in (exported / "v1.0-crucible").glob("[!.]*.json")
    }


def turn_by(quaternion: list[float]) -> Floats:
    """Return (3, 3) of w x y z, by the formula."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_every_token_leads_to_a_row(exported: Path) -> None:
    tables = read_tables(exported)
    assert len(tables) == 13
    assert len(tables["scene"]) == len(LOOKERS)
    assert len(tables["sample"]) == MOMENTS * len(LOOKERS)
    assert len(tables["sample_data"]) == len(tables["sample"]) * (1 + len(YAWS))
    links = {
        "sample_token": "sample",
        "scene_token": "scene",
        "log_token": "log",
        "ego_pose_token": "ego_pose",
        "calibrated_sensor_token": "calibrated_sensor",
        "sensor_token": "sensor",
        "instance_token": "instance",
        "category_token": "category",
    }
    for name, rows in tables.items():
        for row in rows.values():
            for key, other in links.items():
                assert key not in row or row[key] in tables[other], (name, key)
            for way in ("prev", "next"):
                assert not row.get(way) or row[way] in rows
            if "filename" in row:
                assert (exported / row["filename"]).is_file()
    # a chain has all rows of a road user
    for instance in tables["instance"].values():
        token, count = instance["first_annotation_token"], 0
        while token:
            count, last = count + 1, token
            token = tables["sample_annotation"][token]["next"]
        assert (count, last) == (instance["nbr_annotations"], instance["last_annotation_token"])


def test_points_and_boxes_by_the_chain_of_frames(exported: Path) -> None:
    tables = read_tables(exported)
    sensors = {
        row["token"]
        for row in tables["calibrated_sensor"].values()
        if tables["sensor"][row["sensor_token"]]["channel"] == "LIDAR_TOP"
    }
    sweeps = [r for r in tables["sample_data"].values() if r["calibrated_sensor_token"] in sensors]
    assert len(sweeps) == MOMENTS * len(LOOKERS)
    true = boxes_in_world().geometry
    for sweep in sweeps:
        points = np.fromfile(exported / sweep["filename"], "<f4").reshape(-1, 5)
        mount = tables["calibrated_sensor"][sweep["calibrated_sensor_token"]]
        carrier = tables["ego_pose"][sweep["ego_pose_token"]]
        places = points[:, :3].astype(float)
        for frame in (mount, carrier):
            places = places @ turn_by(frame["rotation"]).T + frame["translation"]
        # the world is mirrored: y to the left
        agent = int(Path(sweep["filename"]).name.split("__")[0])
        look = look_of(agent, round(sweep["timestamp"] / 1e6), boxes_in_world())
        stands = mirror_pose(LOOKERS[agent])
        ours = look.points_in_lidar[:, :3] * [1, -1, 1] @ stands[:3, :3].T + stands[:3, 3]
        assert np.abs(places - ours).max() < 0.01
        rows = [
            row
            for row in tables["sample_annotation"].values()
            if row["sample_token"] == sweep["sample_token"]
        ]
        assert len(rows) == len(true)
        for row, (x, y, z, length, width, height, yaw) in zip(rows, true, strict=True):
            assert row["translation"] == pytest.approx([x, -y, z], abs=2e-3)
            assert row["size"] == pytest.approx([width, length, height], abs=1e-3)
            ahead = turn_by(row["rotation"])[:, 0]
            turned = math.atan2(ahead[1], ahead[0]) + yaw
            assert math.remainder(turned, math.tau) == pytest.approx(0.0, abs=2e-3)
            assert row["num_lidar_pts"] == 60


def test_lidar_looks_as_theirs(exported: Path) -> None:
    # x to the right, y ahead, and intensities to 255
    file = next((exported / "samples/made-up/LIDAR_TOP").glob("7__0*"))
    stored = np.fromfile(file, "<f4").reshape(-1, 5)
    points = look_of(7, 0, boxes_in_world()).points_in_lidar
    assert np.abs(stored[:, :3] - points[:, [1, 0, 2]]).max() < 0.01
    assert stored[:, 3] == pytest.approx(127.5, abs=0.1)


def test_the_same_command_adds_scenarios(exported: Path) -> None:
    write_pictured_recording(exported.parent / "recorded", "second")
    export_dataset(exported.parent / "recorded", exported, "nuscenes")
    tables = read_tables(exported)
    assert len(tables["scene"]) == 2 * len(LOOKERS)
    assert len(tables["category"]) == 3
    assert len(tables["map"]) == 1


@pytest.mark.parametrize("yaw", [0.0, 1.0, math.pi, -2.5])
def test_quaternions_turn_as_their_matrix(yaw: float) -> None:
    matrix = mirror_pose(Pose(1.0, 2.0, 3.0, yaw=yaw, pitch=0.2, roll=-0.1))
    assert turn_by(compute_quaternion(matrix)) == pytest.approx(matrix[:3, :3], abs=1e-9)
