"""Changes of the scene in drives: nothing else is shifted, and ground truth follows by itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords, read_json_object, read_stored_table
from harness.records.twins import TWINS
from studies.metamorphic.drives.drive_records import read_campaign_drives
from tests.campaign.tiny import composed, environment, run, write_route
from tests.conftest import ROOT
from tests.keys import arm_of, key_of
from tests.once import once

AT = "harness.world.changes"
CONDITIONS = {
    "wall": f"{AT}.added.AddedActor, station: 20, slack: 3",
    "aside": f"{AT}.added.AddedActor, station: 34, right: 5.5, blueprint: walker.pedestrian.0001",
    "traffic": f"{AT}.added.AddedActor, station: 45, behaviour: driving",
    "left_out": f"{AT}.left_out.LeftOut, rank: 0",
    "moved": f"{AT}.moved.Moved, metres: 2.5, rank: 1",
    "another": f"{AT}.another_body.AnotherBody, rank: 2",
    "late_hazard": f"{AT}.hazard_changed.HazardChanged, added: {{phase: 0.3}}",
    "noise": f"{AT}.noise_seed.NoiseSeed",
    "twice": f"{AT}.second_sender.SecondSender",
}
LATE = "harness.channel.interference.latency.Fixed, seconds: 0.4"
MIXED = f"[{{_target_: {AT}.noise_seed.NoiseSeed}}, {{_target_: {LATE}}}]"
DEAF, ORACLE = "deaf", "oracle"


def drive(folder: Path) -> Path:
    """Drive a system that sees nothing, and one that sees everything, under all changes."""
    routes = write_route(folder, "bend")
    listed = [f"+interference.{name}=[{{_target_: {part}}}]" for name, part in CONDITIONS.items()]
    done = run(
        routes,
        "system=oracle",
        "+system.deaf._target_=tests.campaign.systems.Deaf",
        "interference=none",
        *listed,
        f"+interference.mixed={MIXED}",
        "rig.ego.noise_stddev=0.01",
        "rig.roadside.noise_stddev=0.01",
        "traffic.walkers=3",
        "driving.blocked_seconds=10",
        "executor.workers=2",
        f"out={folder / 'out'}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "scene-changes", drive)


def attempt(out: Path, condition: str, system: str = DEAF) -> Path:
    return CampaignRecords(out).find_attempts()[key_of(system, condition, "bend", 1)]


def first_tick(out: Path, condition: str, system: str = DEAF) -> pd.DataFrame:
    """Return who is where at the first tick that is driven, by actor."""
    place = attempt(out, condition, system)
    tracks = read_stored_table(place / "tracks.parquet", "tracks")
    actors = read_stored_table(place / "actors.parquet", "actors").astype(
        {"class": str, "type": str}
    )
    first = tracks[tracks["frame"] == 0].set_index("actor_id")
    return first.join(actors.set_index("actor_id"))


def ours(out: Path, condition: str, system: str = DEAF) -> dict[str, Any]:
    record: dict[str, Any] = read_json_object(attempt(out, condition, system) / "result.json")[
        "crucible"
    ]
    return record


CHANGED = {"wall": 1, "aside": 1, "traffic": 1, "left_out": 1, "moved": 1, "another": 2}
"""Actors of the first tick that are other ones, or elsewhere, or only in one of the two."""


@pytest.mark.thorough
@pytest.mark.parametrize("condition", [*CONDITIONS, "mixed"])
def test_all_but_the_changed_actor_are_where_they_were(out: Path, condition: str) -> None:
    before, after = first_tick(out, "none"), first_tick(out, condition)
    both = before.index.intersection(after.index)
    alike = (before.loc[both] == after.loc[both]).all(axis=1)
    unlike = len(before.index.symmetric_difference(after.index)) + int((~alike).sum())
    assert unlike <= CHANGED.get(condition, 0)
    assert len(both) >= 2


@pytest.mark.thorough
@pytest.mark.parametrize("condition", ["aside", "late_hazard", "twice", "left_out", "moved"])
def test_noise_and_partners_are_as_without_the_change(out: Path, condition: str) -> None:
    names = ["sender", "true_x", "true_y", "true_yaw"]
    poses = [
        read_stored_table(attempt(out, name) / "poses.parquet", "poses")
        for name in ("none", condition)
    ]
    one, other = (table[table["frame"] == 0].astype({"sender": str})[names] for table in poses)
    again = other[~other["sender"].str.endswith("-again")].reset_index(drop=True)
    pd.testing.assert_frame_equal(one.reset_index(drop=True), again, check_exact=True)


@pytest.mark.thorough
def test_a_standing_car_is_struck_and_is_ground_truth(out: Path) -> None:
    violation = ours(out, "wall")["violation"]
    assert isinstance(violation, dict)
    assert violation["kind"] == "collision_vehicle"
    assert violation["with_type"] == "vehicle.citroen.c3"
    boxes = read_stored_table(attempt(out, "wall") / "boxes.parquet", "boxes")
    seen = boxes[(boxes["actor_id"] == violation["with_actor"]) & (boxes["source"] == "truth")]
    assert (seen["hits_ego"] >= 5).all()
    assert len(seen) > 5
    assert violation["with_actor"] not in first_tick(out, "none").index


@pytest.mark.thorough
def test_the_oracle_stops_for_it(out: Path) -> None:
    violation = ours(out, "wall", ORACLE)["violation"]
    assert violation is None or violation["kind"] == "blocked"


@pytest.mark.thorough
def test_a_driven_actor_drives(out: Path) -> None:
    (added,) = first_tick(out, "traffic").index.difference(first_tick(out, "none").index)
    tracks = read_stored_table(attempt(out, "traffic") / "tracks.parquet", "tracks")
    mine = tracks[tracks["actor_id"] == added]
    assert np.hypot(np.ptp(mine["x"]), np.ptp(mine["y"])) * 0.001 > 5.0


@pytest.mark.thorough
def test_the_nearest_vehicle_is_left_out_and_no_other(out: Path) -> None:
    gone = first_tick(out, "none").index.difference(first_tick(out, "left_out").index)
    assert len(first_tick(out, "left_out").index.difference(first_tick(out, "none").index)) == 0
    assert len(gone) <= 1  # of those within 80 m


@pytest.mark.thorough
def test_the_hazard_is_later_in_the_records(out: Path) -> None:
    (before,), (after,) = (ours(out, name)["hazards"] for name in ("none", "late_hazard"))
    gap = after["encounter"]["phase"] - before["encounter"]["phase"]
    assert gap == pytest.approx(0.3)
    assert after["encounter"]["parameters"]["phase"] == pytest.approx(0.3)


@pytest.mark.thorough
def test_the_unit_shares_twice(out: Path) -> None:
    messages = read_stored_table(attempt(out, "twice") / "messages.parquet", "messages")
    by = messages.astype({"sender": str}).groupby("sender")["bytes"].agg(["size", "sum"])
    assert list(by.index) == ["roadside-0", "roadside-0-again"]
    assert tuple(by.loc["roadside-0"]) == tuple(by.loc["roadside-0-again"])


@pytest.mark.thorough
def test_systems_without_messages_meet_the_changes_of_the_scene_only(out: Path) -> None:
    arms = {
        key.arm.condition
        for key in CampaignRecords(out).find_attempts()
        if key.arm.system == ORACLE
    }
    assert arms == {"none", *CONDITIONS} - {"twice"}


@pytest.mark.thorough
def test_the_oracle_drives_the_same_bytes_with_other_noise(out: Path) -> None:
    drives = read_campaign_drives(CampaignRecords(out))
    digests = {
        name: drives.compute_digest(arm_of(ORACLE, name), ("bend", 1))
        for name in ("none", "noise", "aside")
    }
    assert digests["none"] == digests["noise"]
    assert digests["none"] != digests["aside"]


def twin(folder: Path, *change: str) -> subprocess.CompletedProcess[str]:
    line = ("twin", str(folder), "oracle/none/aside/bend-s1", *change, "--trust")
    return subprocess.run(
        [sys.executable, "-m", "harness", *line],
        check=False,
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.thorough
def test_a_withheld_change_is_none(out: Path, tmp_path: Path) -> None:
    shutil.copytree(out, tmp_path / "out")
    refused = twin(tmp_path / "out", "--window", "0", "1")
    assert refused.returncode == 2
    assert "no window in time leaves them out; use --without" in refused.stderr
    done = twin(tmp_path / "out", "--without", "added_actor")
    assert done.returncode == 0, done.stderr
    twins = CampaignRecords(tmp_path / "out" / TWINS)
    made = twins.find_attempts()[key_of(ORACLE, "aside without added_actor", "bend", 1)]
    for name in ("tracks", "frames", "boxes", "sightings", "events"):
        one, other = (folder / f"{name}.parquet" for folder in (made, attempt(out, "none", ORACLE)))
        assert one.read_bytes() == other.read_bytes(), name


def planned(routes: Path, *parts: str, name: str = "mine") -> CampaignPlan:
    """Return the plan of a condition of these parts."""
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    listed = ", ".join(f"{{_target_: {part}}}" for part in parts)
    late = f"+interference.late=[{{_target_: {LATE}}}]"
    basis = ("routes.only=null", "traffic=few", "system=[oracle,ideal_late]", "interference=none")
    return plan_campaign(composed(*basis, *files, late, f"+interference.{name}=[{listed}]"))


def conditions(made: CampaignPlan, system: str = "ideal_late") -> list[str]:
    return [key.arm.condition for key in made.attempts if key.arm.system == system]


@pytest.mark.thorough
def test_changes_and_disturbances_make_a_condition_together(tmp_path: Path) -> None:
    write_route(tmp_path, "bend")
    far, still = f"{AT}.added_far.AddedFar", f"{AT}.moved.Moved, metres: 0"
    for parts, driven, alone in (
        ([far], True, True),
        ([far, LATE], True, False),  # delivers what `late` does, in another scene
        ([still], False, False),
        ([f"{AT}.second_sender.SecondSender"], True, False),
    ):
        made = planned(tmp_path, *parts)
        assert conditions(made) == ["none", "late", *(["mine"] if driven else [])]
        assert conditions(made, "oracle") == ["none", *(["mine"] if alone else [])]
        assert made.size_zero == (() if driven else ("mine",))


@pytest.mark.thorough
def test_shipped_conditions_suit_the_demo_routes() -> None:
    files = sorted((ROOT / "conf" / "interference").glob("*.yaml"))
    names = [file.stem for file in files if f"{AT}." in file.read_text()]
    assert len(names) == 11
    noise = ("rig.ego.noise_stddev=0.01", "system=ideal_late")
    made = plan_campaign(composed(f"interference=[none,{','.join(names)}]", *noise))
    assert {*conditions(made)} == {"none", *names}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("harness.world.traffic.Traffic", "only harness.channel.* and harness.world.changes.*"),
        (f"{AT}.census.SceneCensus, actors: {{}}, hazards: [], noise_seeds: []", "neither a Dist"),
    ],
)
def test_a_condition_holds_nothing_else(tmp_path: Path, part: str, says: str) -> None:
    write_route(tmp_path, "bend")
    with pytest.raises(UserError, match=re.escape(says)):
        planned(tmp_path, part)


def test_none_holds_no_change(tmp_path: Path) -> None:
    write_route(tmp_path, "bend")
    settings = composed("system=oracle", f"routes.file={tmp_path / 'routes.xml'}")
    settings["routes"]["hazards"] = settings["routes"]["only"] = None
    far: Any = {"_target_": f"{AT}.added_far.AddedFar"}
    settings["interference"] = {"none": [far]}
    with pytest.raises(UserError, match="holds added_far; give the condition another name"):
        plan_campaign(settings)


@pytest.mark.thorough
def test_what_cannot_be_planned_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write_route(tmp_path, "bend", "hop")
    hazard = f"{AT}.hazard_changed.HazardChanged"
    bad = {
        f"{hazard}, scaled: {{speed: 9}}": "speed = 21.6: must be",
        f"{hazard}, kind: cut_in, added: {{phase: 0.1}}": "no hazard cut_in",
        f"{hazard}, replaced: {{hides: nothing}}": "changed: nothing hides it any more",
        f"{AT}.added.AddedActor, station: 60": "route hop: station 60 m is beyond the route's",
        f"{AT}.noise_seed.NoiseSeed": "have no noise",
        f"{AT}.left_out.LeftOut, rank: 99": "traffic has 14 vehicles, 100 needed",
    }
    files = (
        f"routes.file={tmp_path / 'routes.xml'}",
        f"routes.hazards={tmp_path / 'hazards.json'}",
    )
    settings = ("routes.only=null", "traffic=few", "system=oracle", "interference=none", *files)
    for part, says in bad.items():
        with pytest.raises(UserError, match=re.escape(says)) as refused:
            plan_campaign(composed(*settings, f"+interference.mine=[{{_target_: {part}}}]"))
        assert str(refused.value).startswith("configuration: interference.mine: ")
        assert "\n" not in str(refused.value)
    part = next(iter(bad))
    done = run(
        tmp_path, *settings, f"+interference.x=[{{_target_: {part}}}]", f"out={tmp_path / 'no'}"
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "no").exists()
