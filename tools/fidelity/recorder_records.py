"""Reading drives that CARLA's recorder wrote: poses and pedals of one vehicle, frame by frame."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.carlite.arrays import Bools, Floats, Ints
from harness.carlite.errors import UserError
from tools.fidelity.records import get_record_column, read_record_columns

MARKS = frozenset({"t", "x", "y", "yaw", "gear"})
"""Columns by which a file is recognised as a recorder's."""

NAMED_VEHICLE = re.compile(r"vehicle\.[a-z0-9_]+\.[a-z0-9_]+$")
LEAST_FRAMES = 20
LONGEST_STEP = 0.5
"""Seconds between two frames, at most; a longer gap hides what the pedals did."""

LARGEST_AREA = 25e6
"""Square metres of the box around a drive, at most: the ground under it has a cell per m²."""


@dataclass(frozen=True, kw_only=True)
class RecorderDrive:
    """One vehicle, every frame, in CARLA's axes; the first frame is at (0, 0).

    Attributes:
        vehicle: id of its blueprint, from the file's name; None if it is not there.
        time: (frames,) seconds since the first frame.
        place: (frames, 2) metres.
        yaw: (frames,) radians, without jumps of a whole turn.
        velocity: (frames, 2) metres per second, from the places.
        yaw_rate: (frames,) radians per second, from the yaw.
        throttle, brake, steer: (frames,) pedals, which hold until the next frame.
        hand_brake: (frames,) likewise.
        gear: (frames,) -1 in reverse, 0 in neutral and while it shifts.
    """

    name: str
    vehicle: str | None
    time: Floats
    place: Floats
    yaw: Floats
    velocity: Floats
    yaw_rate: Floats
    throttle: Floats
    brake: Floats
    steer: Floats
    hand_brake: Bools
    gear: Ints

    @property
    def speed(self) -> Floats:
        """Metres per second, (frames,)."""
        speed: Floats = np.hypot(self.velocity[:, 0], self.velocity[:, 1])
        return speed

    def measure_way(self, start: int, end: int) -> float:
        """Return the metres travelled from one frame to another."""
        steps = np.diff(self.place[start : end + 1], axis=0)
        return float(np.hypot(steps[:, 0], steps[:, 1]).sum())


def is_recorder_record(path: Path) -> bool:
    """Whether a file is a drive of CARLA's recorder, by its columns."""
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            return set(next(csv.reader(lines), [])) >= MARKS
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise UserError(f"{path}: cannot be read: {problem}") from None


def read_recorder_drive(path: Path) -> RecorderDrive:
    """Read one drive; UserError names file and fault."""
    columns = read_record_columns(path)
    time = get_record_column(columns, ("t",), path)
    _check_times(time, path)
    time = time - time[0]
    place = np.column_stack([columns["x"] - columns["x"][0], columns["y"] - columns["y"][0]])
    if float(np.prod(np.ptp(place, axis=0) + 200.0)) > LARGEST_AREA:
        raise UserError(f"{path}: the drive covers more than {LARGEST_AREA / 1e6:.0f} km²")
    yaw: Floats = np.unwrap(np.radians(columns["yaw"]))
    named = NAMED_VEHICLE.search(path.stem)
    pedals = {
        name: get_record_column(columns, (name,), path) for name in ("throttle", "brake", "steer")
    }
    return RecorderDrive(
        name=path.stem,
        vehicle=named[0] if named else None,
        time=time,
        place=place,
        yaw=yaw,
        velocity=np.column_stack([np.gradient(place[:, axis], time) for axis in (0, 1)]),
        yaw_rate=np.gradient(yaw, time),
        hand_brake=columns.get("handbrake", np.zeros(len(time))) > 0.5,
        gear=np.round(columns["gear"]).astype(np.int64),
        **pedals,
    )


def _check_times(time: Floats, path: Path) -> None:
    if len(time) < LEAST_FRAMES:
        raise UserError(f"{path}: {len(time)} frames; at least {LEAST_FRAMES} are needed")
    steps = np.diff(time)
    if not np.all(steps > 0.0):
        raise UserError(f"{path}: times do not grow from line to line")
    if float(steps.max()) > LONGEST_STEP:
        line = int(np.argmax(steps)) + 3
        raise UserError(f"{path}:{line}: {steps.max():.2f} s after the frame before it")
