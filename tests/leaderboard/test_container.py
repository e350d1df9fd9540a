"""An agent in a container image: the command that runs it, what is refused, and a real engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.leaderboard.container import AGENTS, Container, list_outer_folders
from agents.leaderboard.system import FAR_END, LeaderboardAgent
from harness.common.errors import AttemptError, UserError
from tests.leaderboard.test_parts import HERE, PLACE, make_observation, make_route, sense

STUCK = """
import time
from leaderboard.autoagents.autonomous_agent import AutonomousAgent

class Stuck(AutonomousAgent):
    def run_step(self, input_data, timestamp):
        time.sleep(3600.0)
"""
IMAGE, ENGINE = os.environ.get("AGENT_IMAGE", ""), os.environ.get("AGENT_ENGINE", "docker")

NEEDS_ENGINE = pytest.mark.skipif(
    not (IMAGE and shutil.which(ENGINE)), reason="AGENT_IMAGE and AGENT_ENGINE name no image to run"
)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a program be found that is called as an engine is; no test here runs it."""
    for name in ("docker", "podman"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("has_network", [False, True])
def test_folders_have_the_same_paths_inside(engine: None, has_network: bool) -> None:
    container = Container(
        "mine:1",
        engine="podman",
        options=["--gpus=all"],
        folders=[Path("/data/TCP"), Path("/opt/carla")],
        has_network=has_network,
    )
    command = container.build_command("python3.8", FAR_END)
    assert command[:2] == ["podman", "run"]
    assert command[-4:] == ["--gpus=all", "mine:1", "python3.8", str(FAR_END)]
    mounts = [word.partition("=")[2] for word in command if word.startswith("--volume=")]
    assert mounts == [
        *("/data/TCP:/data/TCP", "/opt/carla:/opt/carla"),
        f"{AGENTS}:{AGENTS}:ro",
    ]
    assert FAR_END.is_relative_to(AGENTS)
    assert f"--network={'host' if has_network else 'none'}" in command


def test_what_lies_outside_of_the_checkout_is_brought_along(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "carla"
    for folder in (root / "team_code", outside):
        folder.mkdir(parents=True)
    (outside / "a.yaml").write_text("")
    paths = [str(root / "team_code"), str(outside)]
    assert list_outer_folders(root, None, paths) == [root, outside]
    assert list_outer_folders(root, outside / "a.yaml", paths[:1]) == [root, outside]
    assert list_outer_folders(root, root / "team_code", []) == [root]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "lxc"}, "engine: unknown engine lxc; valid: docker, podman"),
        ({"engine": "podman"}, "engine: podman not found"),
    ],
)
def test_engines_that_are_not_there_are_refused_in_one_line(
    settings: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for make in (LeaderboardAgent, LeaderboardAgent.files):
        with pytest.raises(UserError, match=said) as problem:
            make(str(HERE), "little_agent.py", image="mine:1", python="nowhere", **settings)
        assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("name", "value"), [("engine", "docker"), ("engine", "lxc"), ("engine_options", ["--gpus=all"])]
)
def test_what_is_for_an_image_needs_one(name: str, value: object) -> None:
    given: dict[str, Any] = {name: value}
    with pytest.raises(UserError, match=f"^system: {name}: only for an image; name one"):
        LeaderboardAgent.files(str(HERE), "little_agent.py", python=sys.executable, **given)
    assert LeaderboardAgent.files(str(HERE), "little_agent.py", python=sys.executable)


def test_an_engine_that_does_not_run_says_so(engine: None) -> None:
    with pytest.raises(
        UserError,
        match="little_agent\\.py, run with python in mine:1: it ended with exit code 1 at hello",
    ):
        LeaderboardAgent(str(HERE), "little_agent.py", image="mine:1")


def make_contained_agent(root: Path, name: str, **more: Any) -> LeaderboardAgent:
    """Return an agent in the image that the environment names."""
    options = os.environ.get("AGENT_ENGINE_OPTIONS", "").split()
    python = os.environ.get("AGENT_PYTHON", "python3")
    given: dict[str, Any] = {
        "image": IMAGE,
        "engine": ENGINE,
        "python": python,
        "engine_options": options,
    }
    return LeaderboardAgent(str(root), name, **given, **more)


def list_containers() -> list[str]:
    """Return the names of all containers, also of those that have ended."""
    words = [ENGINE, "ps", "--all", "--format={{.Names}}"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.thorough
@NEEDS_ENGINE
def test_an_agent_drives_in_a_real_container_and_leaves_none_behind() -> None:
    agent = make_contained_agent(HERE, "little_agent.py")
    agent.open_attempt(PLACE, seed=3, route=make_route())
    assert agent.step(make_observation(0, sense()), ()).control.throttle == 0.5
    assert agent._container is not None
    name = agent._container.name
    assert name in list_containers()
    agent.close_attempt()
    del agent
    assert name not in list_containers()


@pytest.mark.thorough
@NEEDS_ENGINE
def test_a_stuck_agent_is_ended_with_its_container(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(STUCK)
    agent = make_contained_agent(tmp_path, "agent.py:Stuck", step_timeout=1.0)
    agent.open_attempt(PLACE, seed=3, route=make_route())
    with pytest.raises(AttemptError, match="no answer to step within 1 s"):
        agent.step(make_observation(0), ())
    assert agent._container is not None
    name = agent._container.name
    del agent
    assert name not in list_containers()
