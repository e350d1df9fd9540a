"""What an agent's file surely lacks is refused before a campaign; what may be right is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agents.leaderboard.agent_files import find_agent_files
from agents.leaderboard.agent_source import LONGEST, is_as_old, refuse_unfit_source
from harness.common.errors import UserError
from tests.campaign.tiny import command, environment, write_route
from tests.conftest import ROOT

AGENT = "class Agent: pass\ndef get_entry_point(): return 'Agent'\n"


def write(folder: Path, text: str) -> Path:
    (folder / "agent.py").write_text(text)
    return folder / "agent.py"


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("class A: pass", None, ": no get_entry_point; name the class: agent=agent.py:CLASS"),
        (AGENT, "Agnet", ": no class Agnet; its classes: Agent"),
        ("import numpy as np\nx: int = 3", "numpy", ": no class numpy; its classes: none"),
        (
            "\ndef get_entry_point():\n    return 'Agnet'\nclass Agent: pass",
            None,
            ":3: no class Agnet, which get_entry_point returns; its classes: Agent",
        ),
        ("x = 1\ndef get_entry_point() return", None, ":2: SyntaxError: expected ':'"),
        ("x = 1\0", None, ": SyntaxError: source code string cannot contain null bytes"),
        ("class Agent:\npass", "Agent", ":2: IndentationError: expected an indented block"),
    ],
)
def test_what_is_surely_wrong_is_one_line(
    tmp_path: Path, text: str, name: str | None, said: str
) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UserError) as problem:
        refuse_unfit_source(file, name, sys.executable)
    assert str(problem.value).startswith(f"system: agent: {file}{said}")
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (AGENT, None),
        (AGENT, "Agent"),
        ("from other import Agent, get_entry_point", None),
        ("from other import Base as Agent", "Agent"),
        ("import other.agents as Agent", "Agent"),
        ("from other import *", "Agent"),
        ("from other import *", None),
        ("import other\nAgent = other.make()", "Agent"),
        ("first, (Agent, *rest) = make()", "Agent"),
        ("if (Agent := make()): pass", "Agent"),
        ("try:\n    class Agent: pass\nexcept ImportError:\n    Agent = None", "Agent"),
        ("for Agent in make(): pass", "Agent"),
        ("with make() as Agent: pass", "Agent"),
        ("def make():\n    global Agent\n    Agent = type('Agent', (), {})", "Agent"),
        ("globals()['Agent'] = make()", "Agent"),
        ("import sys\nsetattr(sys.modules[__name__], 'Agent', make())", "Agent"),
        ("def __getattr__(name): return make(name)", "Agent"),
        ("def get_entry_point(): return NAME\nNAME = 'Agent'", None),
        ("def get_entry_point():\n    if a: return 'B'\n    return 'C'", None),
        ("get_entry_point = lambda: 'Agent'", None),
        ("pattern = '\\d'\nclass Agent: pass", "Agent"),
    ],
)
def test_what_may_be_right_is_left_to_the_import(
    tmp_path: Path, text: str, name: str | None, recwarn: pytest.WarningsRecorder
) -> None:
    refuse_unfit_source(write(tmp_path, text), name, sys.executable)
    assert not recwarn.list


def test_a_grammar_that_this_python_does_not_know_may_be_a_newer_ones(tmp_path: Path) -> None:
    file = write(tmp_path, "def get_entry_point() return")
    newer, shim = tmp_path / "python3.99", tmp_path / "shim"
    for one in (newer, shim):
        one.write_text("#!/bin/sh\nexit 3\n")
        one.chmod(0o755)
    for python in (str(newer), str(shim), "nowhere/python", None):
        assert not is_as_old(python)
        refuse_unfit_source(file, None, python)
    older, link = tmp_path / "python3.7", tmp_path / "python"
    newer.rename(older)
    link.symlink_to(older)
    assert is_as_old(str(link))
    with pytest.raises(UserError, match=r"agent\.py:1: SyntaxError"):
        refuse_unfit_source(file, None, str(link))


def test_a_file_too_long_to_be_read_is_left_to_the_import(tmp_path: Path) -> None:
    refuse_unfit_source(write(tmp_path, "#" * LONGEST + "\n)"), "Agent", sys.executable)


def test_the_agents_python_is_not_run(tmp_path: Path) -> None:
    write(tmp_path, AGENT)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ntouch {tmp_path / 'it-ran'}\n")
    python.chmod(0o755)
    find_agent_files(str(tmp_path), "agent.py", None, str(python))
    assert not (tmp_path / "it-ran").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "agent", "said"),
    [
        (AGENT, "agent.py:Agnet", "agent.py: no class Agnet; its classes: Agent"),
        ("def f(:", "agent.py", "agent.py:1: SyntaxError: "),
    ],
)
def test_a_campaign_is_refused_before_its_folder_is_made(
    tmp_path: Path, text: str, agent: str, said: str
) -> None:
    write(tmp_path, text)
    words = [f"root={tmp_path}", f"agent={agent}", f"python={sys.executable}"]
    done = subprocess.run(
        command(
            write_route(tmp_path, "step"),
            "system=leaderboard_agent",
            *(f"system.leaderboard_agent.{word}" for word in words),
            "interference=[none]",
            "routes.hazards=null",
            f"out={tmp_path / 'out'}",
        ),
        cwd=ROOT, env=environment(), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
