"""Processes that are started: whose packages they import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.foreign.process import Child, ChildError
from harness.common.environments import AT_START, build_foreign_environment
from harness.common.installation import PACKAGES
from harness.common.subprocesses import (
    build_module_command,
    describe_exit,
    end_group,
    group_is_there,
    is_running,
    wait_until_true,
)
from tests.wheel import carla_like

CHILD = """
import sys
try:
    import agents
except ImportError as problem:
    sys.exit(str(problem))
sys.exit(agents.__file__)
"""


@pytest.mark.thorough
def test_a_module_imports_our_packages_wherever_it_is_started(tmp_path: Path) -> None:
    """With another `agents` in the working directory, and one on PYTHONPATH."""
    other = carla_like(tmp_path)
    for cwd in (tmp_path, other):
        done = subprocess.run(
            build_module_command("agents.training", "train", "--help"),
            check=False, cwd=cwd, env=os.environ | {"PYTHONPATH": str(other)},
            capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("usage: ")


def test_the_standard_library_comes_before_our_packages(tmp_path: Path) -> None:
    """site-packages, where a wheel's packages are, may have a backport of a part of it."""
    (tmp_path / "shown.py").write_text("import sys; print(sys.path)")
    done = subprocess.run(
        build_module_command("shown"),
        check=True, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    path: list[str] = eval(done.stdout)
    standard = str(Path(os.__file__).parent)
    assert path.index(standard) < path.index(str(PACKAGES)) < path.index(str(tmp_path))


def test_v2xverse_imports_the_agents_of_carla(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = carla_like(tmp_path)
    monkeypatch.setitem(AT_START, "PYTHONPATH", os.pathsep.join([str(PACKAGES), str(other)]))
    (tmp_path / "child.py").write_text(CHILD)
    with pytest.raises(ChildError, match="these are the agents of CARLA"):
        Child([sys.executable, str(tmp_path / "child.py")], {}, 60.0)
    assert build_foreign_environment()["PYTHONPATH"] == str(other)


def test_nothing_is_left_of_a_path_of_ours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AT_START, "PYTHONPATH", str(PACKAGES))
    assert "PYTHONPATH" not in build_foreign_environment()


STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import signal, time; time.sleep(600)"])
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("leader_first", [False, True])
def test_a_group_is_ended_with_all_its_processes(leader_first: bool) -> None:
    command = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert is_running(process)
        assert group_is_there(process.pid)
        if leader_first:
            process.kill()
            process.wait()
        end_group(process, 0.1)
    assert not is_running(process)
    assert wait_until_true(60.0, lambda: not group_is_there(process.pid))
    assert describe_exit(process.returncode) == "by signal 9"


@pytest.mark.parametrize(
    ("code", "how"),
    [(-6, "by signal 6"), (137, "by signal 9"), (3, "with exit code 3"), (0, "with exit code 0")],
)
def test_how_a_process_ended(code: int, how: str) -> None:
    assert describe_exit(code) == how
