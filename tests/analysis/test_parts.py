"""Segments of a message are put together; CAMs are left out."""

from __future__ import annotations

import math
import random
from typing import Any

import pandas as pd
import pytest

from analysis.tables.parts import join_segments


def make_rows(rng: random.Random) -> list[dict[str, Any]]:
    """Return rows of a link: of each capture a message in one to four parts, or a CAM, or both."""
    rows = []
    for sender in ("vehicle-1", "vehicle-2"):
        for frame in range(0, 40, 4):
            parts = ["", "segment 2", "segment 3", "segment 4"][: rng.randrange(5)]
            for part in [*parts, "CAM"] if rng.random() < 0.5 else parts:
                lost = rng.random() < 0.4
                rows.append(
                    {
                        "sender": sender,
                        "capture_frame": frame,
                        "bytes": rng.randrange(40, 1100),
                        "fragments": rng.randrange(1, 4),
                        "queue": math.nan if lost else rng.random(),
                        "airtime": rng.choice([math.nan, 0.001, 0.002]),
                        "distance": 30.0,
                        "sight": "LOS",
                        "power": -60.0,
                        "busy": 0.4,
                        "outcome": "lost" if lost else "arrived",
                        "arrival": math.nan if lost else rng.random(),
                        "part": part,
                    }
                )
    rng.shuffle(rows)
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_segments_are_joined_as_in_a_loop(seed: int) -> None:
    rows = make_rows(random.Random(seed))
    table: list[Any] = join_segments(pd.DataFrame(rows)).to_dict("records")
    joined = {(row["sender"], row["capture_frame"]): row for row in table}
    assert len(joined) == len(table)
    messages: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        if row["part"] != "CAM":
            messages.setdefault((row["sender"], row["capture_frame"]), []).append(row)
    assert joined.keys() == messages.keys()
    for key, parts in messages.items():
        made = joined[key]
        assert made["bytes"] == sum(part["bytes"] for part in parts)
        assert made["fragments"] == sum(part["fragments"] for part in parts)
        arrived = [part for part in parts if part["outcome"] == "arrived"]
        assert made["outcome"] == ("arrived" if arrived else "lost")
        first = min((part["arrival"] for part in arrived), default=math.nan)
        assert made["arrival"] == first or (math.isnan(first) and math.isnan(made["arrival"]))
        known = [part["airtime"] for part in parts if not math.isnan(part["airtime"])]
        if known:
            assert made["airtime"] == pytest.approx(sum(known))
        else:
            assert math.isnan(made["airtime"])


def test_a_table_without_parts_stays() -> None:
    plain = pd.DataFrame([{**row, "part": ""} for row in make_rows(random.Random(1))])
    plain = plain.drop(columns="part")
    assert join_segments(plain) is plain
