"""The table of compensated boxes: sums over made-up messages, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.collection import collect_campaigns
from analysis.tables.compensation import (
    AGE,
    KNOWN,
    LEFT_ERROR,
    MOVED,
    STATED_ERROR,
    build_compensation_table,
)
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try
from harness.records.schema import ACTORS, COMPENSATED, TRACKS
from tests.analysis.little import Drive, write_attempt, write_little
from tests.keys import arm_of

ARM = arm_of("late", "none", compensate="boxes")
SPEED = 0.5
"""Metres a tick of the car with number 7, along x."""
BOXES = (
    # frame, capture_frame, class, velocity, stated x, moved x; the person with number 8 is at 30
    (8, 4, "vehicle", "none", 2.0, 2.0),
    (12, 8, "vehicle", "estimated", 4.1, 5.9),
    (12, 8, "pedestrian", "estimated", 30.0, 30.4),
    (12, 8, "vehicle", "estimated", 90.0, 91.0),
    (12, 8, "vehicle", "message", 0.5, 0.9),
)
"""The fourth stands for no road user, the fifth for the ego."""


def write_tables(place: Path) -> None:
    columns: dict[str, list[Any]] = {name: [] for name in COMPENSATED.names}
    for number, (frame, captured, kind, velocity, stated, moved) in enumerate(BOXES):
        row = {
            "frame": frame,
            "sender": "roadside-0",
            "capture_frame": captured,
            "box": number,
            "class": kind,
            "age": (frame - captured) * 0.05,
            "velocity": velocity,
            "stated_x": stated,
            "stated_y": 50.0,
            "stated_yaw": 0.0,
            "moved_x": moved,
            "moved_y": 50.0,
            "moved_yaw": 0.0,
        }
        for name, value in row.items():
            columns[name].append(value)
    pq.write_table(pa.table(columns, schema=COMPENSATED), place / "compensated.parquet")
    # the ego stands at 0.5, apart from the others
    ticks = range(13)
    tracks = [
        *((0, tick, 500, 50_000) for tick in ticks),
        *((7, tick, round(1000 * SPEED * tick), 50_000) for tick in ticks),
        *((8, tick, 30_000, 50_000) for tick in ticks),
    ]
    ids, frames, x, y = (list(values) for values in zip(*tracks, strict=True))
    still = [0] * len(ids)
    pq.write_table(
        pa.table(dict(zip(TRACKS.names, (ids, frames, x, y, still, still), strict=True)), TRACKS),
        place / "tracks.parquet",
    )
    actors = {
        "actor_id": [0, 7, 8],
        "class": ["vehicle", "vehicle", "pedestrian"],
        "type": ["a", "b", "c"],
        **{name: [1.0] * 3 for name in ("length", "width", "height")},
    }
    pq.write_table(pa.table(actors, schema=ACTORS), place / "actors.parquet")


def test_the_table_has_means_over_boxes_of_road_users(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    key = AttemptKey(ARM, "1", 1)
    plain = AttemptKey(arm_of("late", "none"), "1", 1)
    write_little(folder, [("late", "none")], ["1"], [1], drives={plain: Drive(10)})
    write_attempt(folder, key, Drive(10), "carlite 0.9.16")
    with patch("os.fsync"):
        append_try(folder, key, number=1, failure=None, message="", server_tail="")
    (place,) = (folder / "episodes" / ARM.path).glob("1-s1/try1")
    write_tables(place)
    table = build_compensation_table(collect_campaigns([folder]))
    assert table is not None
    rows = {names[-1]: cells for names, cells in table.list_rows()}
    # vehicles: the ego is none of them, and only two stand for one
    vehicle = {name: estimate.value for name, estimate in rows["vehicle"].items()}
    assert vehicle[AGE] == pytest.approx(0.2)
    assert vehicle[KNOWN] == pytest.approx(200 / 3)
    assert vehicle[MOVED] == pytest.approx((0.0 + 1.8 + 1.0) / 3)
    assert vehicle[STATED_ERROR] == pytest.approx((2.0 + 1.9) / 2)
    assert vehicle[LEFT_ERROR] == pytest.approx((2.0 + 0.1) / 2)
    person = {name: estimate.value for name, estimate in rows["pedestrian"].items()}
    assert person[STATED_ERROR] == pytest.approx(0.0, abs=1e-9)
    assert person[LEFT_ERROR] == pytest.approx(0.4)
    assert np.isnan(rows["cyclist"][AGE].value)


def test_drives_without_compensation_have_no_table(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    key = AttemptKey(arm_of("late", "none"), "1", 1)
    write_little(folder, [("late", "none")], ["1"], [1], drives={key: Drive(10)})
    assert build_compensation_table(collect_campaigns([folder])) is None
