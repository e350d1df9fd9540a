"""Drives of a campaign as a data set; a real drive, recorded with its sweeps."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from crucible.commandline import start_subcommand as main
from harness.common.errors import UserError
from harness.datasets.campaign_reading import open_campaign
from harness.datasets.opening import open_recordings
from harness.datasets.opv2v_reading import count_points_inside
from harness.records.points import read_point_sweeps
from harness.records.reading import CampaignRecords
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import VEHICLE
from tests.campaign.plain import drive_mixed_once, drive_route
from tests.once import once

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drive a hop with traffic, and keep the sweeps."""

    def drive(folder: Path) -> Path:
        return drive_route(folder, "hop", settings=("cooperation=mixed", "record.points=true"))

    return once(tmp_path_factory, "exported_campaign", drive)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same without sweeps."""
    return drive_mixed_once(tmp_path_factory)


def test_scenes_are_what_was_recorded(driven: Path) -> None:
    scenarios = open_campaign(driven)
    (attempt,) = CampaignRecords(driven).find_attempts().values()
    kept = read_point_sweeps(attempt)
    looks = 0
    seen = inside = 0
    for scenario in scenarios:
        assert scenario.interval == pytest.approx(0.2)
        assert scenario.list_egos() == [0]
        assert min(scenario.list_agents()) == -1
        for agent in scenario.list_agents():
            for moment in scenario.list_moments(agent):
                look = scenario.read_look(agent, moment)
                looks += 1
                assert agent not in look.truth.actor_ids
                # returns of the records lie in the boxes that are made from tracks
                counted = count_points_inside(
                    look.points_in_lidar, look.truth.boxes_in_lidar.geometry
                )
                seen += int((look.truth.hits > 4).sum())
                inside += int((counted[look.truth.hits > 4] > 2).sum())
    assert looks == len(kept)
    assert inside == seen > 0


def test_units_see_the_ego(driven: Path) -> None:
    scenario = open_campaign(driven)[0]
    moment = scenario.list_moments(0)[0]
    unit, ego = scenario.read_look(-1, moment), scenario.read_look(0, moment)
    where = unit.truth.actor_ids.tolist().index(0)
    assert unit.truth.hits[where] > 20
    box = unit.truth.boxes_in_lidar.geometry[where]
    assert unit.truth.boxes_in_lidar.classes[where] == VEHICLE
    # its LiDAR stands on its box
    stands = build_pose_matrix(unit.lidar_in_world) @ [*box[:3], 1.0]
    here = ego.lidar_in_world
    assert np.hypot(stands[0] - here.x, stands[1] - here.y) < 2.5


def test_command_writes_and_resumes(driven: Path, tmp_path: Path) -> None:
    command = ["export-dataset", "--format", "opv2v", str(driven), str(tmp_path / "out")]
    assert main(command) == 0
    assert main(command) == 0
    scenarios = open_recordings(tmp_path / "out")
    assert len(scenarios) == len(open_campaign(driven))
    assert all("0" in {path.name for path in one.folder.iterdir()} for one in scenarios)


def test_without_sweeps_the_setting_is_named(
    bare: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export-dataset", "--format", "opv2v", str(bare), str(tmp_path / "out")]
    assert main(command) == 2
    printed = capsys.readouterr().err
    assert "record.points=true" in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_campaign_without_drives_is_refused(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "campaign.yaml").write_bytes((bare / "campaign.yaml").read_bytes())
    with pytest.raises(UserError, match="no finished attempt"):
        open_campaign(tmp_path)


def test_tables_that_do_not_fit_are_one_line(driven: Path, tmp_path: Path) -> None:
    shutil.copytree(driven, tmp_path / "kept")
    (attempt,) = CampaignRecords(tmp_path / "kept").find_attempts().values()
    actors = pq.read_table(attempt / "actors.parquet")
    pq.write_table(actors.slice(0, 0), attempt / "actors.parquet")
    scenario = open_campaign(tmp_path / "kept")[0]
    with pytest.raises(UserError, match="do not fit together"):
        scenario.read_look(-1, scenario.list_moments(-1)[0])
