"""Attacks and defences are arms; without a budget, or without a rejection, records are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from analysis.attempt import read_checked_table
from analysis.collection import collect_campaigns
from analysis.tables.attacks import build_attack_frame, collect_attack_drives
from harness.campaign.settings.config import hash_settings
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from tests.campaign.tiny import (
    assert_refused_in_one_line,
    composed,
    plan_arms,
    run,
    write_route,
)
from tests.once import once

ATTACKS = "harness.channel.attacks"
DEFENCES = "harness.channel.defences"


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step")


def test_only_named_attacks_and_defences_are_driven(routes: Path) -> None:
    chosen = ("system=[ideal_single,late]", "interference=none")
    plain = ["ideal_single/none/none", "late/ahead/none"]
    assert plan_arms(routes, *chosen) == plain
    assert plan_arms(routes, *chosen, "attack=none", "defence=none") == plain
    # without cooperation, no partner can lie, and no message is judged
    both = plan_arms(routes, *chosen, "attack=[none,ghost]", "defence=[none,free_space]")
    late = plain[1]
    assert sorted(both) == sorted(
        [
            *plain,
            f"{late}/attack=ghost",
            f"{late}/defence=free_space",
            f"{late}/attack=ghost/defence=free_space",
        ]
    )


def test_an_arm_lacks_what_is_none() -> None:
    plain = Arm.from_factors(system="late")
    assert plain == plain.replace_factors(attack="none", defence="none")
    both = plain.replace_factors(attack="ghost", defence="layered")
    assert str(both) == "late/none/none/attack=ghost/defence=layered"
    assert Arm.from_path(both.path.parts) == Arm.parse_name(str(both)) == both


def test_settings_without_either_do_not_name_the_groups() -> None:
    plain, none, some = (
        composed(*words) for words in ((), ("attack=none", "defence=none"), ("attack=ghost",))
    )
    assert "attack" not in plain
    assert "defence" not in plain
    assert "defence" not in some
    assert hash_settings(plain) == hash_settings(none) != hash_settings(some)


@pytest.mark.parametrize(
    ("system", "words", "line"),
    [
        ("fcooper", ["attack=ghost"], "ghost_attack acts on boxes or points, and the system's"),
        ("late", ["attack=perturbation"], "perturbation_attack acts on feature maps, and the sys"),
        (
            "fcooper",
            [
                "attack=perturbation",
                "attack.perturbation.knowledge=surrogate",
                "attack.perturbation.surrogate=codriving",
            ],
            r"surrogate = codriving does not fuse the system's maps \(valid: attfuse, disconet",
        ),
        ("fcooper", ["defence=omission"], "omission judges boxes, and partners share feature maps"),
        ("ideal_late", ["defence=match"], "match needs the ego's sweep, and the system"),
        ("early", ["attack=sybil"], "sybil_attack acts on boxes, and the system's partners share"),
        ("early", ["defence=free_space"], "free_space judges boxes, and partners share points"),
        ("ideal_late", ["defence=free_space"], "free_space needs the ego's sweep, and the system"),
        (
            "late",
            ["attack=ghost", "attack.ghost.kinds=[vehicle]"],
            "ghost_attack has no partner that could lie in ahead",
        ),
    ],
)
def test_what_cannot_act_is_refused_at_planning(
    routes: Path, system: str, words: list[str], line: str
) -> None:
    if "kinds" in words[-1]:
        words[-1] = f"+{words[-1]}"
    with pytest.raises(UserError, match=line) as raised:
        plan_arms(routes, f"system=[{system}]", "interference=none", *words)
    assert "\n" not in str(raised.value)


def test_of_several_systems_those_that_cannot_be_attacked_are_left_out(routes: Path) -> None:
    arms = plan_arms(
        routes, "system=[late,early,fcooper]", "interference=none", "attack=[none,ghost,replay]"
    )
    attacked = {arm.split("/")[0] for arm in arms if arm.endswith("attack=ghost")}
    assert attacked == {"late", "early"}
    assert "fcooper/ahead/none/attack=replay" in arms


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ([f"+attack.none={{_target_: {ATTACKS}.ghost.GhostAttack}}"], r"attack\.none is the arm"),
        (
            [f"+attack.x._target_={DEFENCES}.free_space.FreeSpace"],
            r"only harness\.channel\.attacks",
        ),
        ([f"+attack.x._target_={ATTACKS}.attack.Lie"], r"attack\.x needs"),
        (["attack=ghost", "attack.ghost.partners=-1"], r"ghost_attack\.partners = -1: must be ≥ 0"),
        (["attack=ghost", "attack.ghost.share=0.5"], r"set one, the other to null"),
        (["attack=ghost", "attack.ghost.distance=near"], r"attack\.ghost\.distance"),
        (
            [f"+defence.none={{_target_: {DEFENCES}.free_space.FreeSpace}}"],
            r"defence\.none is the arm",
        ),
        (
            ["+defence.x._target_=harness.channel.channel.Channel"],
            r"only harness\.channel\.defences",
        ),
        (["defence=free_space", "defence.free_space.rays=0"], r"free_space\.rays = 0: must be ≥ 1"),
    ],
)
def test_bad_settings_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(settings, words)


def test_a_bad_setting_ends_the_command_with_2(routes: Path) -> None:
    done = run(routes, "system=late", "attack=ghost", "attack.ghost.partners=-1", "dry_run=true")
    assert done.returncode == 2
    assert "ghost_attack.partners = -1: must be ≥ 0" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of campaigns with attacks and defences."""
    return once(tmp_path_factory, "attacks", drive)


