"""Physics controls, packed into rows of numbers that the compiled loops read."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.actors import ActorTable
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.control import PhysicsControl, WheelPhysicsControl

Rows: TypeAlias = NDArray[np.void]

MAX_GEARS = 10
TORQUE_SAMPLES = 131
STEERING_SAMPLES = 25
STEERING_STEP = 10.0 / 3.6
"""Metres per second between two samples of the steering curve."""

GRAVITY = 9.81
ROAD = 0.7
"""Friction of Unreal's default surface, by which a tyre's own is multiplied."""

WHEEL_MASS = 20.0
"""Kilograms, of every wheel; a solid disc."""

AIR_DENSITY = 1.25
FRONT_AREA = 1.8 * 1.4
"""Square metres: Unreal's default chassis, which CARLA's vehicles keep."""

NEUTRAL_UP = 0.15
"""Share of the top engine speed from which an automatic gearbox leaves neutral."""

LATENCY = 0.463
"""Seconds between two shifts of an automatic gearbox, at least."""

REVERSE_RATIO = -4.0
HEIGHT = 0.8
"""Height of the centre of mass as a share of half the bounding box's height."""

ROW = np.dtype(
    [
        ("mass", np.float64),
        ("yaw_inertia", np.float64),
        ("centre", np.float64),
        ("height", np.float64),
        ("front", np.float64),
        ("rear", np.float64),
        ("track", np.float64),
        ("width", np.float64),
        ("front_radius", np.float64),
        ("rear_radius", np.float64),
        ("front_friction", np.float64),
        ("rear_friction", np.float64),
        ("front_stiffness", np.float64),
        ("rear_stiffness", np.float64),
        ("front_most_load", np.float64),
        ("rear_most_load", np.float64),
        ("front_long_stiffness", np.float64),
        ("rear_long_stiffness", np.float64),
        ("front_inertia", np.float64),
        ("rear_inertia", np.float64),
        ("front_damping", np.float64),
        ("rear_damping", np.float64),
        ("front_brake", np.float64),
        ("rear_brake", np.float64),
        ("front_hand_brake", np.float64),
        ("rear_hand_brake", np.float64),
        ("max_steer", np.float64),
        ("pull", np.float64),
        ("drag", np.float64),
        ("max_speed", np.float64),
        ("inertia", np.float64),
        ("clutch", np.float64),
        ("drag_full", np.float64),
        ("drag_closed", np.float64),
        ("drag_open", np.float64),
        ("automatic", np.bool_),
        ("switch_time", np.float64),
        ("latency", np.float64),
        ("neutral_up", np.float64),
        ("reverse", np.float64),
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
the origin; wheels are summed up by axle; torques are in newton metres, engine speeds in radians per
second; `width` is between the front wheels, `max_steer` the angle of the inner one; `pull` is the
angle, in radians, by which the front wheels are askew."""

GOLDEN = 0.6180339887498949
"""Multiples of it, modulo one, spread evenly however many there are."""

STRONGEST_PULL = 1.6e-5
"""Curvature, per metre, of the way a car takes with its wheel straight: 8 cm in 100 m."""


class PhysicsTable:
    """The physics control of every vehicle, by actor id, and the rows made from them."""

    def __init__(self) -> None:
        self.rows: Rows = np.zeros(64, ROW)
        self._controls: dict[int, PhysicsControl] = {}
        self._pull: dict[int, float] = {}
        self._born = 0
        self._row_of: dict[int, int] = {}
        self._free: list[int] = []

    def find_control(self, actor_id: int) -> PhysicsControl:
        """Return the control an actor drives with; KeyError when there is none."""
        return self._controls[actor_id]

    def set_control(self, table: ActorTable, actor_id: int, control: PhysicsControl) -> None:
        """Give an actor these parameters; ValueError if no vehicle could have them."""
        slot = table.find_slot(actor_id)
        packed = pack_physics_row(control, *table.extent[slot].tolist())
        row = self._row_of.get(actor_id)
        # a vehicle without a row gets a free one, or a new one
        if row is None:
            row = self._free.pop() if self._free else len(self._row_of)
            if row == len(self.rows):
                self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            self._row_of[actor_id] = row
            self._pull[actor_id] = compute_tyre_pull(self._born)
            self._born += 1
        self.rows[row] = packed
        self.rows[row]["pull"] = self._pull[actor_id] * (packed["front"] + packed["rear"])
        self._controls[actor_id] = control
        table.physics[slot] = row
        table.mass[slot] = control.mass
        table.mass_centre[slot] = packed["centre"]

    def forget_actor(self, actor_id: int) -> None:
        """Drop what is known of a destroyed actor."""
        self._pull.pop(actor_id, None)
        if self._controls.pop(actor_id, None) is not None:
            self._free.append(self._row_of.pop(actor_id))


@lru_cache(maxsize=256)
def pack_physics_row(
    control: PhysicsControl, half_length: float, half_width: float, half_height: float
) -> np.void:
    """Turn a control into a row; ValueError if it makes no sense."""
    check_physics_control(control)
    # distances of the axles from the centre of mass, m; never 0, which forces are divided by
    front, rear = split_axles(control)
    centre = control.center_of_mass[0]
    row: np.void = np.zeros(1, ROW)[0]
    row["mass"] = control.mass
    row["yaw_inertia"] = compute_yaw_inertia(control.mass, half_length, half_width)
    row["centre"] = centre
    row["height"] = HEIGHT * half_height
    row["front"] = max(_compute_axle_mean([wheel.position[0] for wheel in front]) - centre, 0.05)
    row["rear"] = max(centre - _compute_axle_mean([wheel.position[0] for wheel in rear]), 0.05)
    # widths, m
    sides = [wheel.position[1] for wheel in control.wheels]
    row["track"] = max(sides) - min(sides)
    ahead = [wheel.position[1] for wheel in front]
    row["width"] = max(ahead) - min(ahead)
    # axles, steering and air
    _pack_axle(row, "front", front)
    _pack_axle(row, "rear", rear)
    row["max_steer"] = min(max(wheel.max_steer_angle for wheel in front), 1.4)
    row["drag"] = 0.5 * AIR_DENSITY * max(control.drag_coefficient, 0.0) * FRONT_AREA
    _pack_engine(row, control)
    # the steering curve is over km/h; (STEERING_SAMPLES,) over speed here
    speeds = np.arange(STEERING_SAMPLES) * STEERING_STEP * 3.6
    row["steering"] = np.interp(speeds, *_split_curve(control.steering_curve))
    return row


def _pack_axle(row: Any, name: str, axle: list[WheelPhysicsControl]) -> None:
    row[f"{name}_radius"] = _compute_axle_mean([wheel.radius for wheel in axle])
    row[f"{name}_friction"] = _compute_axle_mean(
        [compute_tyre_grip(wheel.tire_friction) for wheel in axle]
    )
    row[f"{name}_stiffness"] = max(
        _compute_axle_mean([wheel.lat_stiff_value for wheel in axle]), 0.0
    )
    row[f"{name}_most_load"] = max(
        _compute_axle_mean([wheel.lat_stiff_max_load for wheel in axle]), 0.1
    )
    long_stiffness = GRAVITY * sum(wheel.long_stiff_value for wheel in axle)
    row[f"{name}_long_stiffness"] = max(long_stiffness, 0.0)
    row[f"{name}_inertia"] = sum(0.5 * WHEEL_MASS * wheel.radius**2 for wheel in axle)
    row[f"{name}_damping"] = max(sum(wheel.damping_rate for wheel in axle), 0.0)
    row[f"{name}_brake"] = max(sum(wheel.max_brake_torque for wheel in axle), 0.0)
    row[f"{name}_hand_brake"] = max(sum(wheel.max_handbrake_torque for wheel in axle), 0.0)


def _pack_engine(row: Any, control: PhysicsControl) -> None:
    gears = control.forward_gears
    # engine: rad/s
    row["max_speed"] = control.max_rpm * math.pi / 30.0
    row["inertia"] = max(control.moi, 1e-3)
    row["clutch"] = max(control.clutch_strength, 0.0)
    row["drag_full"] = max(control.damping_full_throttle, 0.0)
    row["drag_closed"] = max(control.damping_zero_throttle_clutch_engaged, 0.0)
    row["drag_open"] = max(control.damping_zero_throttle_clutch_disengaged, 0.0)
    # gearbox
    row["automatic"] = control.use_gear_autobox
    row["switch_time"] = min(max(control.gear_switch_time, 0.0), 10.0)
    row["latency"], row["neutral_up"], row["reverse"] = LATENCY, NEUTRAL_UP, REVERSE_RATIO
    row["final"] = control.final_ratio
    row["gears"] = len(gears)
    for index, gear in enumerate(gears):
        row["ratio"][index] = gear.ratio
        row["up"][index] = gear.up
        row["down"][index] = gear.down
    # (TORQUE_SAMPLES,) torques from 0 to the highest revolutions
    revolutions = np.linspace(0.0, control.max_rpm, TORQUE_SAMPLES)
    row["torque"] = np.interp(revolutions, *_split_curve(control.torque_curve))


def compute_wheel_angle(row: Any, angle: float, *, right: bool) -> float:
    """Return the angle of one front wheel, by Ackermann, from that midway between the two."""
    if abs(angle) < 1e-9:
        return 0.0
    wheelbase, aside = row["front"] + row["rear"], 0.5 * row["width"]
    away = wheelbase / math.tan(angle) + (-aside if right else aside)
    return math.atan2(wheelbase, away) if angle > 0.0 else math.atan2(-wheelbase, -away)


def compute_tyre_pull(number: int) -> float:
    """Return the curvature of the way on which the `number`-th vehicle's tyres lead it.

    No two cars run perfectly straight, and none stands perfectly in line with anything: programs
    that were written for such cars may fail where an angle is zero.
    """
    share = 0.5 + 0.5 * (number * GOLDEN % 1.0)
    return STRONGEST_PULL * (share if number % 2 else -share)


def check_physics_control(control: PhysicsControl) -> None:
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


def split_axles(
    control: PhysicsControl,
) -> tuple[list[WheelPhysicsControl], list[WheelPhysicsControl]]:
    """Split the wheels into those ahead of their common middle and those behind it."""
    places = [wheel.position[0] for wheel in control.wheels]
    middle = 0.5 * (max(places) + min(places))
    front = [wheel for wheel in control.wheels if wheel.position[0] >= middle]
    rear = [wheel for wheel in control.wheels if wheel.position[0] < middle]
    return front, rear or front


def compute_tyre_grip(tire_friction: float) -> float:
    """Return the friction coefficient of a tyre on the road."""
    return ROAD * max(tire_friction, 0.0)


@compiled
def compute_yaw_inertia(mass: float, half_length: float, half_width: float) -> float:
    """Return kg m² about the up axis: four fifths of a uniform box, the ends being light.

    Args:
        mass: kg.
        half_length: m.
        half_width: m.
    """
    return 0.8 * mass * (half_length * half_length + half_width * half_width) / 3.0


def _compute_axle_mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _split_curve(curve: tuple[tuple[float, float], ...]) -> tuple[list[float], list[float]]:
    points = sorted(curve)
    return [x for x, _ in points], [y for _, y in points]
