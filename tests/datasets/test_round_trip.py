"""Scenes written in OPV2V's layout and read again are the scenes that were recorded."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from crucible.commandline import start_subcommand as main
from harness.common.recordings import PROTOCOL
from harness.datasets.export import export_dataset
from harness.datasets.opening import open_recordings
from harness.datasets.opv2v_reading import read_opv2v_protocol
from harness.types.vocabulary import VEHICLE
from tests.training.made_up import LOOKERS, MOMENTS, boxes_in_world, write_recording

MICROMETRE = 1e-6


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    write_recording(tmp_path / "recorded", "testing")
    export_dataset(tmp_path / "recorded", tmp_path / "out", "opv2v")
    return tmp_path / "out"


def test_scenes_are_equal(exported: Path) -> None:
    (before,) = open_recordings(exported.parent / "recorded")
    (after,) = open_recordings(exported)
    assert (after.town, after.purpose, after.seed, after.interval) == ("Nowhere", "testing", 5, 1.0)
    assert after.list_agents() == before.list_agents() == [7, 9, -1]
    for agent in LOOKERS:
        assert after.list_moments(agent) == before.list_moments(agent)
        for moment in before.list_moments(agent):
            recorded, read = before.read_look(agent, moment), after.read_look(agent, moment)
            assert read.time == recorded.time
            assert read.lidar_in_world == pytest.approx(recorded.lidar_in_world, abs=MICROMETRE)
            assert np.array_equal(read.points_in_lidar, recorded.points_in_lidar)
            assert np.array_equal(read.truth.actor_ids, recorded.truth.actor_ids)
            assert np.array_equal(read.truth.hits, recorded.truth.hits)
            for there, here in (
                (read.truth.boxes_in_lidar, recorded.truth.boxes_in_lidar),
                (read.parked_in_lidar, recorded.parked_in_lidar),
            ):
                assert np.array_equal(there.classes, here.classes)
                assert np.abs(there.geometry - here.geometry).max() < 2 * MICROMETRE


def test_only_hit_vehicles_are_listed_and_no_agent(tmp_path: Path) -> None:
    write_recording(tmp_path / "recorded")
    # one of the vehicles becomes an agent: its id is that of a folder
    scenario = tmp_path / "recorded" / "made-up"
    (scenario / "9").rename(scenario / "20")
    export_dataset(tmp_path / "recorded", tmp_path / "out", "v2xset")
    record = yaml.safe_load((tmp_path / "out/made-up/7/000000.yaml").read_text())
    kinds = boxes_in_world().classes.tolist()
    vehicles = [20 + number for number, kind in enumerate(kinds) if kind == VEHICLE]
    assert list(record["vehicles"]) == vehicles[1:]
    assert set(record["vehicles"][21]) == {"angle", "center", "extent", "location", "speed"}
    assert {len(record[key]) for key in ("lidar_pose", "true_ego_pos", "predicted_ego_pos")} == {6}
    assert record["RSU"] is False
    assert record["ego_speed"] == 0.0
    assert len(record["plan_trajectory"]) == MOMENTS
    roadside = yaml.safe_load((tmp_path / "out/made-up/-1/000000.yaml").read_text())
    assert roadside["RSU"] is True


@pytest.mark.usefixtures("prints_fit")
def test_command_resumes_and_refuses_other_scenes(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = exported.parent / "recorded"
    write_recording(recorded, "testing", name="second")
    (exported / ".second").mkdir()  # left by a command that was killed
    command = ["export-dataset", "--format", "opv2v", str(recorded), str(exported)]
    assert main(command) == 0
    assert "1 scenarios written with 9 sweeps, 1 were there" in capsys.readouterr().out
    assert {path.name for path in exported.iterdir()} == {"made-up", "second"}
    assert read_opv2v_protocol(exported / "second")["layout"] == "opv2v"
    assert main([*command[:2], "v2xset", *command[3:]]) == 2
    assert "another scenario of this name" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["recorded/inside", "recorded"])
def test_no_export_into_its_source(
    exported: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = exported.parent / "recorded"
    command = ["export-dataset", "--format", "opv2v", str(source), str(exported.parent / where)]
    assert main(command) == 2
    assert "lies in the source" in capsys.readouterr().err


def test_the_vehicle_stands_below_the_mount_of_its_rig(tmp_path: Path) -> None:
    write_recording(tmp_path / "recorded", "testing")
    protocol = tmp_path / "recorded/made-up" / PROTOCOL
    for rig, back, up in (
        ("v2xverse", 1.3, 1.85),
        ("v2xverse_200m", 1.3, 1.85),
        ("opv2v", -0.5, 1.9),
    ):
        known = json.loads(protocol.read_text()) | {"rig": rig}
        protocol.write_text(json.dumps(known))
        export_dataset(tmp_path / "recorded", tmp_path / rig, "opv2v")
        record = yaml.safe_load((tmp_path / rig / "made-up/7/000000.yaml").read_text())
        x, y, z, _, yaw, _ = record["lidar_pose"]
        turn = math.radians(yaw)
        there = [x - back * math.cos(turn), y - back * math.sin(turn), z - up]
        assert record["true_ego_pos"][:3] == pytest.approx(there, abs=1e-5)
        assert (
            yaml.safe_load((tmp_path / rig / "made-up" / PROTOCOL).read_text())["crucible"]["rig"]
            == rig
        )


def test_an_unknown_rig_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recording(tmp_path / "recorded", "testing")
    protocol = tmp_path / "recorded/made-up" / PROTOCOL
    protocol.write_text(json.dumps(json.loads(protocol.read_text()) | {"rig": "my_rig"}))
    command = ["export-dataset", "--format", "opv2v", str(tmp_path / "recorded")]
    assert main([*command, str(tmp_path / "out")]) == 2
    assert "rig my_rig: not in conf/rig" in capsys.readouterr().err
    assert not list((tmp_path / "out").iterdir())
