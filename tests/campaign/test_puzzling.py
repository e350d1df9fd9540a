"""Settings that users write by mistake: the answer names the mistake and what to write instead."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import run_campaign
from agents.perception.checkpoints import get_core_method
from harness.campaign.planning.estimate import estimate_campaign
from harness.campaign.planning.limits import refuse_unnameable
from harness.campaign.planning.plan import plan_campaign
from harness.campaign.planning.writable import refuse_unwritable
from harness.campaign.printing.tables import describe_workers
from harness.campaign.settings.override_errors import explain_unread_override, explain_unread_yaml
from harness.common.errors import UserError
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from tests.campaign.tiny import composed, write_route

WORDS = {
    "out=runs/münchen": "ü needs quotes; write \"out='runs/münchen'\"",
    "out=a=b": "= needs quotes; write \"out='a=b'\"",
    "system.late.checkpoint=~/x": "~ needs quotes",
    "out=#1": "# needs quotes",
    "out=a&b": "& needs quotes",
    "out=a;b": "; needs quotes",
    "out=<x>": "< > needs quotes",
    "system=[late": "the bracket [ is not closed",
    "system=late]": "the bracket ] was not opened",
    "system=[late)": "the bracket ) was not opened",
    "system={late}": "a list has square brackets; write system=[late]",
    "system={late,single}": "write system=[late,single]",
    "=late": "a name is missing before =",
    "+=late": "a name is missing before =",
    "late": "a setting is written name=value",
    "out=runs(1)": "( ) needs quotes; write \"out='runs(1)'\"",
    "out='x": "' needs quotes; put the value in a file of --config-dir, or in quotes that",
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_that_hydra_cannot_read_is_explained(word: str) -> None:
    assert WORDS[word] in explain_unread_override(word, [word])


def test_a_list_that_the_shell_has_split_is_put_together() -> None:
    words = ["out=x", "system=[late,", "single,", "fcooper]", "dry_run=true"]
    line = explain_unread_override("system=[late,", words)
    assert line.endswith("splits a list at its spaces; write system=[late,single,fcooper]")
    other = explain_unread_override("system=[late,", ["system=[late,", "seeds=[1]"])
    assert "is not closed" in other


YAMLS = {
    "a:\n- b\n\tc: 3\n": "line 3, column 1: a tab; YAML is indented with spaces",
    "a: [1, 2\n": "line 1, column 4: the bracket [ is not closed",
    "a: b: 3\n": "line 1, column 5: a second colon in one line",
    "a: 'b\n": "line 2, column 1: not YAML: found unexpected end of stream",
    "a: *b\n": "line 1, column 4: not YAML: found undefined alias",
    "a: %b\n": "line 1, column 4: not YAML: found character '%'",
}


@pytest.mark.parametrize("text", YAMLS)
def test_a_file_that_is_not_yaml_names_the_line(text: str) -> None:
    with pytest.raises(yaml.YAMLError) as raised:
        yaml.safe_load(text)
    assert YAMLS[text] in explain_unread_yaml(raised.value)


LINES = {
    "interference.latency.low=0.5": "write interference.latency.0.low=... for its first item",
    "interference.latency.KEY=1": "interference.latency.0 its first item; unknown key KEY",
    "study=tabbed": "tabbed.yaml: line 3, column 1: a tab",
    "out=ä": "ä needs quotes",
    "routes.file=routes.xml": "no route 3, 4, 8, 14; its routes: mine; routes.only=null",
}


@pytest.mark.thorough
@pytest.mark.parametrize("word", LINES)
def test_one_line_on_the_command_line(
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "tabbed.yaml").write_text("# @package _global_\nseeds:\n\t- 3\n")
    write_route(tmp_path, "mine")
    monkeypatch.chdir(tmp_path)
    arguments = ["run_campaign.py", f"--config-dir={tmp_path}", word, "dry_run=true"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        run_campaign.main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    (line,) = printed.err.splitlines()
    assert LINES[word] in line


def test_routes_without_a_hazard_are_blamed_and_no_entry_of_hazards(tmp_path: Path) -> None:
    file = write_route(tmp_path, "mine") / "routes.xml"
    words = (f"routes.file={file}", f"routes.hazards={tmp_path / 'hazards.json'}")
    settings = composed(*words, "routes.only=null")
    with pytest.raises(UserError, match=r"hazards are for routes bend, .* to drive are mine; name"):
        plan_campaign(settings)


@pytest.mark.parametrize("place", ["/proc/x", "/proc/x/deeper"])
def test_a_dry_run_refuses_a_folder_that_cannot_be_written(place: str) -> None:
    with pytest.raises(UserError, match=r"out=/proc/x.*: /proc cannot be written"):
        refuse_unwritable(Path(place))


def test_a_dry_run_leaves_nothing_in_a_folder_that_can_be_written(tmp_path: Path) -> None:
    refuse_unwritable(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_workers_beyond_the_cores_promise_no_speed() -> None:
    plan = plan_campaign(composed("executor.workers=64"))
    assert plan.cores
    on_two = replace(plan, cores=2)
    few = estimate_campaign(replace(on_two, at_a_time=2), Path("nowhere"))
    many = estimate_campaign(on_two, Path("nowhere"))
    assert many.seconds == few.seconds
    assert describe_workers(on_two) == "64 workers on 2 cores"
    assert describe_workers(replace(on_two, at_a_time=2)) == "2 workers"
    elsewhere = replace(plan, cores=None)
    assert describe_workers(elsewhere) == "64 workers"
    assert estimate_campaign(elsewhere, Path("nowhere")).seconds < many.seconds


def test_the_longest_seed_decides_whether_an_attempt_can_be_named() -> None:
    arm = Arm.from_factors(system="late", cooperation="ahead", condition="none")
    short, long = (AttemptKey(arm, "r" * 250, seed) for seed in (1, 2**31 - 1))
    with pytest.raises(UserError, match="too long"):
        refuse_unnameable([short, long])
    refuse_unnameable([replace(short, route="r")])


def test_a_configuration_of_opencood_is_called_one() -> None:
    settings = {"model": {"core_method": "point_pillar_fcooper"}, "fusion": {"args": {}}}
    with pytest.raises(
        UserError, match=r"only model\.core_method 'point_pillar_fcooper'; Crucible"
    ):
        get_core_method(settings, Path("config.yaml"))
    named = {"model": {}, "fusion": {"core_method": "intermediatemulticlass"}}
    assert get_core_method(named, Path("config.yaml")) == "intermediatemulticlass"
