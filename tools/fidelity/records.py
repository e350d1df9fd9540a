"""Reading records: drives with pedals, steering figures, roads."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.errors import UserError

TIME = ("time_s", "time", "t")
SPEED = {"speed_kmh": 1.0 / 3.6, "speed_mps": 1.0, "speed": 1.0}
PEDALS = ("throttle", "brake", "steer")
STEP = 0.05
NAMED = re.compile(r"^(?P<model>.+)-throttle-(?P<throttle>\d+(\.\d+)?)$")


@dataclass(frozen=True, kw_only=True)
class PublicDriveRecord:
    """One record, every sample; speeds in metres per second.

    Attributes:
        throttle, brake, steer: the pedals, held from each sample to the next; `stated` if the
            record has them, else from its name and from where its speed peaks.
        place: x, y of each sample; None if the record has none.
        height: z of each sample; None likewise.
    """

    name: str
    time: Floats
    speed: Floats
    throttle: Floats
    brake: Floats
    steer: Floats
    stated: bool
    place: Floats | None
    height: Floats | None

    @property
    def peak(self) -> int:
        """The sample at which the speed is highest."""
        return int(np.argmax(self.speed))


@dataclass(frozen=True)
class SteeringRecord:
    """One figure: the curvature, per metre, that a steering input gives at a speed, m/s."""

    source: str
    steer: float
    speed: float
    curvature: float


def read_drive(path: Path) -> PublicDriveRecord:
    """Read one drive; UserError names file and fault."""
    # what must be there
    columns = read_record_columns(path)
    time = get_record_column(columns, TIME, path)
    if len(time) < 20:
        raise UserError(f"{path}: {len(time)} samples; at least 20 are needed")
    if not np.all(np.diff(time) > 0.0):
        raise UserError(f"{path}: times do not grow from line to line")
    named = [name for name in SPEED if name in columns]
    if not named:
        raise UserError(f"{path}: no speed column; add one of {', '.join(SPEED)}")
    speed = columns[named[0]] * SPEED[named[0]]
    # what may be there, at equal steps of time
    time, columns, speed = _resample_columns(time, columns, speed)
    place = None
    if {"x_m", "y_m"} <= set(columns):
        place = np.column_stack([columns["x_m"], columns["y_m"]])
    pedals, stated = _read_pedals(path, columns, speed)
    return PublicDriveRecord(
        name=path.stem,
        time=time,
        speed=speed,
        throttle=pedals[0],
        brake=pedals[1],
        steer=pedals[2],
        stated=stated,
        place=place,
        height=columns.get("z_m"),
    )


def read_turns(path: Path) -> list[SteeringRecord]:
    """Read steering figures: columns steer, speed_mps or speed_kmh, curvature_per_m."""
    columns = read_record_columns(path)
    steer = get_record_column(columns, ("steer",), path)
    curvature = get_record_column(columns, ("curvature_per_m", "curvature"), path)
    named = [name for name in SPEED if name in columns]
    if not named:
        raise UserError(f"{path}: no speed column; add one of {', '.join(SPEED)}")
    speed = columns[named[0]] * SPEED[named[0]]
    return [
        SteeringRecord(path.stem, float(s), float(v), float(k))
        for s, v, k in zip(steer, speed, curvature, strict=True)
    ]


def is_steering_record(path: Path) -> bool:
    """Whether a file holds steering figures, by its columns."""
    with path.open(newline="", encoding="utf-8") as lines:
        heads = next(csv.reader(lines), [])
    return "steer" in heads and any(head.startswith("curvature") for head in heads)


def _read_pedals(
    path: Path, columns: dict[str, Floats], speed: Floats
) -> tuple[list[Floats], bool]:
    count = len(speed)
    # stated in the file, or in its name: then full until the peak
    if "throttle" in columns:
        return [np.clip(columns.get(name, np.zeros(count)), -1.0, 1.0) for name in PEDALS], True
    named = NAMED.match(path.stem)
    if named is None:
        raise UserError(
            f"{path}: no throttle; add a column throttle (and brake, steer), "
            "or name the file <model>-throttle-<0..1>.csv"
        )
    throttle = float(named["throttle"])
    if not 0.0 <= throttle <= 1.0:
        raise UserError(f"{path}: throttle {throttle} in the name is not within 0 and 1")
    peak = int(np.argmax(speed))
    braked = np.arange(count) >= peak - 1
    return [np.where(braked, 0.0, throttle), braked.astype(float), np.zeros(count)], False


def read_record_columns(path: Path) -> dict[str, Floats]:
    """Return a file's columns of numbers by their heads; UserError names line and fault."""
    try:
        with path.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            rows = list(reader)
            heads = reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise UserError(f"{path}: cannot be read: {problem}") from None
    columns: dict[str, Floats] = {}
    for head in heads:
        values = np.empty(len(rows))
        for index, row in enumerate(rows):
            try:
                values[index] = float(row[head])
            except (TypeError, ValueError):
                line = f"{path}:{index + 2}: {head} is no number: {row[head]!r}"
                raise UserError(line) from None
            if not math.isfinite(values[index]):
                raise UserError(f"{path}:{index + 2}: {head} is {row[head]}")
        columns[head] = values
    return columns


def get_record_column(columns: dict[str, Floats], names: tuple[str, ...], path: Path) -> Floats:
    """Return the first column that has one of these names; UserError if there is none."""
    for name in names:
        if name in columns:
            return columns[name]
    raise UserError(f"{path}: no column {names[0]}; columns: {', '.join(columns) or 'none'}")


def _resample_columns(
    time: Floats, columns: dict[str, Floats], speed: Floats
) -> tuple[Floats, dict[str, Floats], Floats]:
    """Return everything every 0.05 s; a record that is sampled so is left as it is."""
    if np.allclose(np.diff(time), STEP, atol=1e-3):
        return time, columns, speed
    even = np.arange(time[0], time[-1] + 1e-9, STEP)
    held = np.clip(np.searchsorted(time, even + 1e-9, side="right") - 1, 0, len(time) - 1)
    moved = {
        name: values[held] if name in PEDALS else np.interp(even, time, values)
        for name, values in columns.items()
    }
    return even, moved, np.interp(even, time, speed)
