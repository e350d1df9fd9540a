"""The command `carlite`: what it accepts, and what it refuses in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.carlite.commandline import MAPS_VARIABLE, run_carlite_command
from tests.conftest import PATIENCE, ROOT


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command that is refused; return its line."""
    assert run_carlite_command(list(words), "carlite") == 2
    (line,) = capfd.readouterr().err.splitlines()
    return line


def test_an_unknown_command_is_refused_with_the_valid_ones(
    capfd: pytest.CaptureFixture[str],
) -> None:
    line = refused(capfd, "server")
    assert "'server'" in line
    assert "carlite serve, carlite precompile" in line


def test_precompile_takes_no_words(capfd: pytest.CaptureFixture[str]) -> None:
    assert "precompile --all" in refused(capfd, "precompile", "--all")


def test_a_bad_option_of_serve_names_a_near_one(capfd: pytest.CaptureFixture[str]) -> None:
    line = refused(capfd, "serve", "--twon", "Town05")
    assert line.startswith("carlite serve: unknown option --twon; did you mean --town?")


def test_maps_of_the_environment_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Mine.xodr").write_text("")
    monkeypatch.setenv(MAPS_VARIABLE, str(tmp_path))
    assert "Mine" in refused(capfd, "serve", "--port", "0", "--town", "Nowhere")
    other = tmp_path / "other"
    other.mkdir()
    # the option counts, not the environment
    line = refused(capfd, "serve", "--port", "0", "--maps", str(other), "--town", "Nowhere")
    assert "Mine" not in line
    # campaigns start a server without the word `serve`
    assert "Mine" not in refused(capfd, "--port", "0", "--town", "Nowhere")
    monkeypatch.setenv(MAPS_VARIABLE, str(tmp_path / "none"))
    assert refused(capfd, "serve").startswith(f"carlite: {MAPS_VARIABLE}=")


def test_a_server_without_stdin_stops_while_it_starts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "harness.carlite", "serve", "--port", "0", "--stop-with-stdin"],
        check=False, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")
