"""Driving a record's pedals on a carlite vehicle."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.carlite import blueprints
from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Floats, Ints
from harness.carlite.dynamics import vehicles
from harness.carlite.dynamics.models import HIGH_TORQUE, LOW_TORQUE
from harness.carlite.dynamics.parameters import TORQUE_SAMPLES, Rows
from harness.carlite.dynamics.physics import PhysicsTable, build_default_physics
from harness.carlite.dynamics.state import FRONT_SPIN, REAR_SPIN, SINCE_SHIFT, TARGET_GEAR
from harness.carlite.errors import UserError
from harness.carlite.towns.model import TownGround
from tools.fidelity.records import STEP, PublicDriveRecord

MOVING = 1.0 / 3.6
"""Metres per second from which a car that sets off counts as moving."""

SETTLING = 40
"""Samples after the last one for which the simulated car drives on, to come to rest."""

LONG_AGO = 10.0
"""Seconds since the gearbox of a car that stands has shifted."""

LEAD = 1.5
"""Seconds by which pedals that are not in the record are pressed before the car moves."""


BENDS = (2000.0, 2800.0)
"""Revolutions per minute between which the low torque's factor gives way to the high one's."""


@dataclass(frozen=True, kw_only=True)
class FittedValues:
    """The parameters that are fitted, for fits that leave records out; None: carlite's own."""

    low_torque: float | None = None
    high_torque: float | None = None
    up: float | None = None
    down: float | None = None
    switch_time: float | None = None
    latency: float | None = None

    def set_vehicle_parameters(self, row: Rows) -> None:
        """Change one vehicle's parameters; torques are multiples of CARLA 0.10's curve."""
        for name in ("up", "down", "switch_time", "latency"):
            value = getattr(self, name)
            if value is not None:
                row[name] = value
        low = LOW_TORQUE if self.low_torque is None else self.low_torque
        high = HIGH_TORQUE if self.high_torque is None else self.high_torque
        rpm = np.linspace(0.0, float(row["max_speed"][0]) * 30.0 / math.pi, TORQUE_SAMPLES)
        factor = np.interp(rpm, BENDS, (low / LOW_TORQUE, high / HIGH_TORQUE))
        row["torque"] *= factor


class SimulatedCar:
    """One vehicle on a ground of its own."""

    def __init__(
        self, vehicle: str, ground: TownGround, values: FittedValues, speed: float = 0.0
    ) -> None:
        blueprint = blueprints.build_blueprint_library().get(vehicle)
        if blueprint is None or blueprint.kind != ActorKind.VEHICLE:
            raise UserError(f"unknown vehicle: {vehicle} (see docs/explanation/dynamics.md)")
        self.table, self._physics, self._ground = ActorTable(), PhysicsTable(), ground
        column = round(-ground.x)
        height = float(ground.lower[0, column])
        self.table.add_actor(
            1,
            kind=ActorKind.VEHICLE,
            position=(0.0, 0.0, height),
            velocity=(speed, 0.0, 0.0),
            extent=blueprint.extent,
            box_centre=blueprint.box_centre,
            simulated=True,
            solid=True,
            gravity=True,
        )
        control = build_default_physics(
            vehicle, blueprint.touching, blueprint.wheels, blueprint.mass
        )
        self._physics.set_control(self.table, 1, control)
        self.row = self._physics.rows[:1]
        self.row["pull"] = 0.0
        values.set_vehicle_parameters(self.row)
        self.table.drivetrain[0, SINCE_SHIFT] = LONG_AGO
        self._slots: Ints = np.zeros(1, np.int64)
        if speed > MOVING:
            self._set_rolling(speed)

    def _set_rolling(self, speed: float) -> None:
        """Let wheels and engine turn as they do at a speed, in the lowest gear that allows it."""
        row = self.row[0]
        spin = speed / float(row["front_radius"])
        self.table.drivetrain[0, FRONT_SPIN] = spin
        self.table.drivetrain[0, REAR_SPIN] = speed / float(row["rear_radius"])
        for gear in range(1, int(row["gears"]) + 1):
            turning = spin * float(row["ratio"][gear - 1] * row["final"])
            if turning < float(row["up"][gear - 1] * row["max_speed"]):
                break
        self.table.gear[0] = self.table.drivetrain[0, TARGET_GEAR] = gear
        self.table.engine_speed[0] = min(turning, float(row["max_speed"]))

    def set_controls(self, throttle: float, brake: float, steer: float) -> None:
        """Set the controls."""
        self.table.throttle[0], self.table.brake[0] = max(throttle, 0.0), max(brake, 0.0)
        self.table.steer[0] = steer

    def run_tick(self, dt: float = STEP) -> None:
        """Drive on for `dt` seconds."""
        vehicles.step_vehicles(
            self.table, self._slots, physics=self._physics, ground=self._ground, dt=dt
        )

    @property
    def speed(self) -> float:
        """Speed in metres per second."""
        return math.hypot(*self.table.velocity[0].tolist())


