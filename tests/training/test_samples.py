"""Recordings come back as they were; samples fit together, augmented, late or displaced."""

from __future__ import annotations

import math
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import yaml

from agents.training.augmentation import mirror_sample, rotate_sample, scale_sample
from agents.training.samples import EgoSample, LidarView, MessageDisturbance, RecordedSamples
from harness.common.errors import UserError
from harness.common.recordings import POINT_UNIT, list_scenarios, read_look
from harness.types.geometry import transform_points
from harness.types.vocabulary import Floats
from tests.training.made_up import boxes_in_world, look_of, write_recording


@pytest.fixture
def samples(tmp_path: Path) -> RecordedSamples:
    write_recording(tmp_path)
    return RecordedSamples(list_scenarios(tmp_path), units=False)


def inside(sample: EgoSample, view: LidarView) -> Floats:
    """Return how many of a view's points lie in each true box."""
    pose = sample.ego.lidar_in_world
    points = transform_points(view.points_in_lidar, view.lidar_in_world, pose)[:, :3]
    counts = []
    for box in (*sample.truth.boxes_in_lidar.geometry, *sample.parked.geometry):
        away = points - box[:3]
        cos, sin = math.cos(box[6]), math.sin(box[6])
        local = np.column_stack(
            [away[:, 0] * cos + away[:, 1] * sin, away[:, 1] * cos - away[:, 0] * sin, away[:, 2]]
        )
        counts.append((np.abs(local) <= box[3:6] / 2 + 0.1).all(1).sum())
    return np.array(counts, np.float64)


def test_a_look_comes_back(tmp_path: Path) -> None:
    write_recording(tmp_path)
    scenario = list_scenarios(tmp_path)[0]
    assert scenario.list_agents() == [7, 9, -1]
    written, read = look_of(9, 1, boxes_in_world()), read_look(scenario.folder, 9, "000001")
    apart = np.abs(read.points_in_lidar - written.points_in_lidar)
    assert apart.max() <= POINT_UNIT
    boxes = read.truth.boxes_in_lidar.geometry - written.truth.boxes_in_lidar.geometry
    assert np.abs(boxes).max() < 2e-3
    parked = read.parked_in_lidar.geometry - written.parked_in_lidar.geometry
    assert parked.shape == (1, 7)
    assert np.abs(parked).max() < 2e-3
    assert read.truth.hits.tolist() == written.truth.hits.tolist()
    assert read.time == 1.0


def test_poses_and_truth_are_yaml_under_the_names_of_opv2v(tmp_path: Path) -> None:
    write_recording(tmp_path)
    record = yaml.safe_load((tmp_path / "made-up/7/000000.yaml").read_text())
    x, y, z, roll, yaw, pitch = record["lidar_pose"]
    assert (x, y, z, roll, pitch) == (100.0, 50.0, 1.85, 0.0, 0.0)
    assert yaw == pytest.approx(math.degrees(0.4))
    first = record["vehicles"]["20"]
    assert first["extent"] == [2.2, 0.95, 0.8]
    assert first["location"][:2] == [100.0, 63.0]


def test_partners_come_unit_first(samples: RecordedSamples) -> None:
    partners = samples.read_sample(0).partners
    assert [partner.lidar_in_world.z for partner in partners] == [7.5, 1.85]
    assert len(samples.read_sample(0, partners=1).partners) == 1


@pytest.mark.parametrize("change", ["none", "mirrored", "scaled", "turned"])
def test_augmented_scenes_still_fit(samples: RecordedSamples, change: str) -> None:
    sample = samples.read_sample(1)
    changed = {
        "none": lambda: sample,
        "mirrored": lambda: mirror_sample(sample),
        "scaled": lambda: scale_sample(sample, 1.04),
        "turned": lambda: rotate_sample(sample, [0.3, -0.2, 0.5]),
    }[change]()
    for view in (changed.ego, *changed.partners):
        assert (inside(changed, view) >= 60).all()
    if change != "none":
        before = sample.truth.boxes_in_lidar.geometry
        assert not np.allclose(changed.truth.boxes_in_lidar.geometry, before)


def test_pose_errors_move_what_partners_believe_and_nothing_else(samples: RecordedSamples) -> None:
    clean, wrong = (
        samples.read_sample(1, how=how)
        for how in (MessageDisturbance(), MessageDisturbance(0.6, 0.6))
    )
    assert wrong.ego.lidar_in_world == clean.ego.lidar_in_world
    for before, after in zip(clean.partners, wrong.partners, strict=True):
        old, new = before.lidar_in_world, after.lidar_in_world
        assert abs(new.x - old.x) == pytest.approx(0.6)
        assert abs(new.y - old.y) == pytest.approx(0.6)
        assert abs(new.yaw - old.yaw) == pytest.approx(math.radians(0.6))
        assert np.array_equal(before.points_in_lidar, after.points_in_lidar)


def test_late_messages_are_of_an_earlier_look(samples: RecordedSamples) -> None:
    late = samples.read_sample(1, how=MessageDisturbance(looks_late=1)).partners
    then = samples.read_sample(0).partners
    assert all(
        np.array_equal(a.points_in_lidar, b.points_in_lidar)
        for a, b in zip(late, then, strict=True)
    )
    assert samples.read_sample(0, how=MessageDisturbance(looks_late=1)).partners == ()


def test_what_is_half_written_is_no_scenario(tmp_path: Path) -> None:
    write_recording(tmp_path)
    (scenario,) = list_scenarios(tmp_path)
    copytree(scenario.folder, scenario.folder.with_name(f".{scenario.folder.name}"))
    assert list_scenarios(tmp_path) == [scenario]


def test_folders_that_bear_no_number_are_nobodys(tmp_path: Path) -> None:
    write_recording(tmp_path)
    (scenario,) = list_scenarios(tmp_path)
    (scenario.folder / ".ipynb_checkpoints").mkdir()
    assert scenario.list_agents() == [7, 9, -1]


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="collect"):
        list_scenarios(tmp_path)
