"""Records of a real CARLA driven again: how near carlite comes, and what is said of bad records."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from harness.carlite.dynamics.models import (
    HIGH_TORQUE,
    LOW_TORQUE,
    SHIFT_DOWN,
    SHIFT_UP,
    SWITCH_TIME,
)
from harness.carlite.dynamics.parameters import LATENCY
from harness.carlite.errors import UserError
from tools.fidelity import __main__ as command
from tools.fidelity.driving import FittedValues, SimulatedCar, measure_curvature, simulate_drive
from tools.fidelity.leaving_out import compute_fit_cost, fit_values
from tools.fidelity.measures import compare_drive
from tools.fidelity.records import is_steering_record, read_drive, read_turns
from tools.fidelity.roads import DATA, find_drive_ground, make_flat_ground

MKZ = "vehicle.lincoln.mkz_2020"
DRIVES = sorted(DATA.glob("mkz2020-throttle-*.csv"))
EVEN = "time_s,speed_kmh\n" + "\n".join(f"{k / 20},5" for k in range(30))


@pytest.mark.parametrize("path", DRIVES, ids=[path.stem for path in DRIVES])
def test_a_public_record_is_driven_as_carla_drove_it(path: Path) -> None:
    drive = read_drive(path)
    road, ground = find_drive_ground(drive, flat=False)
    assert road == "town04-highway"
    measures = compare_drive(drive, simulate_drive(drive, MKZ, ground, FittedValues()))
    assert not [measure.name for measure in measures if measure.missed > 1.0]
    assert len(measures) >= 3


def test_the_grade_of_the_road_matters() -> None:
    drive = read_drive(DATA / "mkz2020-throttle-0.4.csv")
    errors = []
    for flat in (False, True):
        _, ground = find_drive_ground(drive, flat=flat)
        errors.append(
            compare_drive(drive, simulate_drive(drive, MKZ, ground, FittedValues()))[-1].missed
        )
    assert errors[0] < 1.0 < errors[1]


def test_more_throttle_is_never_slower_and_a_little_creeps() -> None:
    ground = make_flat_ground()
    reached = []
    for tenths in range(2, 11):
        car = SimulatedCar(MKZ, ground, FittedValues())
        for _ in range(200):
            car.set_controls(tenths / 10.0, 0.0, 0.0)
            car.run_tick()
            car.table.position[0, 0] = 50.0
        reached.append(car.speed)
    assert reached == sorted(reached)
    assert 0.1 < reached[1] < 1.0


@pytest.mark.parametrize("name", [field.name for field in fields(FittedValues)])
def test_every_fitted_value_changes_the_drive(name: str) -> None:
    drive = read_drive(DATA / "mkz2020-throttle-0.8.csv")
    _, ground = find_drive_ground(drive, flat=False)
    drive_speed = simulate_drive(drive, MKZ, ground, FittedValues())
    fitted_ones = {
        "low_torque": LOW_TORQUE, "high_torque": HIGH_TORQUE, "up": SHIFT_UP, "down": SHIFT_DOWN,
        "switch_time": SWITCH_TIME, "latency": LATENCY,
    }  # fmt: skip
    same = simulate_drive(drive, MKZ, ground, FittedValues(**{name: fitted_ones[name]}))
    other = simulate_drive(drive, MKZ, ground, FittedValues(**{name: 1.1 * fitted_ones[name]}))
    np.testing.assert_allclose(same, drive_speed, atol=1e-6)
    assert np.abs(other - drive_speed).max() > 0.05


def test_a_fit_minds_a_figure_that_is_never_reached_no_more_than_twice_what_is_allowed() -> None:
    drive = read_drive(DATA / "mkz2020-throttle-1.0.csv")
    _, ground = find_drive_ground(drive, flat=False)
    weak = FittedValues(low_torque=0.3, high_torque=0.3)
    measures = compare_drive(drive, simulate_drive(drive, MKZ, ground, weak))
    assert max(measure.missed for measure in measures) == 5.0
    assert compute_fit_cost([(drive, ground)], MKZ, weak) <= 4.0 * len(measures)


def test_a_record_that_states_its_pedals_is_driven_with_them(tmp_path: Path) -> None:
    drive = read_drive(DATA / "mkz2020-throttle-1.0.csv")
    rows = ["time_s,speed_mps,throttle,brake,steer"]
    rows += [
        f"{0.05 * k},{10.0},{0.6 if k < 60 else 0.0},{0.0 if k < 60 else 1.0},0" for k in range(100)
    ]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(rows))
    stated = read_drive(path)
    assert stated.stated
    assert not drive.stated
    speed = simulate_drive(stated, MKZ, make_flat_ground(), FittedValues())
    assert speed[0] == 10.0
    assert speed[60] > 10.5
    assert speed[-1] == 0.0


def test_a_car_turns_by_carla_s_angle_and_ackermann() -> None:
    """At 2 m/s a hundredth of a lock: 0.7 degrees of the inner wheel on a 2.86 m wheelbase."""
    bend = measure_curvature(MKZ, make_flat_ground(), 0.01, 2.0)
    assert bend == pytest.approx(np.tan(np.radians(0.7 * 0.964)) / 2.86, rel=0.03)


def test_steering_figures_are_read() -> None:
    path = DATA / "steering-world-on-rails.csv"
    assert is_steering_record(path)
    assert [turn.steer for turn in read_turns(path)] == [0.25, 0.5, 0.5, 1.0]


def test_fitting_finds_what_was_changed() -> None:
    drive = read_drive(DATA / "mkz2020-throttle-1.0.csv")
    _, ground = find_drive_ground(drive, flat=False)
    worse = FittedValues(low_torque=1.0, high_torque=1.0)
    refitted = fit_values(
        [(drive, ground)],
        MKZ,
        FittedValues(
            low_torque=1.0,
            high_torque=1.0,
            up=0.4603,
            down=0.2272,
            switch_time=0.168,
            latency=0.463,
        ),
    )
    assert compute_fit_cost([(drive, ground)], MKZ, refitted) < compute_fit_cost(
        [(drive, ground)], MKZ, worse
    )


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.csv", EVEN, "no throttle"),
        ("m-throttle-0.5.csv", "time_s,speed_kmh\n0,1\n0.05,x\n", ":3: speed_kmh is no number"),
        ("m-throttle-0.5.csv", "time_s,speed_kmh\n0,1\n", "1 samples"),
        ("m-throttle-1.5.csv", EVEN, "within 0 and 1"),
        ("m-throttle-0.5.csv", "x\n1\n", "no column time_s"),
        ("m-throttle-0.5.csv", "time_s,speed_kmh\n" + "0,1\n" * 30, "do not grow"),
    ],
)  # fmt: skip
def test_bad_records_are_refused_in_one_line(
    tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UserError, match=complaint) as caught:
        read_drive(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_prints_and_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.run_fidelity_command([str(DATA / "mkz2020-throttle-1.0.csv")]) == 0
    printed = capsys.readouterr().out
    assert "recorded" in printed
    assert "RMSE" in printed
    assert command.run_fidelity_command([str(tmp_path / "nowhere")]) == 2
    assert "file or folder not found" in capsys.readouterr().err
    assert (
        command.run_fidelity_command(
            [str(DATA / "mkz2020-throttle-1.0.csv"), "--vehicle", "vehicle.x"]
        )
        == 2
    )


@pytest.mark.thorough
def test_it_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.fidelity", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "curvature_per_m" in done.stdout
