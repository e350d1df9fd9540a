"""One recorded street for all tests of checks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agents.conformance.recorded_steps import Recording, read_recording, write_recording
from tests.conftest import ROOT
from tests.once import once

MOMENTS = 4
"""Of ten, the last: every system plays them six times, and messages three steps old need four."""


@dataclass(frozen=True)
class Checked:
    """What the command line printed of a system that reads no messages, and what it recorded."""

    done: subprocess.CompletedProcess[str]
    recording: Path


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    return once(tmp_path_factory, "street", record_street)


def record_street(folder: Path) -> Checked:
    """Check it on a new recording; cut out its end, with one partner of each kind."""
    file = folder / "whole.npz"
    command = [sys.executable, "-m", "crucible", "check", "tests.conformance.broken:Deaf"]
    done = subprocess.run(
        [*command, f"--recording={file}"], check=False, cwd=ROOT, capture_output=True, text=True
    )
    if file.is_file():
        whole = read_recording(file)
        steps = tuple(
            replace(
                step, partners=tuple({one.observation.kind: one for one in step.partners}.values())
            )
            for step in whole.steps[-MOMENTS:]
        )
        write_recording(file.with_name("steps.npz"), replace(whole, steps=steps))
    return Checked(done, file)


@pytest.fixture(scope="session")
def street_file(checked: Checked) -> Path:
    """Return the file of the end of a recorded street."""
    assert checked.recording.is_file(), checked.done.stderr
    return checked.recording.with_name("steps.npz")


@pytest.fixture(scope="session")
def street(street_file: Path) -> Recording:
    return read_recording(street_file)
