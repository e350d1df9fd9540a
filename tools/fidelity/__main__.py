"""Drive public records of a real CARLA again and print simulated next to recorded.

PLACE is a folder of CSV files, or one. A drive has the columns time_s and speed_kmh (or speed_mps),
and if known x_m, y_m, z_m; its pedals are the columns throttle, brake and steer, or come from its
name, <model>-throttle-<0..1>.csv, with full brake from where the speed peaks. Steering figures have
the columns steer, speed_mps (or speed_kmh) and curvature_per_m. Files whose name begins with road-
are the elevation of a road, x_m, y_m, z_m: drives on it climb and fall with it.

Drives that CARLA's recorder wrote have the columns t, x, y, yaw, steer, throttle, brake, handbrake
and gear (seconds, metres, degrees; others are ignored), and names that end with a blueprint id.
They are replayed open loop on flat ground, from start to end and again every five seconds from the
record's state. A window is named in the column "missed" where its position is off by more than 10 %
of the way and 0.5 m, or its heading by more than 2 degrees.

`python -m tools.fidelity lidar FILE ...` reads sweeps of a real CARLA's LiDAR (ASCII PLY, or a
NumPy array) and prints the pattern of rays and the ground next to carlite's.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.carlite.errors import UserError
from tools.fidelity import sweeps
from tools.fidelity.driving import FittedValues, measure_curvature, simulate_drive
from tools.fidelity.leaving_out import Case, validate_left_out
from tools.fidelity.measures import DriveMeasure, compare_drive
from tools.fidelity.recorder_records import is_recorder_record
from tools.fidelity.records import SteeringRecord, is_steering_record, read_drive, read_turns
from tools.fidelity.replay_tables import replay_record
from tools.fidelity.roads import DATA, find_drive_ground, make_flat_ground

MKZ = "vehicle.lincoln.mkz_2020"


def run_fidelity_command(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["lidar"]:
        return run_lidar_command(given[1:])
    parser = argparse.ArgumentParser(
        prog="python -m tools.fidelity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "place", nargs="?", type=Path, default=DATA, metavar="PLACE",
        help="folder or file (default: the records that come with carlite)",
    )  # fmt: skip
    parser.add_argument(
        "--vehicle", default=MKZ, help=f"blueprint id, if no file name has it (default: {MKZ})"
    )
    parser.add_argument("--flat", action="store_true", help="leave the grade of the road out")
    parser.add_argument(
        "--no-left-out", action="store_true", help="leave the leave-one-record-out errors out"
    )
    parser.add_argument(
        "--csv", type=Path, metavar="FOLDER", help="write tables of recorder drives as CSV there"
    )
    options = parser.parse_args(given)
    try:
        paths = _list_records(options.place)
        recorded = [path for path in paths if is_recorder_record(path)]
        for path in recorded:
            replay_record(path, options.vehicle, options.csv)
        others = [path for path in paths if path not in recorded]
        cases, turns = _read_records(others, flat=options.flat)
        _print_drives(cases, options.vehicle)
        _print_turns(turns, options.vehicle)
        if len(cases) > 2 and not options.no_left_out:
            _print_cross_validation(cases, options.vehicle)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def run_lidar_command(arguments: list[str]) -> int:
    """Compare sweeps; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.fidelity lidar", description=sweeps.__doc__
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="sweeps, .ply or .npy")
    parser.add_argument(
        "--z-up", action="store_true",
        help="z points upward, as from CARLA 0.9.10 on (default: downward, as up to 0.9.9)",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        for path in options.files:
            sweeps.print_sweep(path, downward=not options.z_up)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _list_records(place: Path) -> list[Path]:
    if not place.exists():
        raise UserError(f"{place}: file or folder not found")
    paths = sorted(place.glob("*.csv")) if place.is_dir() else [place]
    paths = [path for path in paths if not path.name.startswith("road-")]
    if not paths:
        raise UserError(f"{place}: no records; expected files *.csv")
    return paths


def _read_records(paths: Sequence[Path], *, flat: bool) -> tuple[list[Case], list[SteeringRecord]]:
    cases: list[Case] = []
    turns: list[SteeringRecord] = []
    for path in paths:
        if is_steering_record(path):
            turns += read_turns(path)
        else:
            drive = read_drive(path)
            name, ground = find_drive_ground(drive, flat=flat)
            print(f"{path.name}: {len(drive.time)} samples, road: {name}")
            cases.append((drive, ground))
    return cases, turns


def _print_drives(cases: Sequence[Case], vehicle: str) -> None:
    for drive, ground in cases:
        print(f"\n{drive.name} on {vehicle}")
        for measure in compare_drive(drive, simulate_drive(drive, vehicle, ground, FittedValues())):
            print("  " + _format_measure(measure))


def _format_measure(measure: DriveMeasure) -> str:
    verdict = "" if measure.missed <= 1.0 else "  MISSED"
    if measure.name == "RMSE":
        share = 10.0 * measure.simulated / measure.allowed
        return f"RMSE {measure.simulated:.2f} km/h, {share:.1f} % of the record's mean{verdict}"
    recorded = f"{measure.name:<16} recorded {measure.recorded:7.2f} {measure.unit}"
    if math.isnan(measure.simulated):
        return f"{recorded}  not reached{verdict}"
    off = 100.0 * (measure.simulated / measure.recorded - 1.0)
    return f"{recorded}  simulated {measure.simulated:7.2f} {measure.unit}  {off:+6.1f} %{verdict}"


def _print_turns(turns: Sequence[SteeringRecord], vehicle: str) -> None:
    for turn in turns:
        ours = measure_curvature(vehicle, make_flat_ground(), turn.steer, turn.speed)
        off = 100.0 * (ours / turn.curvature - 1.0)
        verdict = "" if abs(off) <= 10.0 else "  MISSED"
        print(
            f"{turn.source}: steer {turn.steer:.2f} at {turn.speed:.1f} m/s: recorded "
            f"{turn.curvature:.3f} 1/m, simulated {ours:.3f} 1/m  {off:+.1f} %{verdict}"
        )


def _print_cross_validation(cases: Sequence[Case], vehicle: str) -> None:
    print("\nLeave one record out: fitted on the others")
    for drive, values, measures in validate_left_out(cases, vehicle):
        missed = [measure for measure in measures if measure.missed > 1.0]
        fit = ", ".join(f"{name} {value:.3f}" for name, value in vars(values).items())
        print(f"  {drive.name}: {len(missed)} of {len(measures)} missed ({fit})")
        for measure in measures:
            print("    " + _format_measure(measure))


if __name__ == "__main__":
    sys.exit(run_fidelity_command())
