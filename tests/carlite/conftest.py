"""A server for tests that no guest of a shared one should have to bear."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.carlite import log
from tests.conftest import Carlite


@pytest.fixture(scope="session")
def target() -> Iterator[Carlite]:
    """Keep a server apart for what is not to be done to a shared one."""
    with Carlite() as server:
        yield server


@pytest.fixture(autouse=True)
def _uncounted_lines() -> None:
    """Let every test see the lines that a new process prints."""
    log.forget_counts()