def simulate_drive(
    drive: PublicDriveRecord, vehicle: str, ground: TownGround, values: FittedValues
) -> Floats:
    """Return the simulated speed at each of a record's samples and some after.

    A record that states its pedals starts at its own speed. Otherwise it is unknown when the pedal
    went down: the simulated car starts from rest, and the samples are shifted so that it begins to
    move when the record does.

    Args:
        drive: the record.
        vehicle: id of the blueprint.
        ground: that it drives on.
        values: fitted parameters of the vehicle.

    Returns:
        (samples,) m/s.
    """
    # pedals are known
    if drive.stated:
        car = SimulatedCar(vehicle, ground, values, float(drive.speed[0]))
        return _drive_controls(car, drive.throttle, drive.brake, drive.steer)
    car = SimulatedCar(vehicle, ground, values)
    # a first drive: when the car moves off after the pedal goes down
    departure = find_first_moving(drive.speed)
    lead = round(LEAD / STEP)
    braked = drive.peak - 1 - departure + lead
    count = len(drive.speed) - departure + lead
    throttle = np.where(np.arange(count) < braked, float(drive.throttle.max()), 0.0)
    speed = _drive_controls(
        SimulatedCar(vehicle, ground, values), throttle[:lead], throttle[:lead] * 0.0, None
    )
    moving = np.flatnonzero(speed >= MOVING)
    if not len(moving):
        return np.zeros(len(drive.speed) + SETTLING)
    # the second drive brakes at the record's peak, on that clock
    late = int(moving[0])
    count = len(drive.speed) - departure + late
    braked = drive.peak - 1 - departure + late
    pressed = np.arange(count) < braked
    throttle = np.where(pressed, float(drive.throttle.max()), 0.0)
    speed = _drive_controls(car, throttle, np.where(pressed, 0.0, 1.0), None)
    return np.concatenate([np.zeros(departure), speed[late:]])


def find_first_moving(speed: Floats) -> int:
    """Return the sample at which a car that has come to rest, or nearly, is moving."""
    slowest = int(np.argmin(speed[: max(len(speed) // 4, 1)][:60]))
    moving = np.flatnonzero(speed[slowest:] >= MOVING)
    return slowest + int(moving[0]) if len(moving) else slowest


def _drive_controls(
    car: SimulatedCar, throttle: Floats, brake: Floats, steer: Floats | None
) -> Floats:
    count = len(throttle)
    speed = np.empty(count + SETTLING)
    for index in range(count + SETTLING):
        at = min(index, count - 1)
        speed[index] = car.speed
        car.set_controls(
            float(throttle[at]), float(brake[at]), 0.0 if steer is None else float(steer[at])
        )
        car.run_tick()
    return speed


def measure_curvature(vehicle: str, ground: TownGround, steer: float, speed: float) -> float:
    """Return the curvature, per metre, on which a car settles that is kept at a speed."""
    car = SimulatedCar(vehicle, ground, FittedValues(), speed)
    table = car.table
    bends = []
    for tick in range(160):
        missing = speed - car.speed
        throttle = min(max(0.4 + 0.5 * missing, 0.0), 1.0)
        car.set_controls(throttle, min(max(-0.5 * missing, 0.0), 1.0), steer)
        car.run_tick()
        if tick >= 120 and car.speed > 0.1:
            bends.append(float(table.yaw_rate[0]) / car.speed)
        # round it goes: keep to the middle of the strip of ground
        table.position[0, 1] = 0.0
        table.position[0, 0] = 50.0
    return float(np.mean(bends)) if bends else 0.0
