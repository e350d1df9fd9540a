"""A small campaign that was really driven, packed and described, for all tests here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from crucible.subcommands import dispatch_subcommand
from tests.campaign.test_twins import drive_deaf
from tests.once import once


@dataclass(frozen=True)
class Study:
    """A driven campaign, its packed file and its reference; and where it is driven again."""

    driven: Path
    pack: Path
    reference: Path
    again: Path


def make(driven: Path, folder: Path) -> Study:
    """Pack it, describe it, and drive both of its attempts again."""
    pack, reference = folder / "packs" / "part.parquet", folder / "reference.json"
    protocol = folder / "protocol.md"
    protocol.write_text("What we will do.\n")
    assert dispatch_subcommand(["pack", str(driven), "--out", str(pack)]) == 0
    line = ["reference", str(pack), "--out", str(reference), "--protocol", str(protocol)]
    made_by = ["--made-by", driven.name, "system=ideal_late", "simulator.maps=/home/jane/maps"]
    assert dispatch_subcommand([*line, "--placebo", "loss", *made_by]) == 0
    assert dispatch_subcommand(["verify", str(reference), "--out", str(folder / "again")]) == 0
    return Study(driven, pack, reference, folder / "again")


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of one route, clean while messages arrive; not to be changed."""
    driven = once(tmp_path_factory, "twins", drive_deaf)
    return once(tmp_path_factory, "study", lambda folder: make(driven, folder))
