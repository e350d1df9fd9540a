"""A small recording through the embedded server and the real client."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.training import recording
from agents.training.__main__ import main
from agents.training.collect import RecordingPlan, collect_recordings, plan_episodes
from agents.training.detection_metrics import LEAST_HITS
from agents.training.towns import TRAINING_TOWNS, check_towns
from harness.authoring.seeded import DEVELOPMENT_SEEDS, format_development_name
from harness.common.drivable_area import DRIVABLE_AREA, DrivableArea, read_drivable_area
from harness.common.errors import UserError
from harness.common.ground_fields import GROUND_FILE, GroundField, read_ground_field
from harness.common.recordings import PROTOCOL, AgentLook, list_scenarios, read_look
from harness.types.geometry import transform_points
from harness.types.vocabulary import Pose
from harness.world.maps import load_road_network
from harness.world.road_surface import build_drivable_area
from tests.conftest import ROOT
from tests.standin.watch import until

NEXT_TO = 20.0
TINY: dict[str, Any] = {
    "groups": 1,
    "looks": 2,
    "neighbours": 1,
    "vehicles": 8,
    "drivers": 4,
    "standing": 4,
    "cyclists": 4,
    "walkers": 8,
}


@pytest.mark.thorough
@pytest.mark.parametrize("close", [False, True])
def test_a_group_looks_at_one_world(
    tmp_path: Path, close: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    interval = 1.0 if close else 0.1
    wanted = RecordingPlan(
        out=tmp_path,
        towns=("CrucibleOld",),
        scenarios=1,
        seed=5,
        close_quarters=close,
        interval=interval,
        **TINY,
    )
    collect_recordings(wanted)
    (scenario,) = list_scenarios(tmp_path)
    assert (scenario.town, scenario.purpose) == ("CrucibleOld", "training")
    assert scenario.interval == interval
    area = read_drivable_area(scenario.folder)
    assert area is not None
    assert np.array_equal(area.drivable, load_town_area("CrucibleOld").drivable)
    agents = scenario.list_agents()
    assert f"1 scenario, {2 * len(agents)} sweeps, " in capsys.readouterr().out
    assert agents[-1] == -1
    assert len(agents) >= 2
    looks = []
    for agent in agents:
        first, second = (
            read_look(scenario.folder, agent, moment) for moment in scenario.list_moments(agent)
        )
        assert second.time - first.time == pytest.approx(interval)
        assert len(first.points_in_lidar) > 10_000
        assert agent not in first.truth.actor_ids
        looks += [first, second]
    assert_lidars_see_parked_cars(looks)
    assert_ground_is_where_lidars_hit_it(scenario.folder, looks)
    if not close:
        assert_the_same_files_are_written_once(wanted, scenario.folder)


def assert_the_same_files_are_written_once(wanted: RecordingPlan, scenario: Path) -> None:
    """Two workers record the same, and what is there is not recorded again."""
    collect_recordings(replace(wanted, out=wanted.out / "again", scenarios=2, workers=2))
    assert len(list_scenarios(wanted.out / "again")) == 2
    for path in sorted(scenario.rglob("*.*")):
        twin = wanted.out / "again" / path.relative_to(wanted.out)
        assert path.read_bytes() == twin.read_bytes(), path.name
    before = {path: path.stat().st_mtime_ns for path in wanted.out.rglob("*")}
    collect_recordings(wanted)
    assert {path: path.stat().st_mtime_ns for path in wanted.out.rglob("*")} == before


def assert_ground_is_where_lidars_hit_it(folder: Path, looks: list[AgentLook]) -> None:
    """The recorded surface lies at returns from the ground, up to the rounding of points."""
    field = read_ground_field(folder)
    assert field is not None
    for look in looks:
        assert look.surfaces is not None
        ground = np.isin(look.surfaces.labels, (1, 2, 10))
        points = transform_points(
            look.points_in_lidar[ground], look.lidar_in_world, Pose(0.0, 0.0)
        ).astype(np.float64)
        apart = np.abs(field.measure_heights(points[:, 0], points[:, 1]) - points[:, 2])
        assert (apart < 0.01).mean() > 0.97
        # the rest lies where kerbs cross cells of half a metre
        labels = field.find_labels(points[:, 0], points[:, 1])
        assert (labels == look.surfaces.labels[ground]).mean() > 0.9


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_at_close_quarters_a_unit_stands_next_to_a_road_user_it_sees(tmp_path: Path) -> None:
    collect_recordings(
        RecordingPlan(
            out=tmp_path,
            towns=("CrucibleOld",),
            scenarios=3,
            seed=6,
            close_quarters=True,
            **{**TINY, "groups": 3},
        )
    )
    for scenario in list_scenarios(tmp_path):
        first = read_look(scenario.folder, -1, "000000")
        boxes = first.truth.boxes_in_lidar.geometry[first.truth.hits >= LEAST_HITS]
        assert np.hypot(boxes[:, 0], boxes[:, 1]).min() < NEXT_TO


def assert_lidars_see_parked_cars(looks: list[AgentLook]) -> None:
    """Scenery recorded as parked cars stands where returns are, on its sides and roof."""
    most = 0
    for look in looks:
        for box in look.parked_in_lidar.geometry:
            away = look.points_in_lidar[:, :3] - box[:3]
            cos, sin = math.cos(box[6]), math.sin(box[6])
            ahead, aside = away[:, 0] * cos + away[:, 1] * sin, away[:, 1] * cos - away[:, 0] * sin
            local = np.column_stack([ahead, aside, away[:, 2]])
            within = (np.abs(local) <= box[3:6] / 2 + 0.1) & (local[:, 2:] > 0.3 - box[5] / 2)
            most = max(most, int(within.all(axis=1).sum()))
    assert most >= 5


@pytest.mark.thorough
def test_an_interruption_is_one_line_and_leaves_no_process(tmp_path: Path) -> None:
    out = tmp_path / "recorded"
    words = ("collect", "--out", str(out), "--scenarios", "40", "--workers", "2")
    command = [sys.executable, "-m", "crucible", *words]
    with subprocess.Popen(
        command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert until(lambda: len(members(running.pid)) >= 4)  # it, its tracker, two that record
        os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate()
    assert running.returncode == 130
    assert said.splitlines()[-1].startswith("crucible collect: interrupted")
    assert "Traceback" not in said
    assert until(lambda: not members(running.pid))


def members(session: int) -> list[int]:
    """Return the processes of a session."""
    known = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())
    return [pid for pid in known if session_of(pid) == session]


def session_of(pid: int) -> int | None:
    """Return the session of a process that may have ended."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def test_towns_for_testing_and_for_training_stay_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for town in ("Crucible05", "Town05", "Town05_Opt", "Test_0123abcd_1"):
        assert main(["collect", "--out", "nowhere", "--towns", town]) == 2
        assert "for testing" in capsys.readouterr().err
        check_towns([town], for_testing=True)
    with pytest.raises(UserError, match="for training"):
        check_towns(["CrucibleHill"], for_testing=True)
    development = [format_development_name(seed, {}) for seed in DEVELOPMENT_SEEDS]
    check_towns([*TRAINING_TOWNS, *development], for_testing=False)


