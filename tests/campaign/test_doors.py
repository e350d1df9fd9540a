"""Every place where a stranger's file could name what is run: nothing of it is imported or run."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from crucible.run import main
from harness.common.environments import AT_START, build_child_environment, select_remote_environment
from tests.analysis.little import write_little
from tests.conftest import ROOT
from tests.once import once
from tests.v2xverse.published_folder import write_checkout

CHILD = {"_target_": "agents.foreign.process.Child", "command": ["touch", "mark"], "hello": {}}
STUDY = "# @package _global_\n"
EVIL = """
from pathlib import Path
Path(__file__).with_name("mark").touch()
class Evil:
    safe_from_file = True
"""


WHOLE = ("simulator", "executor", "routes")
NAMED = ("system", "interference", "export")
"""Groups that name a class, and groups of several parts by name; `test_trust.py` has all."""


def stack(folder: Path) -> dict[str, Any]:
    """Return settings that import a module of the folder, if they are followed."""
    target = "agents.v2xverse.child.stack.Stack"
    more = {"perception": ["x", "x"], "planner": "x", "folder": "x"}
    return {"_target_": target, "root": str(folder), "agent_config": "x", **more}


def programs(folder: Path) -> dict[str, dict[str, Any]]:
    """Return parts of settings that start a program, import a module or open a connection."""
    program = str(folder / "program")
    launching = "harness.world.simulators.launching.LaunchedServer"
    return {
        "system=stack": {"system": {"x": stack(folder)}},
        "system=child": {"system": {"x": {**CHILD, "seconds": 1.0}}},
        "system=v2xverse": {
            "system": {
                "x": {
                    "_target_": "agents.v2xverse.system.V2Xverse",
                    "root": str(folder),
                    "python": program,
                    "agent_config": "config",
                }
            }
        },
        "simulator=launched": {
            "simulator": {
                "_target_": launching,
                "command": [program],
                "cwd": ".",
                "locks": [],
                "log": None,
            }
        },
        "simulator=carla": {
            "simulator": {
                "_target_": "harness.world.simulators.CarlaSimulator",
                "root": str(folder),
                "executable": "program",
            }
        },
        "simulator=address": {
            "simulator": {
                "_target_": "harness.world.simulators.CarlaSimulator",
                "address": "127.0.0.1:9",
            }
        },
        "executor=slurm": {
            "executor": {
                "_target_": "harness.campaign.running.executors.slurm.SlurmExecutor",
                "cluster": "local",
            }
        },
        "export=tensorboard": {
            "export": {"x": {"_target_": "harness.campaign.exports.tensorboard.TensorBoard"}}
        },
    }


def hydra_nodes(folder: Path, elsewhere: Path) -> dict[str, dict[str, Any]]:
    """Return what Hydra's own `main` would have done for a file."""
    handler = {"class": "logging.FileHandler", "filename": str(elsewhere / "log")}
    return {
        "callbacks": {"callbacks": {"c": stack(folder)}},
        "env_set": {"job": {"env_set": {"PYTHONPATH": str(folder), "LD_PRELOAD": "x.so"}}},
        "env_copy": {"job": {"env_copy": ["HOME"]}},
        "run.dir": {"run": {"dir": str(elsewhere)}, "output_subdir": "written"},
        "sweep.dir": {"sweep": {"dir": str(elsewhere)}},
        "job_logging": {"job_logging": {"handlers": {"file": {**handler, "()": "evil.Evil"}}}},
        "hydra_logging": {"hydra_logging": {"handlers": {"file": handler}}},
        "launcher": {"launcher": {"_target_": "evil.Evil"}},
        "sweeper": {"sweeper": {"_target_": "evil.Evil"}},
        "mode": {"mode": "MULTIRUN"},
        "verbose": {"verbose": True},
    }


