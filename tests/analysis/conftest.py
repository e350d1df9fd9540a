"""One small campaign for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.collection import Collection, collect
from tests.analysis.little import write_little


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign folder: six routes, two seeds, four arms."""
    return write_little(tmp_path_factory.mktemp("campaigns") / "little")


@pytest.fixture(scope="session")
def collection(little: Path) -> Collection:
    """The same, read."""
    return collect([little])
