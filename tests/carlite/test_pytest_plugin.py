"""The fixtures of `carlite.pytest`, in sessions of pytest of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from harness.carlite.background import ServerStartError, start_background_server
from tests.conftest import PATIENCE, ROOT

PAGES = ("docs/how-to/carlite-alone.md", "harness/carlite/distribution/README.md")
EXAMPLE = re.compile(r"```python\n(import carla\nimport pytest\n.*?)```", re.S)
DRIVES = """
seen = []


@pytest.fixture(autouse=True)
def remember(request):
    yield
    seen.append(request.node.funcargs.get("carlite_server"))


def test_its_server_ended_with_the_test(carlite_session_server):
    assert seen[0].town == "Town05"
    assert seen[0].process.poll() is not None
    seen.append(carlite_session_server)


def test_a_failure_shows_the_log(carlite_session_server):
    assert carlite_session_server is seen[1]
    assert carlite_session_server.process.poll() is None
    assert carlite_session_server.town == "CrucibleOld"
    carlite_session_server.process.kill()
    carlite_session_server.process.wait()
    carlite_session_server.log_file.write_text("a line of the log")
    assert carlite_session_server.town == "here is the failure"


@pytest.mark.carlite(twon="Town05")
def test_unknown_words_are_refused(carlite_server):
    pass
"""
HANGS = """
import pathlib, time

def test_it_hangs(carlite_server):
    pathlib.Path("pid").write_text(str(carlite_server.process.pid))
    pathlib.Path("ready").touch()
    time.sleep(600.0)
"""


def command(*words: str) -> Sequence[str]:
    """Return the command of a session with the plug-in and no other."""
    plugins = ("-p", "harness.carlite.pytest", "-p", "no:cacheprovider")
    return [sys.executable, "-m", "pytest", "-o", "addopts=", *plugins, *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.mark.thorough
def test_servers_live_as_long_as_their_scope(tmp_path: Path) -> None:
    examples = {match for page in PAGES for match in EXAMPLE.findall((ROOT / page).read_text())}
    (example,) = examples  # the same on both pages
    (tmp_path / "test_drives.py").write_text(example + DRIVES)
    done = subprocess.run(
        command("--strict-markers", "--carlite-town", "CrucibleOld", "test_drives.py"),
        check=False, cwd=tmp_path, env=environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert "1 failed, 2 passed, 1 error" in done.stdout, done.stdout
    failure = done.stdout[done.stdout.index("test_a_failure_shows_the_log") :]
    assert "carlite_session_server (ended with exit code -9)" in failure
    assert "a line of the log" in failure
    assert "mark.carlite: unknown twon; valid: town, maps, seed, options" in done.stdout


def test_the_server_ends_when_pytest_is_killed(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text(HANGS)
    process = subprocess.Popen(
        command("test_hangs.py"), cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL
    )
    try:
        while not (tmp_path / "ready").exists():
            assert process.poll() is None
            time.sleep(0.05)
        server = psutil.Process(int((tmp_path / "pid").read_text()))
        assert "harness.carlite" in server.cmdline()
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    psutil.wait_procs([server], PATIENCE)
    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE


def test_a_server_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(ServerStartError, match=r"did not start:\n.*did you mean --town"),
        start_background_server(options=["--twon", "Town05"]),
    ):
        pass


def test_a_server_that_is_not_ready_in_time_is_stopped() -> None:
    with (
        pytest.raises(ServerStartError, match=r"not ready after 0 s"),
        start_background_server(timeout=0.0),
    ):
        pass
