"""What a plan says before anything is driven, and what it refuses to mix."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from agents.perception.loading import FOLDER
from harness.campaign.folder.campaign_folder import (
    load_campaign_header,
    prepare_campaign,
    refuse_foreign,
)
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.printing.tables import list_plan_notes
from harness.campaign.run import run_campaign_config as run_config
from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.differences import list_setting_differences
from harness.common.errors import UserError
from harness.types.vocabulary import Observation, Points
from tests.campaign.many import finish
from tests.campaign.tiny import HAZARD, composed, run, write_route
from tests.records.samples import write_try

CHANGES = {
    "nothing": ({"a": [1, 2], "b": {"c": 1.0}}, {"a": [1, 2], "b": {"c": 1}}, []),
    "a number": ({"b": {"c": 1.5}}, {"b": {"c": 2}}, ["b.c: 1.5 -> 2"]),
    "a text like a number": ({"a": "1"}, {"a": 1}, ["a: '1' -> 1"]),
    "nothing at all": ({"a": None}, {"a": "None"}, ["a: None -> 'None'"]),
    "one more": ({}, {"a": {"b": 1}}, ["a: (absent) -> {'b': 1}"]),
    "one less": ({"a": True}, {}, ["a: True -> (absent)"]),
    "a class": ({"a": {"_target_": "x.Y", "n": 1}}, {"a": None}, ["a: Y -> None"]),
    "few items": ({"s": [1, 2, 3]}, {"s": [2, "2"]}, ["s: [1..3] -> [2, '2']"]),
    "many items": (
        {"s": list(range(1, 21))},
        {"s": [*range(2, 20), 25, 31]},
        ["s: 20 -> 20 items, without [1, 20], with [25, 31]"],
    ),
    "another order": ({"s": [1, 2, 3, 4, 5]}, {"s": [5, 1, 2, 3, 4]}, ["s: [1..5] -> [5, 1..4]"]),
    "parts of a list": (
        {"d": [{"low": 0.5, "per": "episode"}]},
        {"d": [{"low": 0.6, "per": "episode"}, {"low": 1}]},
        ["d[0].low: 0.5 -> 0.6", "d[1]: (absent) -> {'low': 1}"],
    ),
}

PLACES = {
    "routes.xml": "routes.file",
    "hazards.json": "routes.hazards",
    "mine.safetensors": "system.late.mine.safetensors",
}


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two routes along the bend, and a short one."""
    return write_route(tmp_path_factory.mktemp("routes"), "bend", "again", "hop")


def planned(routes: Path, *settings: str) -> CampaignPlan:
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    return plan_campaign(composed("routes.only=null", *files, *settings))


@pytest.mark.parametrize("what", CHANGES)
def test_a_difference_is_one_line(what: str) -> None:
    old, new, lines = CHANGES[what]
    assert list(list_setting_differences(old, new)) == lines


def test_long_values_are_shortened() -> None:
    (line,) = list_setting_differences({"a": "x" * 500}, {"a": "y" * 500})
    assert len(line) < 130


def test_what_does_not_change_results_may_change(tmp_path: Path) -> None:
    settings = composed("system=oracle")
    prepare_campaign(tmp_path, settings, "carlite")
    refuse_foreign(tmp_path, {**settings, "attempts_per_route": 9, "progress": "quiet"})
    with pytest.raises(UserError) as caught:
        refuse_foreign(tmp_path, {**settings, "seeds": [4], "lights": "green"})
    assert str(caught.value).splitlines()[1:] == [
        "  seeds: [1] -> [4]",
        "  lights: working -> green",
    ]


def test_a_runner_killed_while_it_writes_its_settings_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = composed("system=oracle")
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(Path, "replace", lambda *given: os._exit(9))
        prepare_campaign(tmp_path, settings, "carlite")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    (left,) = tmp_path.iterdir()
    prepare_campaign(tmp_path, settings, "carlite")
    assert {path.name for path in tmp_path.iterdir()} == {"campaign.yaml", left.name}


