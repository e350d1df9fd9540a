"""`crucible speed` over a campaign that was written by hand: tables, drives, figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pandas as pd
import pytest
import yaml
from pandas.testing import assert_frame_equal

from analysis.tables.staleness import VEHICLE_SPEED
from crucible.subcommands import dispatch_subcommand
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try
from harness.records.schema import VERSION
from studies.speed.speed import DRIVES_FILE
from studies.speed.tables import build_interaction_frame, pair_study, read_speed_drives
from tests.analysis import again
from tests.analysis.little import Drive, write_attempt, write_route
from tests.analysis.test_staleness import slow_measures
from tests.keys import arm_of

CONDITIONS = ("none", "latency=0.4", "own_latency=0.4")
DRIVERS = ("default", "speed_0.625")


def write_speeds(folder: Path, *, routes: int = 3, drivers: Sequence[str] = DRIVERS) -> Path:
    """Write drives: what is late ends those at full speed, on all routes but the first."""
    folder.mkdir(parents=True)
    settings = {"seeds": [1], "system": {"late": None}}
    header = {"schema": VERSION, "digest": "0" * 8, "simulator": "carlite", "settings": settings}
    (folder / "campaign.yaml").write_text(yaml.safe_dump(header))
    for number in range(routes):
        write_route(folder, str(number), "Crucible05", 10.0 * number)
        for condition in CONDITIONS:
            for driver in drivers:
                hit = condition != "none" and driver == "default" and number > 0
                key = AttemptKey(arm_of("late", condition, driver=driver), str(number), 1)
                drive = Drive(10, "collision_vehicle" if hit else "")
                write_attempt(folder, key, drive, "carlite 0.9.16")
                with patch("os.fsync"):
                    append_try(folder, key, number=1, failure=None, message="", server_tail="")
    return folder


def test_tables_drives_and_figures_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = write_speeds(tmp_path / "runs"), tmp_path / "out"
    assert dispatch_subcommand(["speed", str(folder), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "late, messages late: speed 0.625 is slow, default is fast" in printed
    curves = pd.read_csv(out / "speed_curves.csv", dtype=str)
    late = curves[(curves["late"] == "messages late") & (curves["delay, s"] == "0.4")]
    assert late["violations, slow, %"].item() == "0.0"
    assert late["violations, fast, %"].item().startswith("66.7 ")
    # made-up egos drive 5 m/s; vehicles are recounted
    assert late["ego speed, slow, m/s"].item() == "5.0"
    slow = [
        again.Attempt(folder=file.parent, system="late", condition="", route="", seed=1, result={})
        for file in folder.rglob("result.json")
        if {"driver=speed_0.625", "latency=0.4"} < {*file.parts}
    ]
    assert len(slow) == 3
    traffic = slow_measures(slow)[VEHICLE_SPEED]
    assert late["traffic speed, slow, m/s"].item() == f"{traffic:.1f}"
    # the drives that were written give the tables that were written
    study = pair_study(read_speed_drives(out / DRIVES_FILE))
    repeated = build_interaction_frame(study.pairs).astype(str)
    assert_frame_equal(pd.read_csv(out / "speed_interactions.csv", dtype=str), repeated)
    assert {file.name for file in out.glob("*.svg")} == {
        "speed-late-latency.svg",
        "speed-late-own_latency.svg",
    }


def test_a_campaign_at_one_speed_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_speeds(tmp_path / "runs", routes=1, drivers=DRIVERS[:1])
    out = tmp_path / "out"
    assert dispatch_subcommand(["speed", str(folder), "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "two speeds are needed" in line
    assert not out.exists()