def load_town_area(town: str) -> DrivableArea:
    return build_drivable_area(load_road_network(town, None).map)


def collection_in(out: Path) -> RecordingPlan:
    return RecordingPlan(out=out, towns=("CrucibleOld",), scenarios=1, seed=5, **TINY)


@pytest.mark.parametrize("interval", ["0", "0.07", "-1", "nan", "inf"])
def test_looks_are_ticks_apart(
    tmp_path: Path, interval: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["collect", "--out", str(tmp_path / "data"), "--interval", interval]
    assert main(words) == 2
    printed = capsys.readouterr().err
    assert printed.endswith(f"--interval {float(interval):g}: a multiple of 0.05 s is needed\n")
    assert printed.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_scenes_of_another_kind_under_the_same_names_are_refused(tmp_path: Path) -> None:
    (episode,) = plan_episodes(collection_in(tmp_path))
    protocol = tmp_path / episode.get_scenario_name(0) / PROTOCOL
    protocol.parent.mkdir()
    protocol.write_text(json.dumps(asdict(episode)))
    collect_recordings(collection_in(tmp_path))
    with pytest.raises(UserError, match=rf"{protocol.parent}: .* other close_quarters;"):
        collect_recordings(replace(collection_in(tmp_path), close_quarters=True))


def test_what_an_ended_try_left_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / ".group" / "77"
    left.mkdir(parents=True)
    here = Pose(0.0, 0.0)

    def write_moment(*_: object, folder: Path, **__: object) -> list[Pose]:
        (folder / "-1").mkdir()
        return [here]

    monkeypatch.setattr(recording, "write_moment", write_moment)
    anything: Any = SimpleNamespace(tick=lambda: 0, move_lidar=lambda place: None)
    stage: Any = SimpleNamespace(world=anything)
    crew: Any = SimpleNamespace(unit=anything, carriers={})
    (episode,) = plan_episodes(replace(collection_in(tmp_path), looks=1))
    looks = recording.record_group(
        stage,
        crew,
        registry=anything,
        parked=anything,
        agents=[],
        place=here,
        episode=episode,
        folder=tmp_path / "group",
        progress=(progress := SimpleNamespace(value=0)),
    )
    assert progress.value == episode.looks
    assert not (tmp_path / "group").exists()
    level = np.zeros((9, 9))
    field = GroundField(
        x=-2.0, y=-2.0, cell=0.5, heights=level, tops=level, labels=np.ones((9, 9), np.uint8)
    )
    area = DrivableArea(cell=1.0, corner=(0.0, 0.0), drivable=np.ones((2, 2), np.bool_))
    recording.publish_group(looks, field, area, episode)
    whole = {"-1", PROTOCOL, GROUND_FILE, DRIVABLE_AREA}
    assert {entry.name for entry in (tmp_path / "group").iterdir()} == whole
