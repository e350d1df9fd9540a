"""Whole campaigns on a CARLA that is launched from an install, here the stand-in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.campaign.tiny import complaints, files, ledger, run, write_route
from tests.conftest import ROOT
from tests.standin.watch import family, left

SYSTEMS = "system=[oracle,ideal_single]"
CONDITION = "interference=[none]"
LAUNCHED = ("simulator=carla", f"simulator.root={ROOT / 'tests' / 'standin'}")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stand-in find what carlite needs."""
    monkeypatch.setenv("STANDIN_PYTHON", sys.executable)


def short_route(folder: Path) -> Path:
    """Write the shortest of the routes, without hazards."""
    write_route(folder, "hop")
    (folder / "hazards.json").write_text('{"version": 1, "hazards": []}')
    return folder


def tables(out: Path) -> dict[Path, bytes]:
    """Return the tables of a campaign's episodes."""
    return {file: (out / file).read_bytes() for file in files(out) if file.suffix == ".parquet"}


@pytest.mark.thorough
def test_launched_for_every_try_or_not_the_records_are_carlites(tmp_path: Path) -> None:
    routes = short_route(tmp_path)
    arms = (SYSTEMS, CONDITION)
    launched = run(routes, *arms, f"out={tmp_path / 'own'}")
    kept = run(routes, *arms, *LAUNCHED, f"out={tmp_path / 'kept'}")
    fresh = run(routes, *arms, *LAUNCHED, "simulator.fresh=true", f"out={tmp_path / 'fresh'}")
    for done in (launched, kept, fresh):
        assert (done.returncode, complaints(done.stderr)) == (0, [])
    assert len(tables(tmp_path / "own")) > 4
    assert tables(tmp_path / "kept") == tables(tmp_path / "own")
    assert tables(tmp_path / "fresh") == tables(tmp_path / "own")
    assert left(family()) == []


def test_what_a_failed_launch_said_is_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_EXIT", "Refusing to run with the root privileges.")
    out = tmp_path / "out"
    done = run(short_route(tmp_path), SYSTEMS, CONDITION, *LAUNCHED, f"out={out}")
    assert done.returncode == 3
    assert "as a user other than root" in done.stderr
    assert "Traceback" not in done.stderr
    first = ledger(out)[0]
    assert first["failure"] == "server_launch"
    assert "as a user other than root" in first["message"]
    assert first["server"] == "Refusing to run with the root privileges.\n"
