"""`crucible radio`: sums by kind of partner computed again, the map, curves over shares."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from analysis.__main__ import main
from analysis.tables.radio import compute_information_ages
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try
from harness.records.schema import LINKS, MESSAGES, POSES, VERSION
from tests.analysis.little import Drive, write_attempt, write_route
from tests.keys import arm_of

STEPS = 8
SENDERS = (("vehicle-1", "vehicle"), ("roadside-0", "roadside"))
COOPERATIONS = {
    f"connected_vehicles_{share:g}": {"connected": 9, "connected_share": share, "roadside": None}
    for share in (0.2, 1.0)
}


def sent_of(seed: int) -> pd.DataFrame:
    """Return messages at random, a few of them lost, in and out of sight."""
    random = np.random.default_rng(seed)
    rows = []
    for step in range(STEPS):
        for sender, kind in SENDERS:
            lost = bool(random.random() < 0.3)
            unsent = bool(lost and random.random() < 0.3)
            rows.append(
                {
                    "sender": sender,
                    "kind": kind,
                    "capture_frame": 20 * step,
                    "capture_time": 1.0 * step,
                    "delivered_time": np.nan if lost else 1.0 * step + 1,
                    "distance": random.uniform(5, 70),
                    "sight": str(random.choice(["LOS", "NLOSv", "NLOS"])),
                    "queue": np.nan if unsent else random.uniform(0, 0.1),
                    "airtime": 0.0 if unsent else 1e-3,
                    "busy": random.uniform(0, 1),
                    "outcome": "lost" if lost else "arrived",
                }
            )
    return pd.DataFrame(rows)


def write_table(place: Path, name: str, schema: pa.Schema, rows: pd.DataFrame) -> None:
    """Write a table; columns that the rows lack are 0."""
    columns = {
        field.name: rows[field.name].tolist()
        if field.name in rows
        else ["x" if pa.types.is_dictionary(field.type) else 0] * len(rows)
        for field in schema
    }
    pq.write_table(pa.table(columns, schema=schema), place / f"{name}.parquet")


def write_campaign(folder: Path) -> Path:
    """Write drives of two shares of connected vehicles on two routes, on a radio."""
    folder.mkdir(parents=True)
    settings = {"seeds": [1], "system": {"late": None}, "cooperation": COOPERATIONS}
    header = {"schema": VERSION, "digest": "0" * 8, "simulator": "carlite", "settings": settings}
    (folder / "campaign.yaml").write_text(yaml.safe_dump(header))
    for number in range(2):
        write_route(folder, str(number), "Crucible05", 10.0 * number)
        for cooperation in COOPERATIONS:
            arm = arm_of("late", "none", cooperation, link="nr_v2x")
            key = AttemptKey(arm, str(number), 1)
            place = write_attempt(folder, key, Drive(STEPS), "carlite 0.9.16")
            sent = sent_of(number)
            write_table(place, "links", LINKS, sent)
            write_table(place, "messages", MESSAGES, sent.assign(fate="delivered"))
            poses = pd.DataFrame(
                [
                    {"frame": 20 * step, "sender": name, "kind": kind, "true_x": x + step}
                    for step in range(STEPS)
                    for x, (name, kind) in enumerate((("ego", "ego"), *SENDERS))
                ]
            )
            write_table(place, "poses", POSES, poses)
            with patch("os.fsync"):
                append_try(folder, key, number=1, failure=None, message="", server_tail="")
    return folder


def test_tables_map_and_curves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_campaign(tmp_path / "runs"), tmp_path / "out"
    assert main(["radio", str(folder), "--out", str(out)]) == 0
    sent = pd.concat([sent_of(number) for number in range(2)])
    cells = pd.concat([pd.read_csv(out / f"radio_{name}.csv") for name in ("sight", "delay")])
    cells = cells[cells["cooperation"] == "connected_vehicles_1"]
    values = cells.set_index(["partner", "measure"])["value"]
    values = values[~values.index.duplicated()]
    for kind, partner in (("vehicle", "vehicle (V2V)"), ("roadside", "roadside unit (V2I)")):
        rows = sent[sent["kind"] == kind]
        heard = rows["outcome"] == "arrived"
        assert values[partner, "distance, m"] == pytest.approx(rows["distance"].mean())
        assert values[partner, "received, %"] == pytest.approx(100 * heard.mean())
        for sight in ("LOS", "NLOSv", "NLOS"):
            seen = rows["sight"] == sight
            assert values[partner, f"{sight}, %"] == pytest.approx(100 * seen.mean())
            assert values[partner, f"of {sight}, %"] == pytest.approx(100 * heard[seen].mean())
        assert values[partner, "queue, ms"] == pytest.approx(1e3 * rows["queue"].mean())
        assert values[partner, "not sent, %"] == pytest.approx(100 * rows["queue"].isna().mean())
        assert values[partner, "busy ratio, %"] == pytest.approx(100 * rows["busy"].mean())
    map_ = (out / "radio-map.svg").read_text()
    first = sent_of(0)
    assert f"{(first['outcome'] == 'arrived').sum()} of {len(first)} messages were received" in map_
    for entry in ("ego at the start", "way of the ego", "lane", "received", "sight blocked"):
        assert f">{entry}<" in map_
    assert "share of vehicles that are connected" in (out / "radio-connected-busy.svg").read_text()
    assert (out / "radio-connected-violations.svg").exists()
    assert not list(out.glob("radio-roadside*"))
    capsys.readouterr()
    for words in (["--attempt", "late/none"], ["--format", "sea"]):
        assert main(["radio", str(folder), *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@given(st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=12))
def test_the_age_of_information_is_that_of_the_newest_message(delays: list[int | None]) -> None:
    """Against a loop over steps; a message of step n with delay d is used at step n + d."""
    steps = np.arange(len(delays), dtype=float)
    arrives = [np.nan if late is None else n + late for n, late in enumerate(delays)]
    usable = [at if at < len(delays) else np.nan for at in arrives]
    messages = pd.DataFrame({"capture_time": steps, "delivered_time": usable})
    slow = []
    for step in steps:
        there = [n for n, at in enumerate(usable) if at <= step]
        slow += [step - max(there)] if there else []
    assert compute_information_ages(messages, steps).tolist() == slow
