"""Driving a recorder's pedals on carlite, from the start or again from a frame of the record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.dynamics.parameters import GRAVITY
from harness.carlite.dynamics.powertrain import compute_engine_torque, compute_gear_ratio
from harness.carlite.dynamics.state import (
    FRONT_SPIN,
    REAR_SPIN,
    SINCE_SHIFT,
    STEER,
    TARGET_GEAR,
    THROTTLE,
    TRANSFER,
)
from harness.carlite.towns.model import TownGround
from tools.fidelity.driving import LONG_AGO, MOVING, FittedValues, SimulatedCar
from tools.fidelity.recorder_records import RecorderDrive

MARGIN = 100.0
"""Metres of ground around a recorded drive."""

ENGINE_ROUNDS = 20
"""Rounds until the engine speed at which torque, drag and clutch balance is exact enough."""


@dataclass(frozen=True, kw_only=True)
class ReplayedSpan:
    """What carlite did from frame `start` of a record to frame `end`.

    Attributes:
        place: (frames, 2) metres in the record's axes.
        yaw: (frames,) radians.
        speed: (frames,) metres per second.
        controls: (frames, 4) throttle, brake, hand brake and steer as the vehicle feels them.
    """

    start: int
    end: int
    place: Floats
    yaw: Floats
    speed: Floats
    controls: Floats


def replay_drive(drive: RecorderDrive, vehicle: str) -> ReplayedSpan:
    """Return the drive from start to end, open loop: only the pedals are the record's."""
    return _replay_span(drive, vehicle, (0, len(drive.time) - 1))


def replay_windows(
    drive: RecorderDrive, vehicle: str, length: float, whole: ReplayedSpan
) -> list[ReplayedSpan]:
    """Return the drive window by window; each window starts from the record's state.

    Args:
        drive: the record.
        vehicle: id of the blueprint.
        length: of a window, seconds; the last one may be shorter.
        whole: the drive from start to end, whose felt controls depend on the pedals only.
    """
    count = max(math.ceil((drive.time[-1] - 1e-6) / length), 1)
    edges = np.searchsorted(drive.time, np.arange(count) * length - 1e-6).tolist()
    edges.append(len(drive.time) - 1)
    return [
        _replay_span(drive, vehicle, (start, end), whole.controls[start])
        for start, end in pairwise(edges)
        if end > start
    ]


def _replay_span(
    drive: RecorderDrive, vehicle: str, frames: tuple[int, int], controls: Floats | None = None
) -> ReplayedSpan:
    start, end = frames
    car = SimulatedCar(vehicle, _make_wide_ground(drive), FittedValues())
    table = car.table
    _set_recorded_state(car, drive, start)
    if controls is not None:
        table.drivetrain[0, THROTTLE : STEER + 1] = controls
        _set_recorded_drivetrain(car, drive, start)
    # (frames, …) of the span, of which the first is the record's
    count = end - start + 1
    place, yaw, speed = np.empty((count, 2)), np.empty(count), np.empty(count)
    felt = np.empty((count, STEER + 1))
    for row, index in enumerate(range(start, end + 1)):
        place[row], yaw[row] = table.position[0, :2], table.rotation[0, 1]
        speed[row], felt[row] = car.speed, table.drivetrain[0, THROTTLE : STEER + 1]
        if index < end:
            car.set_controls(
                float(drive.throttle[index]), float(drive.brake[index]), float(drive.steer[index])
            )
            table.hand_brake[0] = drive.hand_brake[index]
            table.reverse[0] = drive.gear[index] < 0
            car.run_tick(float(drive.time[index + 1] - drive.time[index]))
    return ReplayedSpan(
        start=start, end=end, place=place, yaw=np.unwrap(yaw), speed=speed, controls=felt
    )


