"""A campaign of `system=opencood`: one route, none and latency, killed and resumed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from harness.records.reading import CampaignRecords, read_stored_table
from tests.campaign.tiny import command, files, ledger, run, write_route
from tests.killing import kill_after_first_attempt
from tests.opencood.tiny_checkout import write_checkout, write_checkpoint
from tests.profiles import ONLY_WITH_ALL

pytestmark = pytest.mark.thorough
PATIENCE = 300.0


def list_settings(folder: Path) -> list[str]:
    """Settings of a campaign; OPENCOOD_ROOT, _PYTHON and _CHECKPOINT name a real one."""
    root = os.environ.get("OPENCOOD_ROOT")
    if root is None:
        root = str(write_checkout(folder / "checkout"))
        checkpoint = str(write_checkpoint(folder / "checkpoint", "intermediate"))
        words = ["weights=null"]
    else:
        checkpoint = os.environ["OPENCOOD_CHECKPOINT"]
        words = ["weights=random", "cut_range=25.6"]
    python = os.environ.get("OPENCOOD_PYTHON", sys.executable)
    words += [f"root={root}", f"checkpoint={checkpoint}", f"python={python}"]
    return [
        "system=opencood",
        *(f"system.opencood.{word}" for word in words),
        "interference=[none,latency]",
        "routes.hazards=null",
    ]


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=ONLY_WITH_ALL)])
def test_every_attempt_is_there_also_when_killed_and_resumed(tmp_path: Path, killed: bool) -> None:
    routes = write_route(tmp_path, "step")
    settings, out = [*list_settings(tmp_path), f"out={tmp_path / 'out'}"], tmp_path / "out"
    before = 0
    if killed:
        kill_after_first_attempt(command(routes, *settings), out, patience=PATIENCE)
        before = len(ledger(out))
    # the same command drives what is left
    done = run(routes, *settings)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = ledger(out)
    assert before < len(lines)
    places = CampaignRecords(out).find_attempts()
    assert len(places) == 2
    assert {key.arm.condition for key in places} == {"none", "latency"}
    for place in places.values():
        messages = read_stored_table(place / "messages.parquet", "messages")
        assert len(messages) > 0
        assert (messages.bytes > 0).all()
    assert list(files(out))
