"""One small campaign, and its report, for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.collection import CampaignCollection, collect_campaigns
from tests.analysis.little import write_little
from tests.once import once


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign folder: six routes, two seeds, four arms."""
    return once(tmp_path_factory, "little", lambda folder: write_little(folder / "little"))


@pytest.fixture(scope="session")
def out(little: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its report, not to be changed."""

    def make(folder: Path) -> Path:
        assert main(["report", str(little), "--out", str(folder)]) == 0
        return folder

    return once(tmp_path_factory, "report", make)


@pytest.fixture(scope="session")
def collection(little: Path) -> CampaignCollection:
    """The same, read."""
    return collect_campaigns([little])
