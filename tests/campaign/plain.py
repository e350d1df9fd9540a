"""Campaigns without anything special, with which several tests compare theirs: driven once."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.records.ledger import find_finished_tries
from tests.campaign.chaos import contents
from tests.campaign.tiny import complaints, run, write_route
from tests.once import once

SETTINGS = ("system=ideal_late", "interference=none", "routes.hazards=null")


def drive_plain_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign on `hop` and `step`, by one worker."""

    def drive(folder: Path) -> Path:
        return drive_route(folder, "hop", "step")

    return once(tmp_path_factory, "plain", drive)


def drive_mixed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of a campaign on `hop` with two kinds of partners."""

    def drive(folder: Path) -> Path:
        return drive_route(folder, "hop", settings=("cooperation=mixed",))

    return once(tmp_path_factory, "mixed", drive)


def drive_route(folder: Path, *names: str, settings: tuple[str, ...] = ()) -> Path:
    """Drive the routes of these names."""
    done = run(write_route(folder, *names), *SETTINGS, *settings, f"out={folder / 'out'}")
    assert (done.returncode, complaints(done.stderr)) == (0, [])
    return folder / "out"


def assert_same_records(one: Path, other: Path) -> None:
    """Assert that two campaigns finished the same attempts, with equal bytes."""
    expected, others = find_finished_tries(one), find_finished_tries(other)
    assert set(others) == set(expected)
    for key, place in others.items():
        assert contents(place) == contents(expected[key]), key
