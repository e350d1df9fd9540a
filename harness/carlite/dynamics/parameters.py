"""Physics controls, packed into rows of numbers that the compiled loops read."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.actors import ActorTable
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.control import PhysicsControl, Wheel

Rows: TypeAlias = NDArray[np.void]

MAX_GEARS = 10
TORQUE_SAMPLES = 33
STEERING_SAMPLES = 25
STEERING_STEP = 10.0 / 3.6
"""Metres per second between two samples of the steering curve."""

GOOD_TYRE = 3.35
"""CARLA's tyre friction of a tyre whose friction coefficient is one."""

AIR_DENSITY = 1.225
FRONT_SHARE = 0.85
COMBUSTION_IDLE = 80.0
"""Radians per second; a vehicle with one gear is electric, or a bicycle, and has no idle speed."""

ROW = np.dtype(
    [
        ("mass", np.float64),
        ("yaw_inertia", np.float64),
        ("centre", np.float64),
        ("front", np.float64),
        ("rear", np.float64),
        ("track", np.float64),
        ("radius", np.float64),
        ("front_friction", np.float64),
        ("rear_friction", np.float64),
        ("front_stiffness", np.float64),
        ("rear_stiffness", np.float64),
        ("max_steer", np.float64),
        ("pull", np.float64),
        ("front_brake", np.float64),
        ("rear_brake", np.float64),
        ("hand_brake", np.float64),
        ("drag", np.float64),
        ("max_speed", np.float64),
        ("idle", np.float64),
        ("inertia", np.float64),
        ("drag_full", np.float64),
        ("drag_closed", np.float64),
        ("drag_open", np.float64),
        ("automatic", np.bool_),
        ("switch_time", np.float64),
        ("final", np.float64),
        ("gears", np.int64),
        ("ratio", np.float64, (MAX_GEARS,)),
        ("up", np.float64, (MAX_GEARS,)),
        ("down", np.float64, (MAX_GEARS,)),
        ("torque", np.float64, (TORQUE_SAMPLES,)),
        ("steering", np.float64, (STEERING_SAMPLES,)),
    ]
)
"""One vehicle. Distances along the body are from the centre of mass, which lies `centre` ahead of
the origin; forces are in newtons at the ground, engine speeds in radians per second; `pull` is the
angle, in radians, by which the front wheels are askew."""

GOLDEN = 0.6180339887498949
"""Multiples of it, modulo one, spread evenly however many there are."""

STRONGEST_PULL = 1.6e-5
"""Curvature, per metre, of the way a car takes with its wheel straight: 8 cm in 100 m."""


class Physics:
    """The physics control of every vehicle, by actor id, and the rows made from them.

    The ground may override the friction of a vehicle's own tyres for a while.
    """

    def __init__(self) -> None:
        self.rows: Rows = np.zeros(64, ROW)
        self._controls: dict[int, PhysicsControl] = {}
        self._friction: dict[int, float] = {}
        self._pull: dict[int, float] = {}
        self._born = 0
        self._row_of: dict[int, int] = {}
        self._free: list[int] = []

    def get(self, actor_id: int) -> PhysicsControl:
        """Return an actor's own control, wherever it is; KeyError when there is none."""
        return self._controls[actor_id]

    def in_effect(self, actor_id: int) -> PhysicsControl:
        """Return the control an actor drives with where it is now."""
        return _on_ground(self._controls[actor_id], self._friction.get(actor_id))

    def apply(self, table: ActorTable, actor_id: int, control: PhysicsControl) -> None:
        """Give an actor these parameters; ValueError if no vehicle could have them."""
        slot = table.slot(actor_id)
        effective = _on_ground(control, self._friction.get(actor_id))
        packed = pack(effective, *table.extent[slot].tolist())
        row = self._row_of.get(actor_id)
        if row is None:
            row = self._free.pop() if self._free else len(self._row_of)
            if row == len(self.rows):
                self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            self._row_of[actor_id] = row
            self._pull[actor_id] = tyre_pull(self._born)
            self._born += 1
        self.rows[row] = packed
        self.rows[row]["pull"] = self._pull[actor_id] * (packed["front"] + packed["rear"])
        self._controls[actor_id] = control
        table.physics[slot] = row
        table.mass[slot] = control.mass

    def override_friction(self, table: ActorTable, actor_id: int, friction: float | None) -> None:
        """Let a vehicle's tyres have this friction; None gives their own back."""
        if friction == self._friction.get(actor_id):
            return
        if friction is None:
            del self._friction[actor_id]
        else:
            self._friction[actor_id] = friction
        self.apply(table, actor_id, self._controls[actor_id])

    def forget(self, actor_id: int) -> None:
        """Drop what is known of a destroyed actor."""
        self._friction.pop(actor_id, None)
        self._pull.pop(actor_id, None)
        if self._controls.pop(actor_id, None) is not None:
            self._free.append(self._row_of.pop(actor_id))


