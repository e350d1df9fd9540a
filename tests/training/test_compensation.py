"""`crucible compensation` on a made-up recording in which a car passes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from agents.training.compensation import compare_compensation
from agents.training.compensation_tables import (
    BOXES,
    NONE,
    CompensationOptions,
    LateOutcomes,
    compute_precision,
    estimate_count_change,
)
from harness.common.errors import UserError
from harness.common.recordings import PROTOCOL, write_look
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import VEHICLE, Boxes
from tests.training.made_up import LOOKERS, SIZES, look_of

INTERVAL, LOOKS = 0.1, 12
SPEEDS = (20.0, 0.0)
"""m/s along x of two cars."""


def write_passing(folder: Path, name: str) -> None:
    """Write a scenario of 1.2 s; every agent sees both cars."""
    scenario = folder / name
    scenario.mkdir(parents=True)
    for moment in range(LOOKS):
        rows = [
            (95.0 + speed * INTERVAL * moment, 62.0 + 6.0 * n, 0.8, *SIZES[VEHICLE], 0.0)
            for n, speed in enumerate(SPEEDS)
        ]
        boxes = Boxes(np.array(rows), np.full(2, VEHICLE), np.ones(2))
        for agent in LOOKERS:
            write_look(scenario, f"{moment:06}", look_of(agent, moment, boxes))
    protocol = {"town": "Nowhere", "purpose": "testing", "seed": 5, "interval": INTERVAL}
    (scenario / PROTOCOL).write_text(json.dumps(protocol))


def options(folder: Path, **more: object) -> CompensationOptions:
    chosen: dict[str, object] = {
        "schemes": ("ideal_late",),
        "data": [folder],
        "latencies": (0.0, 0.3),
        "most": 8,
        "settings": {},
        "out": folder / "out.json",
        **more,
    }
    return CompensationOptions(**chosen)  # type: ignore[arg-type]


@pytest.mark.usefixtures("prints_fit")
def test_boxes_are_compared_on_time_and_late(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_passing(tmp_path, name)
    outcomes = compare_compensation(options(tmp_path))
    on_time, late = (
        [outcomes["ideal_late", latency, name] for name in (NONE, BOXES)] for latency in (0.0, 0.3)
    )
    # without latency nothing is moved, and all is the same
    assert on_time[0].counts == on_time[1].counts
    assert not on_time[1].boxes
    assert compute_precision(on_time[0], "vehicle") == 1.0
    # every agent sees all here, so that the ego adds no box of a partner where it has its own;
    # a late one stands 6 m behind the car, which is too far to be taken for it
    assert sum(one["CADE"] + one["LADE"] for one in late[0].counts) > 0
    assert sum(one["CADE"] + one["LADE"] for one in late[1].counts) == 0
    assert compute_precision(late[1], "vehicle") >= compute_precision(late[0], "vehicle")
    moved = [row for row in late[1].boxes if row["moved"] > 0]
    assert np.mean([row["stated"] for row in moved]) == pytest.approx(6.0, abs=0.05)
    assert np.mean([row["left"] for row in moved]) < 0.5
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["scenarios"] == 2
    assert [arm["compensate"] for arm in record["arms"]] == [NONE, BOXES] * 2


def test_changes_are_paired_by_sample() -> None:
    first, second = LateOutcomes(), LateOutcomes()
    for number in range(4):
        first.counts.append(dict.fromkeys(PATTERNS, number))
        second.counts.append(dict.fromkeys(PATTERNS, number + 2))
    change = estimate_count_change((first, second), ["LADE"], ["a", "a", "b", "b"])
    assert change == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"latencies": (0.25,)}, r"--latencies 0.25: looks are 0.1 s apart"),
        ({"latencies": (0.9,)}, r"no vehicle in it has 15 looks"),
        ({"schemes": ("single",)}, r"--schemes single: reads no messages"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    tmp_path: Path, more: dict[str, object], words: str
) -> None:
    write_passing(tmp_path, "one")
    with pytest.raises(UserError, match=words) as raised:
        compare_compensation(options(tmp_path, **more))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out.json").exists()
