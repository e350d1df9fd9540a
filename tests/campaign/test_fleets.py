"""Which system each partner uses: words, arms, files in HEAL's form, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from harness.campaign.planning.plan import plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.settings.composing import compose_config
from harness.campaign.settings.config import hash_settings, resolve_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_choices import add_partner_choices
from harness.common.errors import UserError
from harness.records.arms import Arm
from tests.campaign.tiny import run, write_route

CAMERAS = "rig=v2xverse_cameras"
NONE = "interference=none"


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step")


def settings_of(*words: str) -> CampaignSettings:
    """Return the settings of a command line, as the command composes them."""
    settings = resolve_settings(compose_config(words))
    refuse_misshapen(settings)
    return settings


def list_planned(routes: Path, *words: str) -> tuple[list[str], tuple[str, ...], tuple[str, ...]]:
    """Return the arms of a campaign, those that cannot be driven, and what is said of systems."""
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    plan = plan_campaign(settings_of(*files, NONE, *words))
    arms = list(dict.fromkeys(str(key.arm) for key in plan.attempts))
    return arms, plan.unfit, plan.systems


def refuse(routes: Path, *words: str) -> str:
    """Return the one line with which a campaign is refused at planning."""
    with pytest.raises(UserError) as raised:
        list_planned(routes, *words)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_fleet_of_one_kind_changes_neither_settings_nor_digest() -> None:
    plain = settings_of()
    for words in (
        ["partners.system=own"],
        ["partners.system.roadside=own", "partners.system.vehicle=[own]"],
        ["partners.system.assignment=own"],
    ):
        same = settings_of(*words)
        assert "partners" not in same
        assert same == plain
        assert hash_settings(same) == hash_settings(plain)
    mixed = settings_of("partners.system=late")
    assert hash_settings(mixed) != hash_settings(plain)
    assert {name: part for name, part in mixed.items() if name != "partners"} == plain


def test_resolved_settings_are_those_of_a_folder() -> None:
    settings: Any = settings_of("partners.system.roadside=[own,camera_late]")
    assert settings["partners"]["fleets"] == {
        "own": {},
        "roadside_camera_late": {"roadside": "camera_late"},
    }
    assert [*settings["partners"]["systems"]] == ["camera_late"]
    assert resolve_settings(OmegaConf.create(settings)) == settings


@pytest.mark.parametrize(
    ("words", "fleets"),
    [
        (["partners.system=late"], {"late": {"roadside": "late", "vehicle": "late"}}),
        (["partners.system={all: late}"], {"late": {"roadside": "late", "vehicle": "late"}}),
        (
            ["partners.system.roadside=[own,late]", "partners.system.vehicle=early"],
            {
                "vehicle_early": {"vehicle": "early"},
                "roadside_late_vehicle_early": {"roadside": "late", "vehicle": "early"},
            },
        ),
        (
            ["partners.system.roadside=late", "partners.system.vehicle=late"],
            {"late": {"roadside": "late", "vehicle": "late"}},
        ),
    ],
)
def test_fleets_are_called_after_what_they_are(
    words: list[str], fleets: dict[str, dict[str, str]]
) -> None:
    settings: Any = settings_of(*words)
    assert settings["partners"]["fleets"] == fleets


def test_words_choose_the_files_of_the_systems_that_they_name() -> None:
    words = ["partners.system=[own,late]", "partners.system.modalities={m1: early}", "out=x"]
    chosen = add_partner_choices(words)
    assert chosen[0] == "partners.system.all=[own,late]"
    assert chosen[-1] == "system@partners.systems=[late,early]"
    made = ["+system.mine._target_=tests.campaign.picture_reader.PictureReader"]
    assert add_partner_choices([*made, "partners.system=mine"])[2:] == []
    assert add_partner_choices(["system=late", "partners.system.assignment=late"])[2:] == []


def test_a_partner_has_other_settings_than_the_ego(tmp_path: Path) -> None:
    weights = "partners.systems.late.weights=random"
    settings: Any = settings_of("system=late", "partners.system.roadside=late", weights)
    assert settings["system"]["late"]["weights"] is None
    assert settings["partners"]["systems"]["late"]["weights"] == "random"


def test_arms_that_mean_the_same_are_one(routes: Path) -> None:
    chosen = ("system=[late,ideal_single]", "cooperation=[ahead,mixed]", "partners.system=[late]")
    arms, unfit, _ = list_planned(routes, *chosen)
    assert arms == ["late/ahead/none", "late/mixed/none", "ideal_single/none/none"]
    assert not unfit
    # another network of that name is another system
    arms, _, notes = list_planned(routes, *chosen, "partners.systems.late.weights=random")
    assert arms[:2] == ["late/ahead/none/partners=late", "late/mixed/none/partners=late"]
    named = "partners.systems.late"
    assert f"partners=late: roadside units use {named}; connected vehicles use {named}" in notes


def test_kinds_that_a_cooperation_lacks_make_no_arm(routes: Path) -> None:
    kinds = (
        "partners.system.roadside=[own,ideal_late]",
        "partners.system.vehicle=[own,ideal_late]",
    )
    arms, _, _ = list_planned(routes, "system=late", "cooperation=[ahead,mixed]", *kinds)
    assert arms == [
        "late/ahead/none",
        "late/ahead/none/partners=roadside_ideal_late",
        "late/mixed/none",
        "late/mixed/none/partners=vehicle_ideal_late",
        "late/mixed/none/partners=roadside_ideal_late",
        "late/mixed/none/partners=ideal_late",
    ]
    line = refuse(routes, "system=late", "cooperation=ahead", "partners.system.vehicle=ideal_late")
    assert "no arm has connected vehicles that share" in line
    line = refuse(routes, "system=single", "partners.system=late")
    assert "no arm has roadside units or connected vehicles that share" in line


def test_an_arm_reads_back() -> None:
    arm = Arm.from_factors(system="late", cooperation="ahead", partners="roadside_camera_late")
    assert str(arm) == "late/ahead/none/partners=roadside_camera_late"
    assert Arm.parse_name(str(arm)) == arm == Arm.from_path(arm.path.parts)
    assert arm.replace_factors(partners="own") == Arm.from_factors(
        system="late", cooperation="ahead"
    )


@pytest.mark.parametrize(
    ("ego", "partner", "why"),
    [
        ("late", "camera_late", ""),
        ("late", "fcooper", ""),
        ("late", "single", ""),
        ("late", "ideal_single", ""),
        ("ideal_late", "late", ""),
        ("camera_late", "late", ""),
        ("fcooper", "attfuse", ""),
        ("mixed_attfuse", "camera_attfuse", ""),
        ("camera_attfuse", "both_fcooper", ""),
        ("early", "late", "early fuses points, and partners with late send boxes"),
        ("fcooper", "late", "fcooper fuses feature maps, and partners with late send boxes"),
        ("early", "single", "partners with single send nothing that its class says"),
        ("fcooper", "camera_fcooper", "of pillars and aligned cameras in size lite"),
        ("fcooper", "codriving", "partners with codriving send 24 x 96 x 128, 48 x 48 x 64,"),
    ],
)
def test_which_pairs_can_be_fused(routes: Path, ego: str, partner: str, why: str) -> None:
    words = (f"system={ego}", f"partners.system.roadside={partner}", CAMERAS)
    if not why:
        arms, _, _ = list_planned(routes, *words)
        assert arms == [f"{ego}/ahead/none/partners=roadside_{partner}"]
    else:
        assert why in refuse(routes, *words)


def test_a_wider_encoder_is_refused_for_features_and_taken_for_boxes(routes: Path) -> None:
    wide = ("partners.systems.fcooper.size=full", "partners.systems.fcooper.weights=random")
    named = ("partners.system.roadside=fcooper", *wide)
    line = refuse(routes, "system=fcooper", *named)
    assert "pillars in size full" in line
    assert "not 16 x 96 x 128 of pillars in size lite" in line
    assert list_planned(routes, "system=late", *named)[0]


def test_features_of_encoders_that_were_trained_apart_are_reported(routes: Path) -> None:
    _, _, notes = list_planned(routes, "system=fcooper", "partners.system.roadside=attfuse")
    assert (
        "fcooper fuses features of attfuse: shapes agree, and the encoders were trained apart"
        in (notes)
    )
    words = ("system=mixed_attfuse", "partners.system.roadside=camera_attfuse", CAMERAS)
    assert not any("trained apart" in note for note in list_planned(routes, *words)[2])


def test_where_some_arms_suit_the_others_are_listed(routes: Path) -> None:
    words = ("system=[late,early]", "partners.system.roadside=[own,ideal_late]")
    arms, unfit, _ = list_planned(routes, *words)
    assert arms == [
        "late/ahead/none",
        "late/ahead/none/partners=roadside_ideal_late",
        "early/ahead/none",
    ]
    assert len(unfit) == 1
    assert "early fuses points, and partners with ideal_late send boxes" in unfit[0]


def test_cameras_of_a_partner_need_a_rig_that_has_them(routes: Path) -> None:
    words = ("system=late", "partners.system.roadside=camera_late")
    assert "partners.systems.camera_late reads images, and the rig has no cameras" in refuse(
        routes, *words
    )
    assert list_planned(routes, *words, CAMERAS)[0]


def test_disturbances_change_what_their_agents_sense(routes: Path) -> None:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    night = ("interference=[none,night]", CAMERAS, "system=late")
    with pytest.raises(UserError, match="changes pictures, and the system reads none"):
        plan_campaign(settings_of(*files, *night))
    seeing = settings_of(*files, *night, "partners.system.roadside=camera_late")
    assert len(plan_campaign(seeing).attempts) == 2


def test_declared_times_are_those_of_the_partners(routes: Path) -> None:
    words = ("system=late", "compute=declared", CAMERAS)
    line = refuse(routes, *words, "partners.system.roadside=fcooper")
    assert "compute has times of what fcooper shares, not of its boxes" in line
    with pytest.raises(UserError, match="has no time of the system camera_late"):
        settings_of(*words, "partners.system.roadside=camera_late")
    times = ("+compute.declared.sender.camera_late=80", "+compute.declared.ego.camera_late=90")
    assert list_planned(routes, *words, *times, "partners.system.roadside=camera_late")[0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["partners.system.roadside=[late,late]"], "names one twice"),
        (["partners.system.roadside=[]"], "a name or a list of names is needed"),
        (["partners.system.roadside=3"], "a name or a list of names is needed"),
        (["partners.system=late", "partners.system.vehicle=late"], "both say which system"),
        (["partners.system.assignment=x.json", "partners.system.vehicle=late"], "both say which"),
    ],
)
def test_bad_words_are_refused_in_one_line(routes: Path, words: list[str], line: str) -> None:
    assert line in refuse(routes, "system=late", *words)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["partners.system.roadside=camera_lat"], "unknown choice camera_lat; did you mean"),
        (["partners.system=late", "partners.systems.late.weight=x"], "unknown key weight"),
        (["partners.system.roadside=late", "system=early"], "early fuses points, and partners"),
        (["partners.system.pole=late"], "partners.system: unknown key pole"),
    ],
)
def test_the_command_refuses_in_one_line_with_exit_2(
    routes: Path, words: list[str], line: str
) -> None:
    done = run(routes, "system=late", NONE, "routes.hazards=null", *words, "dry_run=true")
    assert done.returncode == 2, done.stdout + done.stderr
    (said,) = done.stderr.splitlines()
    assert line in said


def assign(folder: Path, content: object, *words: str) -> list[str]:
    """Return words with a file of assignments, in which `m1` is late and `m2` ideal_late."""
    file = folder / "fleet.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    modalities = "partners.system.modalities={m1: late, m2: ideal_late}"
    return ["system=late", f"partners.system.assignment={file}", modalities, *words]


def test_a_file_in_the_form_of_heal_gives_agents_their_systems(
    routes: Path, tmp_path: Path
) -> None:
    agents = {"step": {"ego": "m1", "roadside-0": "m2"}, "elsewhere": {"vehicle-99": "m1"}}
    arms, _, notes = list_planned(routes, *assign(tmp_path, agents, "cooperation=mixed"))
    assert arms == ["late/mixed/none/partners=fleet"]
    assert any(
        "partners=fleet: by agent (m1: partners.systems.late, m2: ideal_late)" in note
        for note in notes
    )
    settings: Any = settings_of(*assign(tmp_path, agents))
    assert settings["partners"]["fleets"]["fleet"]["agents"] == agents


@pytest.mark.parametrize(
    ("agents", "line"),
    [
        ({"step": {"roadside-1": "m2"}}, "route step: no agent is called roadside-1 (there: ego,"),
        ({"step": {"vehicle-99": "m2"}}, "no agent is called vehicle-99 (there: ego, roadside-0,"),
        ({"step": {"641": "m2"}}, "no agent is called 641"),
        ({"stop": {"roadside-0": "m2"}}, "unknown route step; did you mean stop?"),
        ({"step": {"roadside-0": "m3"}}, "no system for the modality 'm3' (known: m1, m2)"),
        ({"step": {"roadside-0": 1}}, "no system for the modality 1"),
        ({"step": {"ego": "m2"}}, "fleet gives the ego ideal_late in step"),
        ({"step": ["roadside-0"]}, "step: an object is needed"),
        ([], "an object is needed: {scenario: {agent: modality}}"),
        ('{"step": {"roadside-0": "m2"', "not JSON"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_line(
    routes: Path, tmp_path: Path, agents: object, line: str
) -> None:
    assert line in refuse(routes, *assign(tmp_path, agents, "cooperation=mixed"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("agents", "line"),
    [
        ({"step": {"roadside-1": "m2"}}, "no agent is called roadside-1"),
        ('{"step": {"roadside-0": "m2"', "fleet.json: not JSON"),
    ],
)
def test_the_command_refuses_such_a_file_with_exit_2(
    routes: Path, tmp_path: Path, agents: object, line: str
) -> None:
    words = (*assign(tmp_path, agents), NONE, "routes.hazards=null", "dry_run=true")
    done = run(routes, *words)
    assert done.returncode == 2, done.stdout + done.stderr
    (said,) = done.stderr.splitlines()
    assert line in said


def test_a_file_that_is_not_there_is_one_line(routes: Path, tmp_path: Path) -> None:
    words = assign(tmp_path, {})
    (tmp_path / "fleet.json").unlink()
    assert refuse(routes, *words).endswith("fleet.json: No such file or directory")
