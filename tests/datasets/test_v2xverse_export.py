"""V2Xverse's layout, read by the steps of its public data set class written out here."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crucible.commandline import start_subcommand as main
from harness.common.errors import UserError
from harness.datasets.export import export_dataset
from harness.types.geometry import build_pose_matrix
from tests.datasets.pictured import make_images, write_pictured_recording
from tests.training.made_up import LOOKERS, MOMENTS, boxes_in_world, look_of, write_recording

ROUTE = "weather-0/data/routes_town05_made-up_w0"


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    write_pictured_recording(tmp_path / "recorded")
    export_dataset(tmp_path / "recorded", tmp_path / "out", "v2xverse")
    return tmp_path / "out"


def test_index_and_folders(exported: Path) -> None:
    assert (exported / "dataset_index.txt").read_text().split() == [f"{ROUTE}/", "3", "2"]
    names = {path.name for path in (exported / ROUTE).iterdir() if path.is_dir()}
    assert names == {"ego_vehicle_0", "ego_vehicle_1", "rsu_1000", "rsu_1001"}
    # their unit changes after as many frames as it has files: it has one for all frames
    assert len(list((exported / ROUTE / "rsu_1000/measurements").iterdir())) == MOMENTS


def test_points_lie_on_a_level_frame_above_the_road(exported: Path) -> None:
    agent, folder = 9, "ego_vehicle_1"  # its LiDAR is tilted
    look = look_of(agent, 0, boxes_in_world())
    measured = json.loads((exported / ROUTE / folder / "measurements/0000.json").read_text())
    stored = np.load(exported / ROUTE / folder / "lidar/0000.npy")
    # as the class reads them: turned, lifted, placed by lidar_pose and theta
    seen = np.column_stack([stored[:, 1], -stored[:, 0], stored[:, 2] + measured["lidar_pose_z"]])
    yaw = measured["theta"] - math.pi / 2
    x = measured["lidar_pose_x"] + seen[:, 0] * math.cos(yaw) - seen[:, 1] * math.sin(yaw)
    y = measured["lidar_pose_y"] + seen[:, 0] * math.sin(yaw) + seen[:, 1] * math.cos(yaw)
    true = look.points_in_lidar[:, :3] @ build_pose_matrix(LOOKERS[agent])[:3, :3].T
    true += [LOOKERS[agent].x, LOOKERS[agent].y, LOOKERS[agent].z]
    # heights of the recording are of the world; the road under this car is where its mount has it
    road = true[:, 2] - seen[:, 2]
    assert np.abs(np.column_stack([x, y]) - true[:, :2]).max() < 0.01  # points have 4 mm
    assert np.ptp(road) < 0.01


def test_road_users_have_class_place_and_direction(exported: Path) -> None:
    actors = json.loads((exported / ROUTE / "ego_vehicle_0/actors_data/0000.json").read_text())
    boxes = boxes_in_world()
    assert [actors[str(20 + n)]["tpe"] for n in range(6)] == [0, 0, 1, 1, 3, 3]
    for number, (x, y, _, length, width, height, yaw) in enumerate(boxes.geometry.tolist()):
        known = actors[str(20 + number)]
        assert known["loc"][:2] == pytest.approx([x, y], abs=1e-3)
        assert known["box"] == pytest.approx([length / 2, width / 2, height / 2], abs=1e-3)
        turned = math.atan2(known["ori"][1], known["ori"][0]) - yaw
        assert math.remainder(turned, math.tau) == pytest.approx(0.0, abs=1e-3)
        assert known["lidar_visible"] == 1


def test_a_right_angle_can_be_divided_by(tmp_path: Path) -> None:
    write_recording(tmp_path / "recorded", "testing")
    export_dataset(tmp_path / "recorded", tmp_path / "out", "v2xverse")
    for file in (tmp_path / "out").glob("**/actors_data/*.json"):
        assert all(actor["ori"][0] != 0 for actor in json.loads(file.read_text()).values())
    # no cameras: the class opens pictures all the same
    with Image.open(tmp_path / "out" / ROUTE / "ego_vehicle_0/rgb_left/0002.jpg") as shown:
        assert not np.asarray(shown).any()


def test_extrinsics_are_of_the_mounted_lidar(exported: Path) -> None:
    measured = json.loads((exported / ROUTE / "ego_vehicle_0/measurements/0000.json").read_text())
    known = {image.name: image for image in make_images(7, 0)}
    for name, image in known.items():
        matrix = np.array(measured[f"camera_{name}_extrinsics"])
        # the mounted LiDAR looks to the left: our x is its y, our y its -x
        pose = image.camera_in_lidar
        assert matrix[:3, 3] == pytest.approx([-pose.y, pose.x, pose.z], abs=1e-6)
        ahead = matrix[:3, 0]
        assert math.atan2(-ahead[0], ahead[1]) == pytest.approx(
            math.remainder(pose.yaw, math.tau), abs=1e-6
        )


def test_split_chooses_the_town(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recording(tmp_path / "recorded", "testing")
    source, out = str(tmp_path / "recorded"), tmp_path / "out"
    command = ["export-dataset", "--format", "v2xverse", "--split", "validate", source, str(out)]
    assert main(command) == 0
    assert (out / "weather-0/data/routes_town07_made-up_w0").is_dir()
    assert main([*command[:2], "opv2v", *command[3:]]) == 2
    assert "--split: of --format v2xverse only" in capsys.readouterr().err


def test_names_with_a_town_are_refused(tmp_path: Path) -> None:
    write_recording(tmp_path / "recorded", "testing", name="at-town03")
    with pytest.raises(UserError, match="finds the town by 'town03' in paths"):
        export_dataset(tmp_path / "recorded", tmp_path / "out", "v2xverse")


def test_a_scenario_without_unit_has_an_empty_one(tmp_path: Path) -> None:
    write_recording(tmp_path / "recorded", "testing")
    for file in (tmp_path / "recorded/made-up/-1").iterdir():
        file.unlink()
    (tmp_path / "recorded/made-up/-1").rmdir()
    export_dataset(tmp_path / "recorded", tmp_path / "out", "v2xverse")
    assert list((tmp_path / "out" / ROUTE / "rsu_1000").iterdir()) == [
        tmp_path / "out" / ROUTE / "rsu_1000/measurements"
    ]