def drive(folder: Path) -> Path:
    """Drive one short route: plain, with a null attack and a null defence, and with a ghost."""
    routes = write_route(folder, "step")
    chosen = {
        "plain": ("system=late",),
        "null": (
            "system=late",
            "attack=ghost",
            "attack.ghost.partners=0",
            "defence=free_space",
            "defence.free_space.reach=0",
        ),
        "ghost": (
            "system=late",
            "attack=ghost",
            "attack.ghost.start=0.5",
            "defence=[none,free_space]",
            "driving.blocked_seconds=3",
        ),
    }
    for name, words in chosen.items():
        common = ("interference=none", "routes.hazards=null", f"out={folder / name}")
        done = run(routes, *common, *words)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def places_of(out: Path) -> dict[str, Path]:
    """Return where the records are, by defence."""
    attempts = CampaignRecords(out).find_attempts()
    return {key.arm["defence"]: place for key, place in attempts.items()}


def result_without_arm(place: Path) -> dict[str, Any]:
    """Return a result but for what names the arm, and what a defence judged."""
    result: dict[str, Any] = json.loads((place / "result.json").read_text())
    del result["crucible"]["attempt"]
    result["crucible"]["messages"].pop("defence", None)
    return result


@pytest.mark.thorough
def test_a_null_attack_and_a_null_defence_leave_the_plain_arm_byte_for_byte(driven: Path) -> None:
    (plain,), (null,) = (places_of(driven / arm).values() for arm in ("plain", "null"))
    for table in TABLES:
        file = f"{table}.parquet"
        assert (plain / file).read_bytes() == (null / file).read_bytes(), file
    assert result_without_arm(plain) == result_without_arm(null)
    for table in ("attacks", "defences"):
        assert not (plain / f"{table}.parquet").exists()
    assert not (null / "attacks.parquet").exists()
    settings = (driven / "plain" / "campaign.yaml").read_text()
    assert "\n  attack:" not in settings
    assert "\n  defence:" not in settings


