"""A made-up campaign with failures, packed and unpacked, for all tests here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml

from harness.records.ledger import append_try
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from tests.analysis.little import write_little
from tests.keys import key_of
from tests.once import once

HOME = "/home/jane"
AWAY = f"{HOME}/maps of towns"
"""Places on the machine that drove it, which no packed file is to name."""
ROUTES = ("0", "1", "2", "4", "5")
LOST = key_of("late", "latency", "9", 1)
RETRIED = key_of("late", "none", "0", 1)


@dataclass(frozen=True)
class Packed:
    """A campaign, the file it is packed into, and what is unpacked of that."""

    driven: Path
    file: Path
    unpacked: Path


def add_failures(folder: Path) -> None:
    """Have one attempt fail for good and one at its first try, with paths in what they say."""
    with patch("os.fsync"):
        append_try(
            folder,
            LOST,
            number=1,
            failure="agent_exception",
            message=f"OSError: {HOME}/weights.pt: absent, see {folder.resolve()}/logs/1.log",
            server_tail=f"{HOME}/server: much",
        )
        append_try(
            folder, RETRIED, number=1, failure="disk", message="disk is full", server_tail=""
        )


def add_settings(folder: Path) -> None:
    """Give its settings what a real campaign's have: places on the machine that drove it."""
    file = folder / "campaign.yaml"
    header = yaml.safe_load(file.read_text())
    header["settings"] |= {
        "out": str(folder),
        "simulator": {"maps": AWAY},
        "routes": {"file": "routes/sudden/routes.xml", "hazards": "../jane/hazards.json"},
        "patterns": {},
        "export": {"wandb": {"entity": "jane"}},
        "executor": {"_target_": "a.Slurm", "workers": 2, "account": "jane"},
    }
    file.write_text(yaml.safe_dump(header))


def make(folder: Path) -> Packed:
    """Write, pack and unpack it."""
    driven = write_little(folder / "main", routes=ROUTES)
    add_failures(driven)
    add_settings(driven)
    file = folder / "part.parquet"
    pack_campaigns([driven], file)
    (unpacked,) = unpack_campaigns([file], folder / "study")
    return Packed(driven, file, unpacked)


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """A campaign of five routes, two seeds and four arms; not to be changed."""
    return once(tmp_path_factory, "packed", make)