def _set_recorded_state(car: SimulatedCar, drive: RecorderDrive, frame: int) -> None:
    """Put a car where the record's was, as fast; the gear too."""
    table, yaw = car.table, float(drive.yaw[frame])
    table.position[0, :2] = drive.place[frame]
    table.rotation[0, 1] = math.remainder(yaw, math.tau)
    # a record has the origin's places; carlite keeps the velocity of the centre of mass
    rate, centre = float(drive.yaw_rate[frame]), float(table.mass_centre[0])
    swing = rate * centre * np.array([-math.sin(yaw), math.cos(yaw)])
    table.velocity[0, :2] = drive.velocity[frame] + swing
    table.yaw_rate[0] = rate
    ahead = float(drive.velocity[frame] @ np.array([math.cos(yaw), math.sin(yaw)]))
    table.drivetrain[0, FRONT_SPIN] = ahead / float(car.row["front_radius"][0])
    table.drivetrain[0, REAR_SPIN] = ahead / float(car.row["rear_radius"][0])
    table.gear[0] = table.drivetrain[0, TARGET_GEAR] = drive.gear[frame]


def _set_recorded_drivetrain(car: SimulatedCar, drive: RecorderDrive, frame: int) -> None:
    """Derive what a record does not state: shift, engine speed and load transfer."""
    table, row = car.table, car.row[0]
    gear, moving = int(drive.gear[frame]), float(drive.speed[frame]) > MOVING
    # the frame from which this gear is in, and its time
    changed = np.flatnonzero(drive.gear[:frame] != gear)
    first = int(changed[-1]) + 1 if len(changed) else 0
    since = float(drive.time[frame] - drive.time[first])
    throttle, engaged = float(table.drivetrain[0, THROTTLE]), gear
    slowed = 1.0
    if gear == 0 and moving and len(changed):
        # between two gears: the engine slows down from where the last gear left it
        later = drive.gear[frame:][drive.gear[frame:] != 0]
        engaged = int(drive.gear[first - 1])
        slowed = math.exp(-since * float(row["drag_open"] / row["inertia"]))
        table.drivetrain[0, TARGET_GEAR] = later[0] if len(later) else engaged
        table.shift[0] = since
        table.drivetrain[0, SINCE_SHIFT] = 0.0
    elif len(changed):
        table.drivetrain[0, SINCE_SHIFT] = since
    else:
        table.drivetrain[0, SINCE_SHIFT] = LONG_AGO
    table.engine_speed[0] = slowed * compute_balanced_engine_speed(
        car, engaged, throttle, float(table.drivetrain[0, FRONT_SPIN])
    )
    # the load follows the acceleration along the car
    yaw = float(drive.yaw[frame])
    gain = np.array([np.gradient(drive.velocity[:, axis], drive.time)[frame] for axis in (0, 1)])
    along = float(gain @ np.array([math.cos(yaw), math.sin(yaw)]))
    wheelbase = float(row["front"] + row["rear"])
    table.drivetrain[0, TRANSFER] = along * float(row["height"]) / (GRAVITY * wheelbase)


def compute_balanced_engine_speed(
    car: SimulatedCar, gear: int, throttle: float, spin: float
) -> float:
    """Return the engine speed, rad/s, at which its torque is what drag and clutch take from it.

    The clutch slips in proportion to the torque that it passes, so the engine is never exactly as
    fast as the shaft.

    Args:
        car: with its parameters.
        gear: that is in.
        throttle: from 0 to 1.
        spin: of the wheels, rad/s.
    """
    row = car.row[0]
    ratio = float(compute_gear_ratio(row, gear))
    shaft = max(ratio * spin, 0.0)
    clutch = float(row["clutch"]) if ratio != 0.0 else 0.0
    closed = float(row["drag_closed"] if ratio != 0.0 else row["drag_open"])
    drag = closed + (float(row["drag_full"]) - closed) * throttle
    speed = shaft
    for _ in range(ENGINE_ROUNDS):
        torque = throttle * float(compute_engine_torque(row, speed))
        speed = (torque + clutch * shaft) / max(clutch + drag, 1e-6)
    return min(speed, float(row["max_speed"]))


def _make_wide_ground(drive: RecorderDrive) -> TownGround:
    """Return a plane at height zero around the whole drive."""
    low = np.floor(drive.place.min(axis=0) - MARGIN)
    wide = np.ceil(drive.place.max(axis=0) + MARGIN) - low
    lower = np.zeros((int(wide[1]), int(wide[0])), np.float32)
    return TownGround(
        x=float(low[0]), y=float(low[1]), cell=1.0, lower=lower,
        upper=np.full_like(lower, np.nan), label=np.ones(lower.shape, np.uint8),
    )  # fmt: skip
