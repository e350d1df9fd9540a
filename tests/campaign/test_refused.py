"""What is wrong is said in one line before anything is run or written."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import run_campaign
from agents.perception.loading import FOLDER
from harness.campaign.folder.campaign_folder import lock_campaign
from harness.world.maps import SHIPPED_TOWNS
from tests.campaign.tiny import command, run, write_route
from tests.conftest import ROOT, Carlite

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
    "unknown_option": "cooperation: unknown choice telepathy; valid choices: ahead, connected,",
    "not_yaml": "not_yaml.yaml",
    "bytes": "codec can't decode",
}
LINES = {
    "study=nope": "study: unknown choice nope; valid choices: attacks, causes, compensation, demo,",
    "nothing=1": "unknown key nothing; valid keys: out, protocol,",
    "study=recomended": "study: unknown choice recomended; did you mean recommended? valid choices",
    "system=ideal_lat": "system: unknown choice ideal_lat; did you mean ideal_late? valid choices",
    "routes=town5": "routes: unknown choice town5; did you mean town05? valid choices: crucible05,",
    "interference=[latancy]": "interference: unknown choice latancy; did you mean latency? valid",
    "interference=[none,latancy]": "interference: unknown choice latancy; did you mean latency?",
    "system=late +system.late.wieghts=x": "system.late: unknown key wieghts; did you mean weights?",
    "system=v2xvit system.v2xvit.fusoin=1": "system.v2xvit: unknown key fusoin; did you mean",
    "+sytem=oracle": "configuration: unknown key sytem; did you mean system? valid keys: sim",
    "sytem=oracle": "crucible run: unknown key sytem; did you mean system? valid keys: out, prot",
    "~sytem": "unknown key sytem; did you mean system?",
    "seed=3": "unknown key seed; did you mean seeds?",
    "channel.maximun_age=3": "channel: unknown key maximun_age; did you mean maximum_age? valid",
    "+channel.maximun_age=3": "channel: unknown key maximun_age; did you mean maximum_age? valid",
    "cooperation.ahead.roadside.hieght=3": "cooperation.ahead.roadside: unknown key hieght; did",
    "driving.goal_share=0.9": "driving.goal_share has its default; write +driving.goal_share=",
    "system.late.size=full": "system.late is not chosen; system=late chooses it",
    "study": "study: a setting is written name=value",
    "--dry-run": "unknown option --dry-run; did you mean dry_run=...?",
    "--confg-dir=x": "unknown option --confg-dir; did you mean --config-dir?",
    "tick=50": "tick = 50 s: must be > 0 and ≤ 0.1 s",
    "tick=0": "tick = 0 s: must be > 0 and ≤ 0.1 s",
    "cooperation=connected traffic=none": "cooperation.connected.connected = 3, and traffic.vehic",
    "seeds=[1": "seeds=[1: the bracket [ is not closed",
    "seeds=[-1]": "seeds is [-1]",
    "seeds=[1,1]": "seeds [1, 1] name one twice",
    "tick=nan": "tick = nan: must be finite",
    "routes.file=???": "routes.file is not set; write routes.file=VALUE",
    "system=[]": "system is missing; one setting or more by name is needed",
    "~executor": "executor is missing; a _target_ is needed",
    "study=demo ~executor": "executor is {'workers': 2}; a _target_ is needed",
    "dry_run=maybe": "dry_run is 'maybe'; true or false is needed",
    "attempts_per_route=0": "attempts_per_route = 0: must be > 0",
    "executor.workers=0": "executor.workers = 0: must be ≥ 1",
    "executor.workers=two": "executor.workers is 'two'; a whole number is needed",
    "executor.memory_limit=0": "executor.memory_limit = 0: must be > 0",
    "retry_failed=perhaps": "retry_failed is 'perhaps'; true or false is needed",
    "routes.file=nowhere.xml": "routes.file: file not found: nowhere.xml",
    "routes.only=[elsewhere]": "has no route elsewhere",
    "routes.clean_under=nowhere": "nowhere: folder not found",
    "simulator.maps=/nowhere": "simulator.maps: folder not found: /nowhere",
    "cooperation.ahead.connected=-1": "cooperation.connected = -1: must be ≥ 0",
    "cooperation.ahead.connected_share=2": "cooperation.connected_share = 2: must be from 0 to 1",
    "scoring.red_light=70": "scoring: red_light = 70: must be from 0 to 1",
    "+driving.goal_share=99": "driving: goal_share = 99: must be from 0 to 1",
    "+driving.wrong_lane_angle=120": "driving: wrong_lane_angle = 120: must be from 0 to 3.142",
    "channel.maximum_age=-1": "channel.maximum_age = -1 s: must be ≥ 0",
    "sweep.latancy=[0.5]": "sweep: unknown key latancy; did you mean latency? valid keys: latency,",
    "+sweep.latancy=[0.5]": "sweep: unknown key latancy; did you mean latency? valid keys: late",
    "sweep.latency=[]": "sweep.latency = []: a list of sizes is needed, as sweep.latency=[0.1,0.5]",
    "sweep.latency=0.5": "sweep.latency = 0.5: a list of sizes is needed",
    "sweep.latency=0,0.5": "sweep.latency=0,0.5: a list has brackets, sweep.latency=[0,0.5]",
    "sweep.latency=[0.5,late]": "sweep.latency = [0.5, 'late']: 'late' is not a number",
    "sweep.latency=[true]": "sweep.latency = [True]: True is not a number",
    "sweep.latency=[nan]": "sweep.latency[0] = nan: must be finite",
    "sweep.latency=[-1]": "sweep.latency = [-1]: -1 must be ≥ 0",
    "sweep.latency=[500]": "interference.latency=500: latency: seconds is 500 s, beyond 10 s",
    "sweep.latency=[1e-9]": "interference.latency=1e-09: latency: 1e-09 s is no delay",
    "sweep.latency=[3]": "interference.latency=3: after a delay of 3 s a message is 3 s old",
    "sweep.latency=[0.5,0.50]": "sweep.latency = [0.5, 0.5]: names 0.5 twice",
    "sweep.pose_error=[1e-5]": "interference.pose_error=1e-05: pose_error: 1e-05 m and 1e-05 deg",
    "sweep.pose_error=[500]": "sweep.pose_error = [500]: 500 must be from 0 to 100",
    "sweep.loss=[2]": "sweep.loss = [2]: 2 must be from 0 to 1",
    "sweep.bandwidth=[0]": "sweep.bandwidth = [0]: 0 must be ≥ 1",
    "sweep.ghosts=[1.5]": "sweep.ghosts = [1.5]: 1.5 is not a whole number",
    "metrics=[clearence]": "metrics: unknown choice clearence; did you mean clearance?",
    "+metrics.speed._target_=harness.evaluation.metrics.braking.HardestBraking": (
        "metrics.speed: the name of a column of the records; choose another"
    ),
    "+metrics.A._target_=harness.evaluation.metrics.braking.HardestBraking": (
        "metrics.A: a metric's name has a to z, 0 to 9 and _ only"
    ),
    "+metrics.m._target_=harness.evaluation.metrics.metric.Metric": (
        "metrics.m: Metric overrides neither step nor attempt"
    ),
    "+metrics.m._target_=harness.evaluation.metrics.metric.StepData": "metrics.m needs time",
    "+metrics.m._target_=os.system": "only harness.evaluation.metrics.*",
    "+system.ideal_single.eyes=3": "system.ideal_single: unknown key eyes; valid keys: min_hits",
}


ALWAYS = (
    "study=nope",
    "system=ideal_lat",
    "interference=[latancy]",
    "+sytem=oracle",
    "driving.goal_share=0.9",
    "--dry-run",
    "tick=0",
    "seeds=[1",
    "system=[]",
    "routes.file=nowhere.xml",
    "sweep.latency=[0.5,late]",
    "+metrics.m._target_=os.system",
)
"""One of each sort, tried by `make test`: Hydra takes a second for a line."""
LINES_BY_COST = [
    pytest.param(line, marks=[] if line in ALWAYS else pytest.mark.thorough) for line in LINES
]
IN_A_PROCESS = ("study=nope", "+sytem=oracle", "interference=[latancy]", "dry_run=maybe")
"""Tried from the command line; the others take the same path without starting Python again."""


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


@pytest.mark.thorough
@pytest.mark.parametrize("study", STUDIES)
def test_bad_study(study: str, refused: Callable[..., str]) -> None:
    said = refused(f"study={study}", f"--config-dir={BAD}")
    assert said.startswith("crucible run: ")
    assert STUDIES[study] in said


def test_every_bad_study_is_tried() -> None:
    assert {path.stem for path in (BAD / "study").iterdir()} == set(STUDIES)


@pytest.mark.thorough
@pytest.mark.parametrize("setting", LINES_BY_COST)
def test_bad_line(setting: str, refused: Callable[..., str]) -> None:
    assert LINES[setting] in refused(*setting.split(" "))


@pytest.mark.thorough
@pytest.mark.parametrize("setting", IN_A_PROCESS)
def test_bad_line_as_people_type_it(setting: str, tmp_path: Path) -> None:
    done = run(write_route(tmp_path), f"out={tmp_path / 'out'}", setting)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert LINES[setting] in said
    assert not (tmp_path / "out").exists()


def broken(folder: Path, how: str) -> str:
    """Write weights that cannot be loaded, and return the setting that names them."""
    whole = (FOLDER / "lite_single.safetensors").read_bytes()
    (folder / "text.safetensors").write_text("weights")
    (folder / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    (folder / "other.safetensors").write_bytes(whole)
    (folder / "run").mkdir()
    (folder / "run" / "config.yaml").write_text("fusion: {core_method: dreams}")
    (folder / "run" / "net_epoch1.pth").write_bytes(b"")
    return f"checkpoint={folder / 'run'}" if how == "run" else f"weights={folder / how}.safetensors"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("text", "text.safetensors: holds no weights"),
        ("cut", "cut.safetensors: holds no weights"),
        ("other", " keys are wrong, such as missing "),
        ("absent", "system: no such file of weights: "),
        ("run", "fusion.core_method is 'dreams', which fits no scheme of ours"),
    ],
)
def test_weights_that_cannot_be_loaded(
    how: str, reason: str, tmp_path: Path, refused: Callable[..., str]
) -> None:
    named = broken(tmp_path, how)
    assert reason in refused("system=fcooper", f"system.fcooper.{named}")


@pytest.mark.thorough
def test_a_town_that_the_running_server_lacks(
    carlite: Carlite, tmp_path: Path, refused: Callable[..., str]
) -> None:
    (tmp_path / "Town99.xodr").write_bytes((SHIPPED_TOWNS / "Crucible05.xodr").read_bytes())
    routes = (tmp_path / "routes.xml").read_text().replace("Crucible05", "Town99")
    (tmp_path / "other.xml").write_text(routes)
    said = refused(
        "simulator=carla",
        f"simulator.address={carlite.host}:{carlite.port}",
        f"simulator.maps={tmp_path}",
        f"routes.file={tmp_path / 'other.xml'}",
    )
    assert f"{carlite.port}: unknown town Town99; valid towns: Crucible05, " in said


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_a_server_that_is_not_there(dry_run: str, refused: Callable[..., str]) -> None:
    # a port that is bound and does not listen: no other program can take it meanwhile
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{bound.getsockname()[1]}"
        said = refused("simulator=carla", f"simulator.address={where}", f"dry_run={dry_run}")
    assert f"simulator.address: {where}: nothing listens there; start CARLA 0.9.16 there" in said


def test_a_dry_run_needs_no_server_where_carla_is_launched(tmp_path: Path) -> None:
    routes = write_route(tmp_path)
    launched = ("simulator=carla", f"simulator.root={ROOT / 'tests' / 'standin'}", "dry_run=true")
    done = run(routes, *launched, f"out={tmp_path / 'out'}")
    assert (done.returncode, done.stderr) == (0, "")


def test_hazard_parameter_that_does_not_exist(tmp_path: Path, refused: Callable[..., str]) -> None:
    hazard = {
        "route": "bend",
        "kind": "occluded_pedestrian",
        "station": 45.0,
        "parameters": {"wings": 2.0},
    }
    (tmp_path / "bad.json").write_text(json.dumps({"version": 1, "hazards": [hazard]}))
    said = refused(f"routes.hazards={tmp_path / 'bad.json'}")
    assert "unknown parameter wings; valid parameters:" in said


def test_folder_that_is_no_campaign(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    said = refused()
    assert "not empty and not a campaign" in said


def test_second_runner(tmp_path: Path, refused: Callable[..., str]) -> None:
    with lock_campaign(tmp_path / "out"):
        said = refused()
    assert "another campaign is running in it" in said


@pytest.mark.thorough
def test_dry_run_prints_and_writes_nothing(tmp_path: Path) -> None:
    routes = write_route(tmp_path, "bend", "again")
    before = sorted(tmp_path.rglob("*"))
    done = run(routes, "dry_run=true", f"out={tmp_path / 'out'}", "seeds=[1,2]")
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 attempts in Crucible05" in done.stdout
    assert "the same way as bend: again" in done.stdout
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.thorough
def test_settings_can_be_shown(tmp_path: Path) -> None:
    done = run(write_route(tmp_path), "study=paper_code", "--cfg", "job")
    assert (done.returncode, done.stderr) == (0, "")
    assert "blocked_seconds: 15.0" in done.stdout


STRANGE_STUDIES = {
    "defaults:\n  - override /hydra/launcher: joblib\n": "takes nothing from hydra.*; remove it",
    "hydra:\n  searchpath: [pkg://foo]\n": "takes nothing from hydra.*; remove it",
    None: "a pipe, not a regular file",
}


@pytest.mark.parametrize("content", STRANGE_STUDIES)
def test_a_strange_study_is_named(
    content: str | None, tmp_path: Path, refused: Callable[..., str]
) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "other.yaml").write_text("hydra: {}\n")
    file = tmp_path / "study" / "strange.yaml"
    if content is None:
        os.mkfifo(file)
    else:
        file.write_text(f"# @package _global_\n{content}")
    said = refused("study=strange", "--config-dir", str(tmp_path))
    assert f"{file}: " in said
    assert STRANGE_STUDIES[content] in said
