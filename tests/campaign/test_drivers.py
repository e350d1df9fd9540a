"""Drivers are arms; records under the default are those of campaigns without the group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.campaign.attempt.ego_parts import set_up_driver
from harness.campaign.settings.config import hash_settings
from harness.campaign.twins.record_diff import list_record_differences
from harness.campaign.twins.twins import AttemptTwin, CampaignTwins
from harness.common.errors import AttemptError, UserError
from harness.records.arms import Arm, format_arm_label, list_varying_factors
from harness.records.reading import CampaignRecords
from harness.records.schema import TABLES
from harness.records.twins import TWINS, TwinChange
from tests.campaign.plain import SETTINGS, drive_plain_once
from tests.campaign.systems import DeafAtSpeed
from tests.campaign.tiny import (
    assert_refused_in_one_line,
    composed,
    ledger,
    plan_arms,
    run,
    write_route,
)
from tests.keys import key_of
from tests.once import once


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_route(tmp_path_factory.mktemp("routes"), "step", "hop")


def test_only_named_drivers_are_driven_and_the_default_has_no_name(routes: Path) -> None:
    chosen = ("system=[oracle,ideal_late]", "interference=latency")
    plain = ["oracle/none/none", "ideal_late/ahead/latency"]
    assert plan_arms(routes, *chosen) == plan_arms(routes, *chosen, "driver=default") == plain
    named = [f"{arm}/driver=cautious" for arm in plain]
    assert plan_arms(routes, *chosen, "driver=cautious") == named
    both = plan_arms(routes, *chosen, "driver=[default,idm]")
    assert both == [name for arm in plain for name in (arm, f"{arm}/driver=idm")]


def test_a_sweep_of_speed_makes_drivers_and_no_conditions(routes: Path) -> None:
    chosen = ("system=ideal_late", "interference=latency", "driver=[default,idm]")
    arm = "ideal_late/ahead/latency"
    assert plan_arms(routes, *chosen, "sweep.speed=[0.5,1,1.5]") == [
        f"{arm}/driver=speed_0.5",
        arm,
        f"{arm}/driver=speed_1.5",
        f"{arm}/driver=idm_speed_0.5",
        f"{arm}/driver=idm",
        f"{arm}/driver=idm_speed_1.5",
    ]
    # with a size of latency, every pair of the two
    both = plan_arms(
        routes, *chosen[:1], "interference=none", "sweep.latency=[0.4]", "sweep.speed=[2]"
    )
    assert both == [
        "ideal_late/ahead/none/driver=speed_2",
        "ideal_late/ahead/latency=0.4/driver=speed_2",
    ]
    assert composed("sweep.speed=[1]") == composed("sweep.speed=null") == composed()


@pytest.mark.parametrize(
    ("speeds", "words"),
    [
        ("fast", r"sweep\.speed = fast: a list is needed"),
        ("[]", r"sweep\.speed = \[\]: a list is needed"),
        ("[0]", r"sweep\.speed = \[0\]: 0 must be from 0\.1 to 5"),
        ("[a]", r"'a' is not a number"),
        ("[1.5,1.50]", r"names a size twice"),
    ],
)
def test_speeds_that_mean_nothing_are_one_line(speeds: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        composed(f"sweep.speed={speeds}")


def test_an_arm_lacks_its_default_driver_as_it_lacks_an_intervention() -> None:
    plain = Arm.from_factors(system="late")
    assert plain == plain.replace_factors(driver="default") == plain.replace_factors(driver="none")
    assert plain["driver"] == "default"
    idm = plain.replace_factors(driver="idm")
    assert Arm.from_path(idm.path.parts) == Arm.parse_name(str(idm)) == idm
    factors = list_varying_factors([plain, idm])
    labels = [format_arm_label(arm, factors) for arm in (plain, idm)]
    assert labels == ["late / none / default", "late / none / idm"]
    with pytest.raises(ValueError, match="not an arm"):
        Arm.parse_name("late/none/none/driver=default")


def test_settings_under_the_default_driver_do_not_name_the_group() -> None:
    """So that folders from before there were drivers keep their digests and settings."""
    assert "driver" not in composed("study=demo")
    digests = {hash_settings(composed(f"driver={name}")) for name in ("default", "[]", "idm")}
    assert len(digests | {hash_settings(composed("driver=[default,idm]"))}) == 3


def test_a_system_that_drives_by_itself_is_left_out_by_its_name(
    routes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    mine = "+system.mine._target_=tests.campaign.systems.Deaf"
    chosen = ("system=ideal_late", mine, "interference=none", "driver=idm")
    assert plan_arms(routes, *chosen) == [
        "ideal_late/ahead/none/driver=idm",
        "mine/ahead/none",
    ]
    with pytest.raises(UserError, match="driver with mine: it drives by itself"):
        plan_arms(routes, "system=[]", *chosen[1:])


def test_a_system_that_drives_by_itself_cruises_at_the_speeds_of_a_sweep(
    routes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    mine = "+system.mine._target_=tests.campaign.systems.DeafAtSpeed"
    chosen = ("system=[]", mine, "interference=none")
    slow, usual = "mine/ahead/none/driver=speed_0.5", "mine/ahead/none"
    assert plan_arms(routes, *chosen, "sweep.speed=[0.5,1]") == [slow, usual]
    assert plan_arms(routes, *chosen, "sweep.speed=[0.5]") == [slow]
    # another driver is still none of its own, at whatever speed
    both = plan_arms(routes, *chosen, "driver=[default,idm]", "sweep.speed=[0.5,1]")
    assert sorted(both) == sorted([slow, usual])
    with pytest.raises(UserError, match="driver with mine: it drives by itself"):
        plan_arms(routes, *chosen, "driver=idm", "sweep.speed=[0.5,1]")
    # the speed reaches the system
    settings = composed(*chosen, "driver=[default,idm]", "sweep.speed=[0.5,1]")
    system = DeafAtSpeed()
    for arm, factor in ((usual, 1.0), (slow, 0.5)):
        set_up_driver(settings, Arm.parse_name(arm), system)
        assert system.factor == factor
    with pytest.raises(AttemptError, match="drives by itself"):
        set_up_driver(settings, Arm.parse_name("mine/ahead/none/driver=idm_speed_0.5"), system)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["+driver.none={_target_: agents.driving.driver.Driver}"], r"driver\.none: an arm always"),
        (["+driver.x._target_=agents.oracle.Oracle"], r"only agents\.driving\.\* may be named"),
        (["+driver.x._target_=agents.driving.path.RoutePath"], r"driver\.x needs route"),
        (
            ["+driver.x._target_=agents.driving.tracking.RoadUserTracker"],
            r"driver\.x: .*RoadUserTracker is no driver",
        ),
        (["driver=idm", "+driver.idm.settings={cruise: 3}"], r"driver\.idm\.settings"),
        (
            [
                "driver=idm",
                "system=oracle",
                "+system.oracle.driving={_target_: agents.driving.settings.DrivingSettings}",
            ],
            r"system\.oracle\.driving sets the default driver, and driver=idm takes its place",
        ),
    ],
)
def test_bad_drivers_are_one_line(settings: list[str], words: str) -> None:
    assert_refused_in_one_line(settings, words)


@pytest.mark.thorough
def test_an_unknown_driver_is_one_line_with_the_valid_names(tmp_path: Path) -> None:
    done = run(write_route(tmp_path, "step"), "driver=nope", f"out={tmp_path / 'out'}")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert all(name in line for name in ("nope", "bold", "cautious", "default", "idm"))
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign with the default and two drivers."""
    return once(tmp_path_factory, "drivers", drive)