@pytest.mark.thorough
def test_a_ledger_without_room_at_the_start_is_one_line(
    routes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = (f"routes.file={routes / 'routes.xml'}", "routes.hazards=null", "routes.only=null")
    settings = composed("system=oracle", *files, f"out={tmp_path / 'out'}")
    finish(tmp_path / "out", settings)
    (tmp_path / "out" / "ledger.jsonl").unlink()

    def refuse(handle: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("harness.records.ledger.os.write", refuse)
    assert run_config(OmegaConf.create(dict(settings))) == 3
    (said,) = capsys.readouterr().err.splitlines()
    assert said.endswith("No space left on device")


def test_settings_that_refer_to_others_are_written_out(tmp_path: Path) -> None:
    settings = composed("seeds=[1,2]", "+mine='${seeds}'", "+theirs='${record}'")
    prepare_campaign(tmp_path, settings, "carlite")
    assert load_campaign_header(tmp_path / "campaign.yaml")["settings"] == settings


@pytest.mark.thorough
@pytest.mark.parametrize("changed", ["routes.xml", "hazards.json", "mine.safetensors"])
def test_files_that_have_changed_are_other_settings(
    changed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    routes = write_route(tmp_path)
    weights = shutil.copy(FOLDER / "lite_single.safetensors", tmp_path / "mine.safetensors")
    settings = composed(
        f"routes.file={routes / 'routes.xml'}",
        f"routes.hazards={routes / 'hazards.json'}",
        "routes.only=null",
        "system=[single,late]",
        f"system.late.weights={weights}",
        f"out={tmp_path / 'out'}",
        "dry_run=true",
    )
    (tmp_path / "out").mkdir()
    prepare_campaign(tmp_path / "out", with_inputs(settings), "carlite")
    known = with_inputs(settings)["inputs"]
    assert list(known["system"]["single"]) == ["lite_single.safetensors"]
    assert run_config(OmegaConf.create(dict(settings))) == 0
    content = (tmp_path / changed).read_bytes()
    other = bytes([content[-1] ^ 1]) if changed.endswith(".safetensors") else content[-1:] + b"\n"
    (tmp_path / changed).write_bytes(content[:-1] + other)
    capsys.readouterr()
    assert run_config(OmegaConf.create(dict(settings))) == 2
    first, *changes = capsys.readouterr().err.splitlines()
    assert "made with other settings" in first
    (change,) = changes
    name = PLACES[changed]
    assert change.startswith(f"  inputs.{name}: ")
    assert hash_settings(with_inputs(settings)) != hash_settings({**settings, "inputs": known})


def test_pairs_meet_the_same_routes_and_seeds(routes: Path) -> None:
    made = planned(routes, "seeds=[7,3]", "system=[ideal_single,ideal_late]")
    arms = {(key.arm.system, key.arm.condition) for key in made.attempts}
    assert arms == {("ideal_single", "none"), ("ideal_late", "none"), ("ideal_late", "latency")}
    for arm in arms:
        met = [(k.route, k.seed) for k in made.attempts if (k.arm.system, k.arm.condition) == arm]
        assert met == [("bend", 7), ("hop", 7), ("bend", 3), ("hop", 3)]


@pytest.mark.thorough
def test_one_of_every_way_is_driven_and_the_others_are_named(routes: Path) -> None:
    made = planned(routes)
    assert [assignment.route.name for assignment in made.assignments] == ["bend", "hop"]
    assert (made.same_way, made.left_out, made.geometries) == ((("bend", "again"),), ("again",), 2)
    repeated = planned(routes, "routes.repeats=true")
    assert len(repeated.assignments) == 3
    assert (repeated.left_out, repeated.geometries) == ((), 2)


def test_a_name_too_long_for_a_folder_is_refused_before_anything_is_driven(routes: Path) -> None:
    settings = composed(f"routes.file={routes / 'routes.xml'}", "routes.hazards=null")
    settings["routes"]["only"] = None
    late: Any = {"_target_": "harness.channel.interference.latency.Fixed", "seconds": 0.4}
    settings["interference"]["雨" * 40] = [late]
    with pytest.raises(UserError, match="too long for a file's name"):
        plan_campaign(settings)


@pytest.mark.thorough
def test_a_disturbance_without_agents_is_refused(routes: Path) -> None:
    settings = ("interference=paper_code_latency", "cooperation=connected")
    with pytest.raises(UserError, match=r"interference\.paper_code_latency: .* disturbs roadside"):
        planned(routes, "system=ideal_late", *settings)
    planned(routes, "system=ideal_single", *settings)


def test_a_disturbance_of_what_is_not_sent_is_refused(routes: Path) -> None:
    with pytest.raises(UserError, match="feature_corruption cannot change the boxes it shares"):
        planned(routes, "system=ideal_late", "interference=[none,feature_corruption]")


def test_a_disturbance_of_what_one_system_does_not_send_leaves_that_one_out(
    routes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.campaign.settings.config.THEIRS", ("tests.",))
    made = planned(
        routes,
        "system=ideal_late",
        "+system.dots._target_=tests.campaign.test_plan.Dots",
        "interference=[none,stray_points]",
    )
    arms = {(key.arm.system, key.arm.condition) for key in made.attempts}
    assert arms == {("ideal_late", "none"), ("dots", "none"), ("dots", "stray_points")}
    (left_out,) = made.unfit
    assert left_out.startswith("ideal_late / stray_points: ")


@pytest.mark.thorough
def test_a_dry_run_says_what_would_be_run_and_writes_nothing(routes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(routes, f"out={out}", "dry_run=true", "seeds=[1,2]", "++executor.workers=2")
    assert (done.returncode, done.stderr) == (0, "")
    assert not out.exists()
    said = " ".join(done.stdout.split())
    product = "3 arms × 2 routes × 2 seeds = 12 attempts in Crucible05"  # noqa: RUF001
    assert product in said
    assert "│ ideal_late │ latency │ 4 │" in said
    assert "left out the same way as bend: again" in said
    assert f"hazards 1 {HAZARD['kind']}" in said
    assert "left 12 attempts: about" in said
    assert "2 workers" in said


@pytest.mark.thorough
def test_a_dry_run_over_a_campaign_counts_what_is_done(routes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    arms = ("routes.only=null", "seeds=[1]", "traffic=few", *files)
    settings = composed(*arms)
    out.mkdir()
    prepare_campaign(out, with_inputs(settings), "carlite")
    write_try(out, plan_campaign(settings).attempts[0])
    done = run(routes, f"out={out}", "dry_run=true")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 of 6" in done.stdout
    assert "│ 2 │ 1 │" in " ".join(done.stdout.split())
    assert "going by 1 finished attempt here" in done.stdout


class Dots:
    """Shares points."""

    reads_messages = True

    def share(self, observation: Observation) -> Points:
        return Points(observation.points_in_lidar)


@pytest.mark.parametrize(("names", "length"), [(("step",), "20 m"), (("hop", "bend"), "0.1 km")])
def test_short_ways_are_in_metres(names: tuple[str, ...], length: str, tmp_path: Path) -> None:
    file = write_route(tmp_path, *names) / "routes.xml"
    given = (f"routes.file={file}", "routes.hazards=null", "routes.only=null")
    notes = dict(list_plan_notes(plan_campaign(composed(*given))))
    assert notes["routes"].endswith(f", {length} together")
