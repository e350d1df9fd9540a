"""Driven: boxes on time take a disturbance back, and change nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from crucible.subcommands import dispatch_subcommand
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import TABLES
from harness.types.record_names import DIFFERENCES
from tests.campaign.tiny import run, write_route
from tests.once import once

SENT = ("messages", "poses")
"""Tables of what was sent and believed: the disturbance is in them, whatever is driven by."""
OF_MESSAGES = ("messages", "oldest_age")
"""Columns of frames about the messages that arrived."""


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of drives with and without boxes on time."""
    return once(tmp_path_factory, "on_time", drive)


def drive(folder: Path) -> Path:
    out, routes = folder / "out", write_route(folder, "step")
    short = (
        "patterns.truth_filter=none",
        "routes.only=[step]",
        "routes.hazards=null",
        "interference=[none,latency,pose_error]",
        "traffic.vehicles=120",
        f"out={out}",
    )
    done = run(routes, "system=ideal_late", "intervention=on_time_all", *short)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def places_of(out: Path) -> dict[tuple[str, str], Path]:
    """Return where the records of each condition and intervention are."""
    return {
        (key.arm.condition, key.arm["intervention"]): place
        for key, place in CampaignRecords(out).find_attempts().items()
    }


def differing_tables(one: Path, other: Path) -> set[str]:
    return {
        table
        for table in TABLES
        if (one / f"{table}.parquet").read_bytes() != (other / f"{table}.parquet").read_bytes()
    }


@pytest.mark.thorough
def test_without_a_disturbance_nothing_changes(driven: Path) -> None:
    places = places_of(driven)
    assert not differing_tables(places["none", "none"], places["none", "on_time_all"])
    record = json.loads((places["none", "on_time_all"] / "result.json").read_text())["crucible"]
    assert record["intervention"]["changed"] == 0
    assert record["intervention"]["repair_to"] == "on_time"


@pytest.mark.thorough
@pytest.mark.parametrize("condition", ["latency", "pose_error"])
def test_everything_on_time_drives_as_if_undisturbed(driven: Path, condition: str) -> None:
    """The same boxes at each step, the same drive, the same events; messages were disturbed."""
    places = places_of(driven)
    undisturbed, repaired = places["none", "none"], places[condition, "on_time_all"]
    assert differing_tables(undisturbed, repaired) <= {*SENT, "frames"}
    plain, changed = [
        read_stored_table(place / "frames.parquet", "frames").drop(columns=list(OF_MESSAGES))
        for place in (undisturbed, repaired)
    ]
    pd.testing.assert_frame_equal(plain, changed, check_exact=True)
    # and there was something to repair
    assert "boxes" in differing_tables(undisturbed, places[condition, "none"])
    changes = read_stored_table(repaired / "box_changes.parquet", "box_changes")
    assert len(changes) > 0
    assert set(changes["pattern"]) <= set(DIFFERENCES)


@pytest.mark.thorough
def test_effects_by_driver_are_those_of_the_drives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two routes under latency, with and without boxes on time: the example of the drivers page."""
    out, routes = tmp_path / "out", write_route(tmp_path, "step", "hop")
    chosen = ("interference=latency", "intervention=on_time_all", "driver=[default,idm]")
    short = ("system=ideal_late", "routes.hazards=null", "traffic=none", f"out={out}")
    done = run(routes, *chosen, *short)
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.chdir(tmp_path)
    assert dispatch_subcommand(["effects", str(out), "--out", "tables"]) == 0
    # seconds to the goal of each driver, read from the results
    seconds: dict[tuple[str, str], list[float]] = {}
    for key, place in CampaignRecords(out).find_attempts().items():
        taken = json.loads((place / "result.json").read_text())["meta"]["duration_game"]
        seconds.setdefault((key.arm["driver"], key.arm["intervention"]), []).append(taken)
    effects = pd.read_csv(tmp_path / "tables" / "effects.csv")
    rows = effects[effects["outcome"] == "time to goal, s"].set_index("of")
    assert len(rows) == 2
    for driver in ("default", "idm"):
        (name,) = (of for of in rows.index if ("idm" in of) == (driver == "idm"))
        for column, intervention in (("without", "none"), ("with", "on_time_all")):
            expected = sum(seconds[driver, intervention]) / 2
            assert rows.loc[name, column] == pytest.approx(expected, abs=0.06)
    assert seconds["idm", "none"] != seconds["default", "none"]
    # one row for each outcome that is tested: the effect of the same repair with both drivers
    drivers = pd.read_csv(tmp_path / "tables" / "effects_drivers.csv")
    assert set(drivers["reference driver"]) == {"default"}
    assert set(drivers["other driver"]) == {"idm"}
    assert list(drivers["pairs"]) == [2] * len(drivers)
    assert set(drivers["outcome"]) == {"violations, %", "collisions, %", "driving score"}