@pytest.mark.thorough
def test_a_ghost_is_delivered_at_the_door_and_believed_on_the_lane(driven: Path) -> None:
    place = places_of(driven / "ghost")["none"]
    rows = pq.read_table(place / "attacks.parquet").to_pandas()
    boxes = pq.read_table(place / "boxes.parquet").to_pandas()
    messages = pq.read_table(place / "messages.parquet").to_pandas()
    assert len(rows) > 5
    # each lie is a message that was delivered
    sent = messages.set_index(["sender", "capture_frame"])["fate"]
    lied = list(zip(rows["sender"], rows["capture_frame"], strict=True))
    assert all(sent[key] == "delivered" for key in lied)
    # what the table calls believed is among the cooperative detections, where no road user is
    believed = rows[rows["believed"] > 0]
    assert len(believed) > 0.8 * len(rows)
    for frame in believed["frame"]:
        of_step = boxes[boxes["frame"] == frame]
        stated = of_step[(of_step["source"] == "cooperative") & (of_step["class"] == "vehicle")]
        truth = of_step[of_step["source"] == "truth"][["x", "y"]].to_numpy()
        false = [
            row
            for row in stated[["x", "y"]].to_numpy()
            if not len(truth) or np.hypot(*(truth - row).T).min() > 2.0
        ]
        # ahead on the straight way of the route
        assert any(0 < x < 30 and abs(y) < 2.0 for x, y in false), frame


@pytest.mark.thorough
def test_free_space_rejects_the_ghost_and_the_records_agree(driven: Path) -> None:
    place = places_of(driven / "ghost")["free_space"]
    rows = pq.read_table(place / "attacks.parquet").to_pandas()
    judged = pq.read_table(place / "defences.parquet").to_pandas()
    record = json.loads((place / "result.json").read_text())["crucible"]["messages"]
    assert record["attack"]["stopped"] == rows["stopped"].sum() > 0
    assert record["defence"]["rejected_boxes"] == judged["rejected"].sum()
    assert judged["rejected_added"].sum() == rows["stopped"].sum()
    # a ghost that is rejected is not believed
    assert not ((rows["stopped"] > 0) & (rows["believed"] > 0)).any()
    assert "defence" in json.loads((place / "timing.json").read_text())["seconds"]


@pytest.mark.thorough
def test_a_perturbation_reaches_the_ego_within_its_bound_and_is_read_again(
    tmp_path: Path,
) -> None:
    """Perturb feature maps of a drive, next to a defence that fuses each of them alone."""
    done = run(
        write_route(tmp_path, "step"),
        *("system=fcooper", "interference=none", "routes.hazards=null", "defence=match"),
        *("attack=perturbation", "attack.perturbation.aim=create"),
        *("attack.perturbation.distance=12", "attack.perturbation.steps=3"),
        f"out={tmp_path / 'out'}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    campaign = CampaignRecords(tmp_path / "out")
    ((key, place),) = campaign.find_attempts().items()
    rows = read_checked_table(campaign, "attacks", key)
    assert len(rows) > 3
    # single precision of sums
    assert rows["perturbation"].between(0.5, 1.0 + 1e-5).all()
    assert (rows["loss_after"] < rows["loss_before"]).all()
    assert rows["added"].max() == 1
    judged = read_checked_table(campaign, "defences", key)
    assert set(judged["check"]) == {"match"}
    whole = judged.groupby(["frame", "sender"])["whole"].any()
    passed = rows.set_index(["frame", "sender"])["passed"]
    assert (passed == ~whole.loc[passed.index]).all()
    assert {"attack", "defence"} <= set(json.loads((place / "timing.json").read_text())["seconds"])
    # the table has what the records have
    drives = collect_attack_drives(collect_campaigns([tmp_path / "out"]))
    table = build_attack_frame(drives).set_index("measure")["value"]
    assert table["loss of the goal, honest maps"] == pytest.approx(rows["loss_before"].mean())
    assert table["loss of the goal, as sent"] == pytest.approx(rows["loss_after"].mean())
    assert table["attack, ms/lie"] > 0