@lru_cache(maxsize=256)
def pack(
    control: PhysicsControl, half_length: float, half_width: float, half_height: float
) -> np.void:
    """Turn a control into a row; ValueError if it makes no sense."""
    check(control)
    front, rear = axles(control)
    centre = control.center_of_mass[0]
    row: np.void = np.zeros(1, ROW)[0]
    row["mass"] = control.mass
    row["yaw_inertia"] = yaw_inertia(control.mass, half_length, half_width)
    row["centre"] = centre
    row["front"] = max(_mean([wheel.position[0] for wheel in front]) - centre, 0.05)
    row["rear"] = max(centre - _mean([wheel.position[0] for wheel in rear]), 0.05)
    row["track"] = max(wheel.position[1] for wheel in control.wheels) - min(
        wheel.position[1] for wheel in control.wheels
    )
    row["radius"] = _mean([wheel.radius for wheel in control.wheels])
    for name, axle in (("front", front), ("rear", rear)):
        row[f"{name}_friction"] = _mean([grip(wheel.tire_friction) for wheel in axle])
        row[f"{name}_stiffness"] = max(_mean([wheel.lat_stiff_value for wheel in axle]), 0.0)
        row[f"{name}_brake"] = max(sum(w.max_brake_torque / w.radius for w in axle), 0.0)
    row["max_steer"] = min(_mean([wheel.max_steer_angle for wheel in front]), 1.4)
    row["hand_brake"] = max(sum(w.max_handbrake_torque / w.radius for w in control.wheels), 0.0)
    area = FRONT_SHARE * 4.0 * half_width * half_height
    row["drag"] = 0.5 * AIR_DENSITY * max(control.drag_coefficient, 0.0) * area
    _pack_engine(row, control)
    speeds = np.arange(STEERING_SAMPLES) * STEERING_STEP * 3.6
    row["steering"] = np.interp(speeds, *_columns(control.steering_curve))
    return row


def _pack_engine(row: Any, control: PhysicsControl) -> None:
    gears = control.forward_gears
    row["max_speed"] = control.max_rpm * math.pi / 30.0
    row["idle"] = min(COMBUSTION_IDLE, 0.3 * row["max_speed"]) if len(gears) > 1 else 0.0
    row["inertia"] = max(control.moi, 0.0)
    row["drag_full"] = max(control.damping_full_throttle, 0.0)
    row["drag_closed"] = max(control.damping_zero_throttle_clutch_engaged, 0.0)
    row["drag_open"] = max(control.damping_zero_throttle_clutch_disengaged, 0.0)
    row["automatic"] = control.use_gear_autobox
    row["switch_time"] = min(max(control.gear_switch_time, 0.0), 10.0)
    row["final"] = control.final_ratio
    row["gears"] = len(gears)
    for index, gear in enumerate(gears):
        row["ratio"][index] = gear.ratio
        row["up"][index] = gear.up
        row["down"][index] = gear.down
    revolutions = np.linspace(0.0, control.max_rpm, TORQUE_SAMPLES)
    row["torque"] = np.interp(revolutions, *_columns(control.torque_curve))


def tyre_pull(number: int) -> float:
    """Return the curvature of the way on which the `number`-th vehicle's tyres lead it.

    No two cars run perfectly straight, and none stands perfectly in line with anything: programs
    that were written for such cars may fail where an angle is zero.
    """
    share = 0.5 + 0.5 * (number * GOLDEN % 1.0)
    return STRONGEST_PULL * (share if number % 2 else -share)


def check(control: PhysicsControl) -> None:
    """Raise ValueError naming the first parameter that no vehicle could have."""
    positive = {
        "mass": control.mass,
        "max_rpm": control.max_rpm,
        **{f"wheels[{i}].radius": wheel.radius for i, wheel in enumerate(control.wheels)},
    }
    for name, value in positive.items():
        if not value > 0.0:
            raise ValueError(f"{name} must be above zero, not {value}")
    counts = {
        "wheels": (len(control.wheels), 2, 16),
        "forward_gears": (len(control.forward_gears), 1, MAX_GEARS),
        "torque_curve": (len(control.torque_curve), 1, 1000),
        "steering_curve": (len(control.steering_curve), 1, 1000),
    }
    for name, (count, least, most) in counts.items():
        if not least <= count <= most:
            raise ValueError(f"{name} must have {least} to {most} entries, not {count}")


def axles(control: PhysicsControl) -> tuple[list[Wheel], list[Wheel]]:
    """Split the wheels into those ahead of their common middle and those behind it."""
    places = [wheel.position[0] for wheel in control.wheels]
    middle = 0.5 * (max(places) + min(places))
    front = [wheel for wheel in control.wheels if wheel.position[0] >= middle]
    rear = [wheel for wheel in control.wheels if wheel.position[0] < middle]
    return front, rear or front


def grip(tire_friction: float) -> float:
    """Return the friction coefficient that a value on CARLA's scale stands for.

    The scale is bent so that a tenth of a good tyre is a wet one, not ice: CARLA's own braking
    tests expect as much.
    """
    friction: float = (max(tire_friction, 0.0) / GOOD_TYRE) ** 0.75
    return friction


@compiled
def yaw_inertia(mass: float, half_length: float, half_width: float) -> float:
    """Return kg m² about the up axis: four fifths of a uniform box, the ends being light."""
    return 0.8 * mass * (half_length * half_length + half_width * half_width) / 3.0


def _on_ground(control: PhysicsControl, friction: float | None) -> PhysicsControl:
    if friction is None:
        return control
    wheels = tuple(replace(wheel, tire_friction=friction) for wheel in control.wheels)
    return replace(control, wheels=wheels)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _columns(curve: tuple[tuple[float, float], ...]) -> tuple[list[float], list[float]]:
    points = sorted(curve)
    return [x for x, _ in points], [y for _, y in points]
