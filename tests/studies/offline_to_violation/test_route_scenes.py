"""Scenes from a drive, against what the drive itself counted, and the whole command on carlite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crucible.subcommands import dispatch_subcommand
from harness.common.recordings import PROTOCOL, read_protocol
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.geometry import transform_boxes
from harness.types.record_names import PATTERNS
from studies.metamorphic.scenes.scene import list_scene_sources, read_scene
from studies.offline_to_violation import block_findings, driven
from studies.offline_to_violation.asking import FIRST_MOMENT, count_scene_patterns
from studies.offline_to_violation.blocks import list_written_blocks
from studies.offline_to_violation.driven import (
    find_recorded_attempt,
    list_common_settings,
    run_route_campaign,
)
from studies.offline_to_violation.plan import BlockRoute, OfflinePlan, take_routes_in_turn
from studies.offline_to_violation.route_scenes import write_route_scenes
from tests.once import once

CUT_IN = BlockRoute(group="cut_in", route="bend")
SCENES = 4
PLAN = OfflinePlan(
    routes=(CUT_IN,), systems=("late",), operators=("delay_200",), scenes=SCENES, seed=1
)


def test_groups_of_routes_come_in_turn() -> None:
    taken = take_routes_in_turn([("a", ["0", "1", "2"]), ("b", ["0"])], 3)
    assert [route.name for route in taken] == ["a-0", "b-0", "a-1"]


@pytest.fixture(scope="module")
def drive_of_late(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[CampaignRecords, AttemptKey, Path]:
    """Return a drive of a network that kept its sweeps, and scenes of it."""

    def make(folder: Path) -> Path:
        settings = [
            *list_common_settings(PLAN, CUT_IN),
            *("system=late", "interference=none", "record.points=true"),
        ]
        assert run_route_campaign(settings, folder / "drive")
        recorded = find_recorded_attempt(folder / "drive")
        assert recorded is not None
        write_route_scenes(*recorded, folder=folder / "scenes", count=SCENES, name=CUT_IN.name)
        return folder

    folder = once(tmp_path_factory, "scenes-of-a-drive", make)
    recorded = find_recorded_attempt(folder / "drive")
    assert recorded is not None
    return (*recorded, folder / "scenes")


@pytest.mark.thorough
def test_a_network_answers_to_scenes_as_it_answered_in_the_drive(
    drive_of_late: tuple[CampaignRecords, AttemptKey, Path],
) -> None:
    campaign, key, scenes = drive_of_late
    frames = campaign.read_attempt_table("frames", key)
    counts = count_scene_patterns(scenes, CUT_IN.name, "late")
    steps = read_recorded_frames(scenes)
    assert 1 < len(steps) <= SCENES
    there = frames.set_index("frame").loc[[steps[name] for name in counts["scene"]]]
    # ground truth is that of the drive; sweeps are rounded to 1/128 m, which may move a box
    assert counts["road users"].tolist() == there["truth_all"].tolist()
    assert counts["road users"].sum() > 0
    columns = [*PATTERNS, *(f"{name}_0_30" for name in PATTERNS)]
    equal = counts[columns].to_numpy() == there[columns].to_numpy()
    assert equal.mean() > 0.9


def read_recorded_frames(scenes: Path) -> dict[str, int]:
    """Return the frame of the drive by the name of the scene."""
    sources = list_scene_sources([scenes], FIRST_MOMENT)
    protocols = {one.name: read_protocol(one.scenario.folder / PROTOCOL) for one in sources}
    return {name: int(protocol["frame"]) for name, protocol in protocols.items()}


@pytest.mark.thorough
def test_both_agents_see_the_same_road_users_at_one_place(
    drive_of_late: tuple[CampaignRecords, AttemptKey, Path],
) -> None:
    *_, scenes = drive_of_late
    for source in list_scene_sources([scenes], FIRST_MOMENT):
        scene = read_scene(source)
        (unit,) = scene.partners
        assert unit.time == scene.ego.time
        moved = transform_boxes(
            unit.truth.boxes_in_lidar, unit.lidar_in_world, scene.ego.lidar_in_world
        )
        known = dict(zip(unit.truth.actor_ids.tolist(), moved.geometry, strict=True))
        for actor, box in zip(
            scene.ego.truth.actor_ids.tolist(), scene.ego.truth.boxes_in_lidar.geometry, strict=True
        ):
            assert known[actor][:6] == pytest.approx(box[:6], abs=0.02)
        # the unit sees the ego, below its LiDAR, and counts points on it
        assert np.hypot(*known[0][:2]) < 3
        assert unit.truth.hits[unit.truth.actor_ids == 0] > 0


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_the_command_records_asks_drives_repairs_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # one of the six patterns is repaired: two drives more
    for module in (block_findings, driven):
        monkeypatch.setattr(module, "PATTERNS", PATTERNS[:1])
    words = [
        *("offline", str(tmp_path / "study"), "--routes", "short", "--count", "1"),
        *("--systems", "late", "--scenes", "2", "--operators", "rain", "delay_200"),
        *("--settings", "traffic=none"),
    ]
    packed = str(tmp_path / "packed")
    assert dispatch_subcommand([*words, "--repairs", "none", "--pack", packed]) == 0
    out = capsys.readouterr().out
    assert "1/1 short-short: 2 scenes, 2 drives" in out
    assert "routes with repairs: 0" in out
    # the same command with repairs goes on from there
    written = list_written_blocks(tmp_path / "study")
    before = {block.route.name: list_results(block.folder / "drives") for block in written}
    assert dispatch_subcommand(words) == 0
    assert before == {block.route.name: list_results(block.folder / "drives") for block in written}
    out = capsys.readouterr().out
    assert "1/1 short-short: 2 repaired drives" in out
    assert "routes: 1; drives without a repair: 2, with violations: 0" in out
    assert "routes with repairs: 1" in out
    assert "ended otherwise" not in out
    assert "nothing can be shown" in out
    table = pd.read_csv(tmp_path / "study" / "findings.csv")
    assert set(table["verdict"].dropna()) <= {"neither shown", "not tested"}
    assert table.set_index(["finding", "range"]).loc[("LCME", "all"), "pairs"] == 2
    assert (tmp_path / "study" / "figure.svg").read_text().startswith("<?xml")
    # at another machine the packed route is not computed again, and has equal findings
    words[1] = str(tmp_path / "elsewhere")
    again = [*words, "--repairs", "none", "--packed", packed]
    assert dispatch_subcommand([*again, "--pack", str(tmp_path / "packed_again")]) == 0
    assert "1/1 short-short: packed: whole" in capsys.readouterr().out
    assert list_written_blocks(tmp_path / "elsewhere") == []
    for file in (tmp_path / "packed").iterdir():
        assert file.read_bytes() == (tmp_path / "packed_again" / file.name).read_bytes()
    # another plan is refused
    assert dispatch_subcommand([*words, "--seed", "2"]) == 2
    assert "has other seed" in capsys.readouterr().err


def list_results(campaign: Path) -> dict[str, int]:
    """Return when each result of a campaign was written."""
    return {
        str(file.relative_to(campaign)): file.stat().st_mtime_ns
        for file in campaign.rglob("result.json")
    }


def test_wrong_words_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, why in (
        (("--analyse",), "no plan.json"),
        (("--count", "0"), "--count 0: must be 1 or more"),
        (("--systems", "single"), "single: reads no messages"),
        (("--operators", "rian"), "rian"),
        (("--routes", "nowhere"), "nowhere"),
        (("--settings", "nothing=1"), "nothing"),
        (("--analyse", "--packed", str(tmp_path)), "no plan.json"),
    ):
        assert dispatch_subcommand(["offline", str(tmp_path / "no"), *words]) == 2
        assert why in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "no").exists()
