"""Several egos of one attempt are driven on carlite: they share, arrive, collide, stand."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.campaign.planning.plan import plan_campaign
from harness.campaign.settings.config import hash_settings
from harness.common.errors import UserError
from harness.records.digests import hash_attempt_records
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.writing import EGOS, FILES
from harness.world.routes.scenario_sets import MDriveRoutes
from tests.campaign.egos import (
    PATIENCE,
    TOWN,
    Way,
    command,
    find_try,
    read_result,
    run,
    write_scenario,
)
from tests.campaign.tiny import composed, files, ledger
from tests.killing import kill_after_first_attempt
from tests.profiles import ONLY_WITH_ALL
from tests.world.little_checkout import write
from tests.world.test_scenario_sets import write_points

STREET: Way = ((136.7, 196.6), (166.7, 196.6))
TURN: Way = ((150.7, 196.6), (212.5, 174.1))
WEST: Way = ((38.4, 59.8), (-39.5, 59.8))
NORTH: Way = ((-1.6, 19.8), (-0.4, 108.4))
"""Both pass the middle of a crossing, 40 m from their starts."""
BEHIND: Way = ((58.4, 59.8), (-20.0, 59.8))
"""Behind the one that drives west."""
SHARING = ("system=ideal_late", "cooperation=egos", "interference=[pose_error]", "lights=green")
INTENDING = (
    *("system=ideal_late", "cooperation=egos_intentions", "lights=green"),
    "interference=[latency]",
)
FACTORS = (
    *("link=itsg5", "compute=declared", "attack=ghost", "defence=consensus"),
    *("compute.declared.sender.ideal_late=60", "compute.declared.ego.ideal_late=60"),
    *("attack.ghost.start=0", "driving.blocked_seconds=5"),
)
MIXED = (
    *INTENDING,
    *FACTORS,
    "partners.system.assignment={folder}/fleet.json",
    "partners.system.modalities.m2=ideal_late",
    "+partners.systems.ideal_late.min_hits=20",
)
"""The second ego has other settings than the first."""


@pytest.mark.thorough
def test_egos_that_share_arrive(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH, BEHIND), out, *SHARING)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 egos arrived" in done.stdout
    folder = find_try(out)
    joint = read_result(folder)["joint"]
    assert joint["all_arrived"] is True
    assert (joint["collisions"], joint["deadlock"]) == ([], None)
    assert joint["interdrive"] == {"score": 100.0, "success": True}
    # each ego has records of its own, in the form of the first one's
    campaign = CampaignRecords(out)
    (key,) = campaign.find_attempts()
    places = campaign.list_ego_folders(key)
    assert places == [folder, folder / "egos" / "1", folder / "egos" / "2"]
    results = [read_result(place) for place in places]
    assert [result["ego"] for result in results] == [0, 1, 2]
    assert ["joint" in result for result in results] == [True, False, False]
    assert [ego["driving_score"] for ego in joint["egos"]] == [
        result["driving_score"] for result in results
    ]
    heard = []
    for place in places:
        messages = read_stored_table(place / "messages.parquet", "messages")
        poses = read_stored_table(place / "poses.parquet", "poses")
        # one message of a sender in a step; the ego itself is `ego` in its own records
        assert not messages.duplicated(["sender", "capture_frame"]).any()
        assert set(poses.sender) == {"ego", *messages.sender}
        heard.append(set(messages.sender))
    assert heard == [{"ego-1", "ego-2"}, {"ego-0", "ego-2"}, {"ego-0", "ego-1"}]
    # what one believes of its place is one thing, for all that hear it
    first, _, third = (read_stored_table(place / "poses.parquet", "poses") for place in places)
    stated = [
        poses[poses.sender == "ego-1"].set_index("frame").drop(columns="sender")
        for poses in (first, third)
    ]
    both = stated[0].index.intersection(stated[1].index)
    assert len(both) > 10
    pd.testing.assert_frame_equal(stated[0].loc[both], stated[1].loc[both])
    wrong = stated[0].believed_x - stated[0].true_x
    assert 0.0 < wrong.abs().max() < 0.61
    # each sees the other as a road user, numbered from itself
    ids = [
        set(read_stored_table(place / "actors.parquet", "actors").actor_id) for place in places[:2]
    ]
    assert {0, 2, 4} == ids[0]
    assert {-2, 0, 2} == ids[1]


@pytest.mark.thorough
def test_one_collision_stands_in_both_records(tmp_path: Path) -> None:
    out = tmp_path / "out"
    blind = ("system=ideal_single", "++system.ideal_single.min_hits=1000000", "lights=green")
    done = run(write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH), out, *blind)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 of 2 egos arrived, egos 0 and 1 collided" in done.stdout
    folder = find_try(out)
    joint = read_result(folder)["joint"]
    (collision,) = joint["collisions"]
    assert (collision["egos"], collision["reported_by"]) == ([0, 1], [0, 1])
    assert joint["all_arrived"] is False
    assert joint["interdrive"]["success"] is False
    numbers = []
    for place in (folder, folder / "egos" / "1"):
        events = read_stored_table(place / "events.parquet", "events")
        (row,) = events[events.kind == "collision_vehicle"].to_dict("records")
        assert row["time"] == pytest.approx(collision["time"], abs=0.06)
        numbers.append(int(row["actor_id"]))
    # each of the two is the other's actor
    assert numbers[0] == -numbers[1] != 0


@pytest.mark.thorough
def test_egos_that_stand_for_nothing_red_are_a_deadlock(tmp_path: Path) -> None:
    place = tmp_path / "set" / MDriveRoutes.folders[0] / "made" / "1"
    write_points(place / "v1.xml", STREET)
    write_points(place / "v2.xml", TURN)
    # a car that stands in the lane, ahead of both
    write_points(place / "parked.xml", ((163.0, 196.6),))
    ego = {"kind": "ego"}
    car = {"file": "parked.xml", "name": "car", "model": "vehicle.citroen.c3", "speed": 0.0}
    egos = [{"file": f"v{number}.xml", "name": f"Vehicle {number}", **ego} for number in (1, 2)]
    write(place / "actors_manifest.json", json.dumps({"ego": egos, "static": [car]}))
    out = tmp_path / "out"
    done = run(tmp_path / "set", out, "routes=mdrive", "driving.blocked_seconds=15")
    assert done.returncode == 0, done.stdout + done.stderr
    joint = read_result(find_try(out))["joint"]
    assert joint["deadlock"]["egos"] == [0, 1]
    assert joint["deadlock"]["time"] - joint["deadlock"]["since"] == pytest.approx(10.0, abs=0.41)
    assert [one["violation"] for one in joint["egos"]] == ["blocked", "blocked"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "more",
    [
        pytest.param(SHARING, marks=ONLY_WITH_ALL),
        pytest.param(INTENDING, marks=ONLY_WITH_ALL),
        MIXED,  # with plans, a radio, computing times, an attack and a defence, too
    ],
    ids=["sharing", "plans", "mixed"],
)
def test_a_kill_changes_no_record_of_any_ego(tmp_path: Path, more: tuple[str, ...]) -> None:
    assigned = {name: {"ego-1": "m2"} for name in ("r3_a_ins_c", "r4_a_ins_c")}
    write(tmp_path / "fleet.json", json.dumps(assigned))
    more = tuple(word.format(folder=tmp_path) for word in more)
    checkout = write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH)
    write_scenario(tmp_path, "r4_a_ins_c", STREET, TURN)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run(checkout, whole, *more).returncode == 0
    line = command(checkout, killed, *more)
    kill_after_first_attempt(line, killed, patience=PATIENCE)
    assert len(ledger(killed)) == 1
    assert run(checkout, killed, *more).returncode == 0
    records = [path for path in files(whole) if path.name != "timing.json"]
    further = ("cooperation=egos_intentions", *FACTORS[:4])
    tables = len(FILES) + sum(setting in more for setting in further)
    assert sum(path.parts[-3] == EGOS for path in records) == 2 * tables
    assert [path for path in files(killed) if path.name != "timing.json"] == records
    for path in records:
        assert (killed / path).read_bytes() == (whole / path).read_bytes(), path


@pytest.mark.thorough
def test_one_ego_has_the_same_bytes_as_before(tmp_path: Path) -> None:
    checkout = write_scenario(tmp_path, "r2_a_ins_c", STREET)
    one, everyone = tmp_path / "one", tmp_path / "all"
    assert run(checkout, one, "routes.source.driven=one").returncode == 0
    assert run(checkout, everyone).returncode == 0
    assert not (find_try(one) / "egos").exists()
    assert not {"joint", "ego"} & set(read_result(find_try(one)))
    assert hash_attempt_records(find_try(one)) == hash_attempt_records(find_try(everyone))
    (laid,) = (one / "routes").iterdir()
    assert "further" not in json.loads(laid.read_text())
    assert laid.read_bytes() == (everyone / "routes" / laid.name).read_bytes()


@pytest.mark.parametrize("routes", ["interdrive", "mdrive"])
def test_one_driven_ego_leaves_the_digest_as_it_was(routes: str) -> None:
    settings = composed(f"routes={routes}")
    assert "driven" not in settings["routes"]["source"]
    assert hash_settings(settings) == hash_settings(
        composed(f"routes={routes}", "routes.source.driven=one")
    )
    assert hash_settings(settings) != hash_settings(
        composed(f"routes={routes}", "routes.source.driven=all")
    )


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            ("compute=declared", "compute.declared.busy=wait"),
            "compute.declared.busy=wait is for one: a driven ego computes messages and its own step"
            " on one device; choose busy=parallel",
        ),
        (
            ("intervention=windows_CCME",),
            r"intervention\.\w+ has a window before the meeting with a hazard, which only the first"
            " ego has",
        ),
        (("interference=[turned]",), r"interference\.\w+ changes the scene of one"),
    ],
)
def test_what_is_for_one_ego_is_refused(
    tmp_path: Path, setting: tuple[str, ...], words: str
) -> None:
    checkout = write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH)
    settings = composed(
        *("routes=interdrive", f"routes.checkout={checkout}", f"routes.source.town={TOWN}"),
        *("routes.source.driven=all", "system=ideal_late", "interference=[none]", *setting),
    )
    with pytest.raises(UserError, match=f"r3_a_ins_c has several driven egos, and {words}"):
        plan_campaign(settings)


def test_only_several_egos_can_be_the_only_partners(tmp_path: Path) -> None:
    checkout = write_scenario(tmp_path, "r3_a_ins_c", WEST, NORTH)
    line = (
        *("routes=interdrive", f"routes.checkout={checkout}", f"routes.source.town={TOWN}"),
        *("system=ideal_late", "cooperation=egos", "interference=[latency]"),
    )
    assert len(plan_campaign(composed(*line, "routes.source.driven=all")).attempts) == 1
    with pytest.raises(UserError, match="no agent can ever be a partner"):
        plan_campaign(composed(*line))
