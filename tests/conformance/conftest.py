"""One recorded street for all tests of checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agents.conformance.recorded_steps import Recording, read, write
from agents.conformance.recording import record

MOMENTS = 5
"""Of ten, the last: every system plays them six times, and messages three steps old need four."""


@pytest.fixture(scope="session")
def street_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the end of a recorded street."""
    file = tmp_path_factory.mktemp("street") / "steps.npz"
    record(file)
    whole = read(file)
    write(file, replace(whole, steps=whole.steps[-MOMENTS:]))
    return file


@pytest.fixture(scope="session")
def street(street_file: Path) -> Recording:
    return read(street_file)