def drive(folder: Path) -> Path:
    """Drive it, and once more: nothing is left for it."""
    routes, out = write_route(folder, "hop"), folder / "out"
    for _ in range(2):
        done = run(routes, *SETTINGS, "driver=[default,bold,idm]", f"out={out}")
        assert done.returncode == 0, done.stdout + done.stderr
    return out


def places_of(out: Path) -> dict[str, Path]:
    """Return where the records of each driver are."""
    return {key.arm["driver"]: place for key, place in CampaignRecords(out).find_attempts().items()}


def result_of(place: Path) -> dict[str, Any]:
    """Return what an attempt's result says."""
    result: dict[str, Any] = json.loads((place / "result.json").read_text())
    return result


@pytest.mark.thorough
def test_the_default_has_equal_bytes_next_to_other_drivers_and_without(
    driven: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain = drive_plain_once(tmp_path_factory)
    alone = CampaignRecords(plain).find_attempts()[key_of("ideal_late", "none", "hop", 1)]
    places = places_of(driven)
    assert set(places) == {"default", "bold", "idm"}
    for file in (*(f"{table}.parquet" for table in TABLES), "result.json"):
        assert (places["default"] / file).read_bytes() == (alone / file).read_bytes(), file
    assert "\n  driver:" not in (plain / "campaign.yaml").read_text()
    assert "\n  driver:" in (driven / "campaign.yaml").read_text()


@pytest.mark.thorough
def test_records_carry_the_driver_and_all_drive_otherwise(driven: Path) -> None:
    both = places_of(driven)
    arms = {name: result_of(place)["crucible"]["attempt"]["arm"] for name, place in both.items()}
    assert "driver" not in arms["default"]
    assert arms["idm"]["driver"] == "idm"
    assert arms["bold"]["driver"] == "bold"
    frames = {name: (place / "frames.parquet").read_bytes() for name, place in both.items()}
    assert len(set(frames.values())) == 3


@pytest.mark.thorough
def test_a_folder_with_drivers_resumes_without_a_second_drive(driven: Path) -> None:
    tries = [line["attempt"] for line in ledger(driven) if "attempt" in line]
    keys = CampaignRecords(driven).find_attempts()
    assert len(keys) == 3
    assert len({json.dumps(key, sort_keys=True) for key in tries}) <= 3
    assert not list((driven / "episodes").rglob("try2"))


@pytest.mark.thorough
def test_a_twin_is_driven_by_the_recorded_driver(driven: Path) -> None:
    """Without a change it is equal to its attempt byte for byte."""
    keys = CampaignRecords(driven).find_attempts()
    (key,) = (key for key in keys if key.arm["driver"] == "idm")
    CampaignTwins(driven, progress="quiet").drive_twins([AttemptTwin(key, TwinChange())])
    twins = places_of(driven / TWINS)
    assert set(twins) == {"idm"}
    assert list_record_differences(places_of(driven)["idm"], twins["idm"]) == []
