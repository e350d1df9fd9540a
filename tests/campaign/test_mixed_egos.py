"""Driven egos of one attempt with systems of their own, as a file of assignments names them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.campaign.attempt.ego_parts import build_ego_parts
from harness.campaign.planning.plan import plan_campaign
from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_choices import add_partner_choices
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.reading import read_stored_table
from tests.campaign.egos import TOWN, command, find_try, read_result, run, write_scenario
from tests.campaign.test_several_egos import BEHIND, NORTH, WEST
from tests.campaign.tiny import composed, environment
from tests.conftest import ROOT

NAME = "r3_a_ins_c"


def assign(folder: Path, agents: dict[str, str], **modalities: str) -> tuple[str, ...]:
    """Write a file of assignments; return the words that name it."""
    (folder / "fleet.json").write_text(json.dumps({NAME: agents}))
    named = ", ".join(f"{key}: {name}" for key, name in modalities.items())
    return (
        f"partners.system.assignment={folder / 'fleet.json'}",
        f"partners.system.modalities={{{named}}}",
    )


def line(folder: Path, *more: str) -> tuple[str, ...]:
    """Return the words of a campaign on a scenario of two egos."""
    checkout = write_scenario(folder, NAME, WEST, NORTH)
    return (
        *("routes=interdrive", f"routes.checkout={checkout}", f"routes.source.town={TOWN}"),
        *("routes.source.driven=all", "interference=[none]", *more),
    )


def settle(*words: str) -> CampaignSettings:
    """Return the settings of a command line that names systems of agents."""
    return composed(*add_partner_choices(words))


def test_egos_are_made_of_the_systems_that_a_file_names(tmp_path: Path) -> None:
    fleet = assign(tmp_path, {"ego-1": "m2"}, m1="own", m2="ideal_single")
    settings = settle(*line(tmp_path, "system=ideal_late", "cooperation=egos", *fleet))
    assert hash_settings(settings) != hash_settings(
        settle(*line(tmp_path, "system=ideal_late", "cooperation=egos"))
    )
    (arm,) = {key.arm for key in plan_campaign(settings).attempts}
    assert arm == Arm.from_factors(
        system="ideal_late", cooperation="egos", condition="none", partners="fleet"
    )
    parts = [
        build_ego_parts(settings, arm, route=NAME, number=number, seed=1, among_egos=True)
        for number in range(3)
    ]
    kinds = [type(part.system).__name__ for part in parts]
    assert kinds == ["IdealLate", "IdealSingle", "IdealLate"]
    assert len({id(part.system) for part in parts}) == 3
    for part in parts:
        names = [part.sharing.find_name(f"ego-{number}", "vehicle") for number in range(3)]
        assert names == ["ideal_late", "ideal_single", "ideal_late"]


@pytest.mark.parametrize(
    ("agents", "more", "words"),
    [
        ({"ego-1": "m2"}, "cooperation=ahead", "is for egos that share with each other alone"),
        ({"ego-0": "m2"}, "cooperation=egos", "fleet gives the ego ideal_single in r3_a_ins_c"),
        ({"ego": "m2"}, "cooperation=egos", "fleet gives the ego ideal_single in r3_a_ins_c"),
        ({"ego-2": "m2"}, "cooperation=egos", "no agent is called ego-2 (there: ego-0 to ego-1)"),
        (
            {"ego-1": "m2"},
            "cooperation=egos",
            "fcooper fuses feature maps, and partners with ideal_late send boxes",
        ),
    ],
)
def test_what_cannot_be_is_one_line(
    tmp_path: Path, agents: dict[str, str], more: str, words: str
) -> None:
    fleet = assign(tmp_path, agents, m2="fcooper" if "fcooper" in words else "ideal_single")
    settings = settle(*line(tmp_path, "system=ideal_late", more, *fleet))
    with pytest.raises(UserError) as refused:
        plan_campaign(settings)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_fleet_by_kind_is_for_one_ego(tmp_path: Path) -> None:
    settings = settle(
        *line(tmp_path, "system=ideal_late", "cooperation=ahead"),
        "partners.system.roadside=ideal_single",
    )
    with pytest.raises(UserError, match="several driven egos, and partners=roadside_ideal_single"):
        plan_campaign(settings)


def test_the_command_refuses_with_exit_2(tmp_path: Path) -> None:
    fleet = assign(tmp_path, {"ego-7": "m2"}, m2="ideal_single")
    checkout = write_scenario(tmp_path, NAME, WEST, NORTH)
    words = command(checkout, tmp_path / "out", "system=ideal_late", "cooperation=egos", *fleet)
    done = subprocess.run(
        words, cwd=ROOT, env=environment(), check=False, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip()) == (2, "")
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_egos_with_two_systems_share_boxes(tmp_path: Path) -> None:
    fleet = assign(tmp_path, {"ego-1": "m2"}, m2="late")
    out = tmp_path / "out"
    checkout = write_scenario(tmp_path, NAME, WEST, NORTH, BEHIND)
    words = ("system=ideal_late", "cooperation=egos_intentions", "lights=green", *fleet)
    done = run(checkout, out, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = find_try(out)
    systems = [ego["system"] for ego in read_result(folder)["joint"]["egos"]]
    assert systems == ["ideal_late", "late", "ideal_late"]
    messages = [
        read_stored_table(place / "messages.parquet", "messages")
        for place in (folder, folder / "egos" / "1")
    ]
    assert [set(table.system) for table in messages] == [{"ideal_late", "late"}, {"ideal_late"}]
    assert set(messages[0][messages[0].system == "late"].sender) == {"ego-1"}
    # boxes of 33 bytes that the senders detect, next to a plan
    for table in (messages[0][messages[0].system == "late"], messages[1]):
        boxes = (table.bytes - (24 * 20 + 8) * (table.capture_frame > 0)) / 33
        assert (boxes == boxes.round()).all()
        assert boxes.max() > 0
    used = [read_result(place)["messages"] for place in (folder, folder / "egos" / "1")]
    assert [one["partner_systems"] for one in used] == [
        {"ego-1": "late", "ego-2": "ideal_late"},
        {"ego-0": "ideal_late", "ego-2": "ideal_late"},
    ]
    assert all(one["used"] > 10 for one in used)
