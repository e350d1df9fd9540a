"""A test whose process dies in the client library runs once more; nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.dying import died, ended, outlived, refuse_failed

DYING = """
import os, signal
from pathlib import Path

def test_it():
    runs = Path({runs!r})
    runs.write_text(runs.read_text() + "x")
    if len(runs.read_text()) <= {deaths}:
        os.kill(os.getpid(), signal.SIGSEGV)
    assert {passes}
"""
CASES = {
    "once": (1, True, "# carla", "passed", 2),
    "twice": (9, True, "# carla", "FAILED", 2),
    "no_client": (1, True, "", "FAILED", 1),
    "fails_alive": (0, False, "# carla", "FAILED", 1),
}
"""Deaths, whether it passes alive, the client, how it ends, and how often it is run."""


@pytest.mark.thorough
def test_a_death_in_the_client_library_costs_one_more_run(tmp_path: Path) -> None:
    for name, (deaths, passes, client, _, _) in CASES.items():
        (tmp_path / f"{name}.runs").touch()
        text = DYING.format(runs=str(tmp_path / f"{name}.runs"), deaths=deaths, passes=passes)
        (tmp_path / f"test_{name}.py").write_text(f"{text}{client}\n")
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_configure\n")
    (tmp_path / "pytest.ini").touch()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-n", "1", "-q", "-rf"],
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    for name, (deaths, _, client, how, runs) in CASES.items():
        assert len((tmp_path / f"{name}.runs").read_text()) == runs, done.stdout
        assert (f"FAILED test_{name}.py::test_it" in done.stdout) == (how == "FAILED")
        said = f"its process died, run once more: test_{name}.py::test_it"
        assert (said in done.stdout) == bool(deaths and client)
    assert "3 failed, 1 passed, 2 died" in done.stdout


@pytest.mark.thorough
def test_a_child_that_dies_is_run_once_more(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    said = "import os, sys; open(sys.argv[1], 'a').write('x'); "
    dies = said + "os.path.getsize(sys.argv[1]) > {} or os.kill(os.getpid(), 11)"

    def child(code: str) -> None:
        runs.unlink(missing_ok=True)
        outlived([sys.executable, "-c", code, str(runs)], timeout=60)

    child(dies.format(0))
    assert runs.read_text() == "x"
    with pytest.warns(UserWarning, match="SIGSEGV, run once more"):
        child(dies.format(1))
    assert runs.read_text() == "xx"
    with (
        pytest.warns(UserWarning, match="SIGSEGV, run once more"),
        pytest.raises(AssertionError, match="SIGSEGV"),
    ):
        child(dies.format(2))
    assert runs.read_text() == "xx"
    with pytest.raises(AssertionError, match="ended with code 3"):
        child(said + "sys.exit(3)")
    assert runs.read_text() == "x"


def test_children_that_die_are_named() -> None:
    code = f"import os; os.kill(os.getpid(), {signal.SIGABRT})"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    with pytest.raises(AssertionError, match="died of SIGABRT"):
        refuse_failed(done)
    assert ended(3) == "ended with code 3"
    assert died(done.returncode)
    assert not died(-signal.SIGKILL)
    assert not died(3)
