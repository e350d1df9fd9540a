"""What is wrong is said in one line before anything is run or written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import run_campaign
from harness.campaign.folder.campaign_folder import locked
from tests.campaign.tiny import command, run, write_route

BAD = Path(__file__).parent.parent / "bad_inputs" / "configs"
STUDIES = {
    "unknown_key": "driving: unknown key patience; valid keys: ends_at_first_violation",
    "wrong_type": "driving.blocked_seconds is 'a while'; a number is needed",
    "not_a_number": "channel.maximum_age = nan: must be finite",
    "foreign_target": "patterns names 'os.system'; only harness.evaluation.*",
    "borrowed_target": "patterns names 'harness.evaluation.scoring.score', which is no class",
    "missing_class": "windows names 'harness.evaluation.windows.Panes'",
    "impossible_value": "tau_vehicle = 2.0: must be ≥ 0 and < 1",
    "impossible_word": "patterns.rule is 'all'; max or exists or pairs is needed",
    "impossible_delay": "latency.seconds = -1 s: must be ≥ 0",
    "no_target": "driving is null",
    "interpolation": "nowhere",
    "partial_target": "scoring: unknown key _partial_",
    "unknown_option": "Could not find 'cooperation/telepathy' Available options in",
    "not_yaml": "not_yaml.yaml",
    "bytes": "codec can't decode",
}
LINES = {
    "study=nope": "Could not find 'study/nope' Available options in 'study'",
    "nobody=1": "Could not override 'nobody'",
    "seeds=[1": "no viable alternative at input '[1'",
    "seeds=[-1]": "seeds is [-1]",
    "seeds=[1,1]": "seeds [1, 1] name one twice",
    "tick=nan": "tick = nan: must be finite",
    "routes.file=???": "routes.file",
    "system=[]": "system is null",
    "~executor": "executor is null; a _target_ is needed",
    "study=demo ~executor": "executor is {'workers': 2}; a _target_ is needed",
    "dry_run=maybe": "dry_run is 'maybe'; true or false is needed",
    "attempts_per_route=0": "attempts_per_route = 0: must be > 0",
    "routes.file=nowhere.xml": "routes.file: file not found: nowhere.xml",
    "routes.only=[elsewhere]": "has no route elsewhere",
    "routes.clean_under=nowhere": "nowhere: not a campaign folder",
    "simulator.maps=/nowhere": "simulator.maps: folder not found: /nowhere",
    "cooperation.ahead.connected=-1": "cooperation.connected = -1: must be ≥ 0",
    "cooperation.ahead.connected_share=2": "cooperation.connected_share = 2: must be from 0 to 1",
    "scoring.red_light=70": "scoring: red_light = 70: must be from 0 to 1",
    "+driving.goal_share=99": "driving: goal_share = 99: must be from 0 to 1",
    "+driving.wrong_lane_angle=120": "driving: wrong_lane_angle = 120: must be from 0 to 3.142",
    "channel.maximum_age=-1": "channel.maximum_age = -1 s: must be ≥ 0",
    "+system.ideal_single.eyes=3": "system.ideal_single: unknown key eyes; valid keys: min_hits",
}


IN_A_PROCESS = ("study=nope", "nobody=1", "dry_run=maybe", "seeds=[-1]", "tick=nan")
"""Tried as people do it; the others come through the same door without starting Python anew."""


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Give campaigns that are refused with one line and leave everything as it was."""
    routes = write_route(tmp_path)

    def refuse(*settings: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        monkeypatch.setattr(sys, "argv", command(routes, f"out={tmp_path / 'out'}", *settings)[1:])
        with pytest.raises(SystemExit) as ended:
            run_campaign.main()
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (2, "")
        assert sorted(tmp_path.rglob("*")) == before
        (line,) = said.err.splitlines()
        return line

    return refuse


@pytest.mark.parametrize("study", STUDIES)
def test_bad_study(study: str, refused: Callable[..., str]) -> None:
    said = refused(f"study={study}", f"--config-dir={BAD}")
    assert said.startswith("crucible run: ")
    assert STUDIES[study] in said


def test_every_bad_study_is_tried() -> None:
    assert {path.stem for path in (BAD / "study").iterdir()} == set(STUDIES)


@pytest.mark.parametrize("setting", LINES)
def test_bad_line(setting: str, refused: Callable[..., str]) -> None:
    assert LINES[setting] in refused(*setting.split(" "))


@pytest.mark.parametrize("setting", IN_A_PROCESS)
def test_bad_line_as_people_type_it(setting: str, tmp_path: Path) -> None:
    done = run(write_route(tmp_path), f"out={tmp_path / 'out'}", setting)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert LINES[setting] in said
    assert not (tmp_path / "out").exists()


def test_hazard_parameter_that_does_not_exist(tmp_path: Path, refused: Callable[..., str]) -> None:
    hazard = {
        "route": "bend",
        "kind": "occluded_pedestrian",
        "station": 45.0,
        "parameters": {"wings": 2.0},
    }
    (tmp_path / "bad.json").write_text(json.dumps({"version": 1, "hazards": [hazard]}))
    said = refused(f"routes.hazards={tmp_path / 'bad.json'}")
    assert "unknown parameter 'wings'; valid parameters:" in said


def test_folder_that_is_no_campaign(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    said = refused()
    assert "not empty and not a campaign" in said


def test_second_runner(tmp_path: Path, refused: Callable[..., str]) -> None:
    with locked(tmp_path / "out"):
        said = refused()
    assert "another campaign is running in it" in said


def test_dry_run_prints_and_writes_nothing(tmp_path: Path) -> None:
    routes = write_route(tmp_path, "bend", "again")
    before = sorted(tmp_path.rglob("*"))
    done = run(routes, "dry_run=true", f"out={tmp_path / 'out'}", "seeds=[1,2]")
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 attempts in Crucible05" in done.stdout
    assert "the same way as bend: again" in done.stdout
    assert sorted(tmp_path.rglob("*")) == before


def test_settings_can_be_shown(tmp_path: Path) -> None:
    done = run(write_route(tmp_path), "study=paper_code", "--cfg", "job")
    assert (done.returncode, done.stderr) == (0, "")
    assert "blocked_seconds: 15.0" in done.stdout
