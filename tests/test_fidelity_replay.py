"""Recorder drives replayed: a drive of carlite itself has no error, a changed one is named."""

from __future__ import annotations

import csv
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from harness.carlite.errors import UserError
from tools.fidelity import __main__ as command
from tools.fidelity.driving import FittedValues, SimulatedCar
from tools.fidelity.recorder_records import (
    RecorderDrive,
    is_recorder_record,
    read_recorder_drive,
)
from tools.fidelity.replay import replay_drive, replay_windows
from tools.fidelity.roads import make_flat_ground
from tools.fidelity.window_errors import measure_span, measure_turns

PATROL = "vehicle.nissan.patrol"
HEADS = "t,x,y,z,roll,pitch,yaw,steer,throttle,brake,handbrake,gear"
YAW = 12.0
"""Degrees: the recorded car starts askew, so that x, y and yaw are not mixed up unnoticed."""


def write_drive(folder: Path, spoiled: float = 0.0) -> Path:
    """Drive a Patrol for 11 s: off, to the right, brakes; `spoiled` m/s² are added along x."""
    car = SimulatedCar(PATROL, make_flat_ground(), FittedValues())
    table = car.table
    table.rotation[0, 1] = np.radians(YAW)
    lines = [HEADS]
    # the steps must be the record's to the last bit: tyres that chatter make a little much
    times = [round(0.025 * tick + 0.005 * (tick % 2), 6) for tick in range(441)]
    for time, later in pairwise(times):
        throttle, brake = (0.8, 0.0) if time < 8.0 else (0.0, 0.4)
        steer = 0.04 if 6.0 < time < 7.0 else 0.0
        (x, y), yaw = table.position[0, :2].tolist(), math.degrees(table.rotation[0, 1])
        x += 300.0 + 0.5 * spoiled * time**2
        gear = int(table.gear[0])
        lines.append(
            f"{time:.6f},{x:.5f},{y:.5f},0,0,0,{yaw:.4f},{steer},{throttle},{brake},0,{gear}"
        )
        car.set_controls(throttle, brake, steer)
        car.run_tick(later - time)
    path = folder / f"drive-1-{PATROL}.csv"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_drive(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def drive(record: Path) -> RecorderDrive:
    return read_recorder_drive(record)


def test_a_recorder_record_is_recognised(record: Path, drive: RecorderDrive) -> None:
    assert is_recorder_record(record)
    assert drive.vehicle == PATROL
    assert drive.place[0].tolist() == [0.0, 0.0]
    assert drive.speed.max() > 10.0
    assert 0 in drive.gear[100:]


def test_carlite_s_drive_is_replayed_without_error(drive: RecorderDrive) -> None:
    error = measure_span(drive, replay_drive(drive, PATROL))
    # what remains is the record's five digits, and speeds between its frames
    assert error.place < 1e-4
    assert error.heading < 1e-3
    assert error.speed < 0.1
    assert error.simulated_way == pytest.approx(error.way, abs=1e-2)
    assert error.missed == ""


def test_windows_start_from_the_record_s_state(drive: RecorderDrive) -> None:
    windows = replay_windows(drive, PATROL, 5.0, replay_drive(drive, PATROL))
    assert len(windows) == 3
    for window in windows:
        error = measure_span(drive, window)
        np.testing.assert_allclose(window.place[0], drive.place[window.start])
        assert error.place < max(0.02 * error.way, 0.1)
        assert error.heading < 0.2
        assert error.missed == ""
    (turn,) = measure_turns(drive, windows)
    assert 5.9 < turn.start < 6.3
    assert turn.steer > 0.0
    assert turn.simulated == pytest.approx(turn.recorded, rel=0.05)
    assert turn.recorded > 0.003


def test_a_restart_within_a_shift_ends_it_when_the_record_does(drive: RecorderDrive) -> None:
    neutral = np.flatnonzero((drive.gear == 0) & (drive.speed > 3.0))
    start = float(drive.time[neutral[1]])
    window = replay_windows(drive, PATROL, start, replay_drive(drive, PATROL))[1]
    assert window.start == neutral[1]
    assert measure_span(drive, window).place < 0.02 * drive.measure_way(window.start, window.end)


def test_what_misses_is_named_in_the_table_and_in_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_drive(tmp_path, spoiled=3.0)
    assert command.run_fidelity_command([str(path), "--csv", str(tmp_path / "out")]) == 0
    assert "position" in capsys.readouterr().out
    with (tmp_path / "out" / f"{path.stem}-windows.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert [row["seconds"] for row in rows] == ["0.0-11.0", "0.0-5.0", "5.0-10.0", "10.0-11.0"]
    assert rows[0]["missed"] == "position"
    assert (tmp_path / "out" / f"{path.stem}-turns.csv").read_text().startswith("seconds,steer")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("0.030000,", "9.000000,"), "do not grow"),
        (("throttle", "pedal"), "no column throttle"),
        (("440", "440"), "is no number"),
    ],
)
def test_bad_recorder_records_are_refused_in_one_line(
    record: Path, tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    path = tmp_path / f"bad-{PATROL}.csv"
    text = record.read_text().replace(*change, 1)
    path.write_text(text + "\nx" if complaint == "is no number" else text)
    with pytest.raises(UserError, match=complaint) as caught:
        read_recorder_drive(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_gap_in_a_record_is_refused(record: Path, tmp_path: Path) -> None:
    lines = record.read_text().splitlines()
    path = tmp_path / "gap.csv"
    path.write_text("\n".join([*lines[:50], *lines[90:]]))
    with pytest.raises(UserError, match=r":51: 1\.0. s after the frame before"):
        read_recorder_drive(path)
