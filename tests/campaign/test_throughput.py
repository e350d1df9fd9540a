"""What a run says of its speed is what the records of its own attempts say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.campaign.printing.throughput import measure_throughput
from harness.records.ledger import find_finished_tries
from tests.campaign.many import finished_bend


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a campaign of two attempts, of 100 and 200 ticks."""
    folder = finished_bend(tmp_path)
    for place, ticks in zip(sorted(find_finished_tries(folder).values()), (100, 200), strict=True):
        (place / "timing.json").write_text(json.dumps({"seconds": {}, "ticks": ticks}))
    return folder


@pytest.mark.thorough
def test_all_that_was_driven_counts(folder: Path) -> None:
    speed = measure_throughput(folder, set(), tick=0.05, seconds=30.0)
    assert speed.attempts == 2
    assert speed.simulated == pytest.approx(15.0)
    assert str(speed) == "2 attempts in 30 s: 240 attempts per hour, real-time factor 0.5"


def test_what_was_there_before_does_not(folder: Path) -> None:
    known = find_finished_tries(folder)
    first, second = sorted(known, key=lambda key: known[key])
    speed = measure_throughput(folder, {first}, tick=0.05, seconds=100.0)
    assert speed.attempts == 1
    assert speed.simulated == pytest.approx(10.0)
    assert measure_throughput(folder, {first, second}, tick=0.05, seconds=1.0).attempts == 0


def test_a_broken_timing_ends_nothing(folder: Path) -> None:
    (min(find_finished_tries(folder).values()) / "timing.json").write_text('{"seconds": {}}')
    speed = measure_throughput(folder, set(), tick=0.05, seconds=60.0)
    assert speed.attempts == 2
    assert speed.simulated == pytest.approx(10.0)