def write_strangers_files(folder: Path, elsewhere: Path) -> dict[str, list[str]]:
    """Write hostile files into a folder; return the commands that are to refuse them, by name."""
    for name in ("evil.py", "allowances.py", "sitecustomize.py", "hydra_plugins/evil.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(EVIL)
    write_checkout(folder, "config")
    (folder / "program").write_text(f"#!/bin/sh\ntouch '{folder / 'mark'}'\n")
    (folder / "program").chmod(0o755)
    studies: dict[str, Mapping[str, Any]] = {
        **{f"hydra {key}": {"hydra": node} for key, node in hydra_nodes(folder, elsewhere).items()},
        **programs(folder),
        **{f"{group} names evil": {group: {"_target_": "evil.Evil"}} for group in WHOLE},
        **{f"{group}.x names evil": {group: {"x": {"_target_": "evil.Evil"}}} for group in NAMED},
        "two steps": {"record": {"points": CHILD["_target_"]}, "system": {"x": steps()}},
        "environment": {"record": {"points": "${oc.env:HOME}"}},
        "resolver": {"record": {"points": "${evil:x}"}},
        "now": {"record": {"points": "${now:%Y}"}},
        "out": {"out": str(elsewhere / "out")},
        "out above": {"out": "here/../../../elsewhere"},
        "live": {"live": "rerun+http://127.0.0.1:9/proxy"},
        "launcher chosen": {"defaults": [{"override /hydra/launcher": "evil"}]},
        "placed": {"defaults": [{"/traffic@hydra.callbacks": "few"}]},
    }
    words = ["dry_run=true", "--config-dir", str(folder)]
    commands = {}
    for number, (name, content) in enumerate(studies.items()):
        write_yaml(folder / "study" / f"s{number}.yaml", content, STUDY)
        commands[name] = ["run", f"study=s{number}", *words]
        if number % 12 == 0:  # they are composed as for a campaign
            commands[f"{name}, checked"] = ["check", str(folder / "study" / f"s{number}.yaml")]
    write_yaml(folder / "hydra" / "launcher" / "evil.yaml", {"_target_": "evil.Evil"})
    write_yaml(
        folder / "traffic" / "head.yaml", {"PYTHONPATH": "x"}, "# @package hydra.job.env_set\n"
    )
    commands["package in the head"] = ["run", "traffic=head", *words]
    condition = [{"_target_": "evil.Evil"}]
    searches: dict[str, Mapping[str, Any]] = {
        "search": {"search": {"condition": condition}},
        "search child": {"system": {"x": CHILD}, "search": {"condition": []}},
        "search child in the condition": {"search": {"condition": [CHILD]}},
        "search callbacks": {"hydra": {"callbacks": {"c": stack(folder)}}},
    }
    for name, content in searches.items():
        file = name.replace(" ", "_")
        write_yaml(folder / "search" / f"{file}.yaml", content, STUDY)
        for command in ("search", "rate"):
            commands[f"{command}: {name}"] = [command, file, "--config-dir", str(folder)]
    top = folder / "top"
    shipped = yaml.safe_load((ROOT / "conf" / "config.yaml").read_text())
    write_yaml(top / "config.yaml", {**shipped, "hydra": {"searchpath": ["pkg://evil"]}})
    commands["search path is without effect"] = ["run", "dry_run=true", "-cd", str(top)]
    return commands


def steps() -> dict[str, Any]:
    """Return a part whose class is named by an interpolation."""
    return {**CHILD, "_target_": "${record.points}"}


def write_yaml(file: Path, content: Mapping[str, Any], head: str = "") -> None:
    """Write a file of a configuration."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + yaml.safe_dump(dict(content), sort_keys=False))


def write_strangers_campaign(folder: Path, stranger: Path) -> dict[str, list[str]]:
    """Write a campaign whose settings name programs everywhere; return commands that read it."""
    write_little(folder)
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    for part in programs(stranger).values():
        header["settings"].update(part)
    header["settings"]["cooperation"] = {"ahead": {"_target_": "evil.Evil"}}
    header["settings"]["channel"] = CHILD
    header["hydra"] = {"callbacks": {"c": stack(stranger)}}
    file.write_text(yaml.safe_dump(header))
    place = str(folder)
    return {
        "status": ["status", place],
        "pack": ["pack", place, "--out", str(folder.parent / "packed.zip")],
        "twin": ["twin", place, "late/latency/r0-s1"],
        "attribute": ["attribute", place],
        "critical": ["critical", place],
        "export": ["export", place],
        "confirm": ["confirm", place],
        "curves": ["curves", place],
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return what all commands did, run one after the other under an audit hook."""

    def run_commands(base: Path) -> dict[str, dict[str, Any]]:
        stranger, here, elsewhere = (base / name for name in ("stranger", "here", "elsewhere"))
        here.mkdir(parents=True)
        commands = {"first": ["run", "dry_run=true"]}
        campaign = write_strangers_campaign(here / "campaign", stranger)
        hostile = write_strangers_files(stranger, elsewhere)
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT)}
        environment.pop("CRUCIBLE_PACKAGES", None)
        done = subprocess.run(
            [sys.executable, "-m", "tests.campaign.doors", str(stranger), str(here)],
            input=json.dumps({**commands, **campaign, **hostile}),
            check=False,
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        assert not elsewhere.exists()
        events: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
        return events

    return once(tmp_path_factory, "doors", run_commands)


@pytest.mark.thorough
def test_nothing_of_a_stranger_is_imported_run_or_written(
    answers: dict[str, dict[str, Any]],
) -> None:
    assert any("evil.py" in event for event in answers["control"]["seen"])
    noted = {name: one["seen"] for name, one in answers.items() if one["seen"]}
    assert list(noted) == ["control"], noted
    assert len(answers) > 50


@pytest.mark.thorough
def test_every_hostile_study_is_one_line(answers: dict[str, dict[str, Any]]) -> None:
    allowed = {"first", "search path is without effect", "control"}
    reading = {"status", "pack"}
    for name in answers.keys() - allowed - reading:
        if not name.endswith(", checked"):
            assert answers[name]["code"] == 2, (name, answers[name])
            assert answers[name]["stderr"].count("\n") == 1, (name, answers[name])
        else:
            assert answers[name]["code"] in (1, 2), (name, answers[name])
    for name in allowed:
        assert answers[name]["code"] == 0, answers[name]


def test_a_strangers_word_for_a_key_is_blamed_on_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study" / "x.yaml"
    write_yaml(file, {"hydra": {"job": {"env_set": {"LD_PRELOAD": "x.so"}}}}, STUDY)
    assert main(["study=x", "--config-dir", str(tmp_path), "dry_run=true"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"crucible run: {file}: hydra.job.env_set.LD_PRELOAD: ")
    assert "LD_PRELOAD" not in os.environ


@pytest.mark.thorough
def test_words_of_the_user_may_name_what_a_file_may_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_yaml(tmp_path / "traffic" / "mine.yaml", {"_target_": "harness.world.traffic.Traffic"})
    words = ["--config-dir", str(tmp_path), "--cfg", "job", "-p", "simulator"]
    assert main(["simulator=carla", "simulator.root=/opt/carla", *words]) == 0
    assert "root: /opt/carla" in capsys.readouterr().out
    carla = {"_target_": "harness.world.simulators.CarlaSimulator", "root": "/opt/theirs"}
    write_yaml(tmp_path / "simulator" / "carla.yaml", carla)
    assert main(["simulator=carla", *words]) == 2
    assert f"{tmp_path}/simulator/carla.yaml: simulator names" in capsys.readouterr().err
    assert main(["simulator=carla", "--trust", *words]) == 0


def test_a_child_has_the_search_paths_that_this_process_began_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(AT_START, "PYTHONPATH", "/mine")
    for name in ("PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONSTARTUP", "BASH_ENV"):
        monkeypatch.setenv(name, "/theirs")
    monkeypatch.setenv("MY_MODELS", "/models")
    environment = build_child_environment({"OMP_NUM_THREADS": "3"})
    assert "/theirs" not in environment.values()
    assert environment["PYTHONPATH"] == select_remote_environment()["PYTHONPATH"] == "/mine"
    assert (environment["MY_MODELS"], environment["OMP_NUM_THREADS"]) == ("/models", "3")


@pytest.mark.thorough
def test_every_start_of_a_process_names_its_environment() -> None:
    """`keeper.py` is a program by itself, and was started with its environment.

    Scripts of published studies are no part of the package.
    """
    starts = 0
    for room in ("harness", "agents", "analysis", "studies", "crucible"):
        for file in (ROOT / room).rglob("*.py"):
            if ROOT / "studies" / "published" in file.parents:
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, ast.Call):
                    continue
                called = ast.unparse(node.func)
                assert called not in ("os.system", "os.execv", "os.execve", "os.popen"), file
                if called.startswith("subprocess.") and called[11:] in ("Popen", "run"):
                    starts += 1
                    named = {keyword.arg for keyword in node.keywords}
                    assert "env" in named or file.name == "keeper.py", f"{file}:{node.lineno}"
            if file.name != "environments.py":
                assert "**os.environ" not in file.read_text(), file
                assert "dict(os.environ)" not in file.read_text(), file
    assert starts > 8
