"""What is seen of a drive: lanes one may be on, bodies that a LiDAR does not see."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any, cast

import carla
import numpy as np
import pytest

import harness.carlite.towns
from agents.perception.loading import FOLDER
from harness.campaign.attempt.drive_monitor import measure_nearest_lane
from harness.campaign.attempt.ego_parts import set_up_system
from harness.campaign.attempt.lidar_hits import count_hits_by_lidar
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.settings.declared import PartSettings
from harness.common.errors import AttemptError
from harness.types.vocabulary import Boxes, GroundTruth, Pose
from harness.world.rig import LidarScan
from tests.campaign.tiny import composed

LATE = "agents.perception.systems.Late"
TOWNS = Path(harness.carlite.towns.__file__).parent / "data"


def test_a_parking_lane_is_a_lane() -> None:
    town = carla.Map("Crucible05", (TOWNS / "Crucible05.xodr").read_text(encoding="utf-8"))
    next_lanes = (
        generate_waypoint.get_right_lane() for generate_waypoint in town.generate_waypoints(10.0)
    )
    parking = [
        waypoint
        for waypoint in next_lanes
        if waypoint and waypoint.lane_type == carla.LaneType.Parking
    ]
    assert parking
    for waypoint in parking:
        location = waypoint.transform.location
        pose = Pose(location.x, location.y, location.z)
        distance, width = measure_nearest_lane(town, pose, town.get_waypoint(location))
        assert distance <= width / 2


def test_a_lidar_does_not_see_the_body_that_carries_it() -> None:
    boxes = Boxes(np.zeros((2, 7)), np.zeros(2, np.int64), np.ones(2))
    truth = GroundTruth(boxes, np.array([7, 8]), np.zeros(2, np.int64))
    scan = LidarScan(
        frame=1,
        time=0.05,
        lidar_in_world=Pose(0.0, 0.0),
        points_in_lidar=np.zeros((0, 4), np.float32),
        hits={7: 900, 8: 12},
    )
    assert count_hits_by_lidar(truth, scan, 7).tolist() == [0, 12]
    assert count_hits_by_lidar(truth, scan, 0).tolist() == [900, 12]


def test_weights_that_have_changed_since_are_refused(tmp_path: Path) -> None:
    weights = Path(shutil.copy(FOLDER / "lite_single.safetensors", tmp_path / "mine.safetensors"))
    content = weights.read_bytes()
    system = {"_target_": LATE, "weights": str(weights)}
    composed_settings = composed()
    composed_settings["system"] = {"mine": cast("PartSettings[Any]", system)}
    settings = with_inputs(composed_settings)
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    known = hashlib.sha256(content).hexdigest()[:4]
    with pytest.raises(AttemptError, match=rf"began with: .*mine\.safetensors: {known}"):
        set_up_system(settings, "mine")
