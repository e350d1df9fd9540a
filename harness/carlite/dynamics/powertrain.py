"""Pedals, gearbox, engine, clutch and wheels, as PhysX 3's four-wheel drive has them. Compiled."""

from __future__ import annotations

import math
from typing import Any

from harness.carlite.compiled import compiled
from harness.carlite.dynamics.parameters import TORQUE_SAMPLES

PEDAL_RISE, PEDAL_FALL = 6.0, 10.0
HANDBRAKE_RATE = 12.0
STEER_RISE, STEER_FALL = 2.5, 5.0
"""Per second: how fast Unreal lets pedals and steering follow the client."""

FRONT_SHARE = 0.45
"""Share of the drive that goes to the front axle."""


@compiled
def limit_control_rate(value: float, wanted: float, rise: float, fall: float, dt: float) -> float:
    """Return a control after `dt`: slower away from zero than towards it."""
    change = wanted - value
    rising = value == 0.0 or (change > 0.0) == (value > 0.0)
    rate = (rise if rising else fall) * dt
    return value + min(max(change, -rate), rate)


@compiled
def compute_engine_torque(vehicle: Any, speed: float) -> float:
    """Return the torque at full throttle, N m, at an engine speed in rad/s."""
    place = min(max(speed / vehicle["max_speed"], 0.0), 1.0) * (TORQUE_SAMPLES - 1)
    index = min(int(place), TORQUE_SAMPLES - 2)
    rest = place - index
    torque: float = vehicle["torque"][index] * (1.0 - rest) + vehicle["torque"][index + 1] * rest
    return torque


@compiled
def compute_gear_ratio(vehicle: Any, gear: int) -> float:
    """Return engine speed over wheel speed: negative in reverse, zero in neutral."""
    if gear == 0:
        return 0.0
    if gear < 0:
        reverse: float = vehicle["reverse"] * vehicle["final"]
        return reverse
    ratio: float = vehicle["ratio"][gear - 1] * vehicle["final"]
    return ratio


@compiled
def choose_gear(
    vehicle: Any, gear: int, target: int, shift: float, since: float, engine_speed: float, dt: float
) -> tuple[int, int, float, float]:
    """Return the automatic gearbox's gear and target, the time in this shift and since the last.

    It shifts up and down at shares of the top engine speed, one gear at a time through neutral, and
    not again before its latency has passed. From neutral it needs a share of its own.
    """
    # between shifts: does engine speed ask for one
    if target == gear and since > vehicle["latency"]:
        share = engine_speed / vehicle["max_speed"]
        step = 0
        if gear == 0:
            step = 1 if share > vehicle["neutral_up"] else 0
        elif gear > 0:
            if share > vehicle["up"][gear - 1] and gear < vehicle["gears"]:
                step = 1
            elif share < vehicle["down"][gear - 1] and gear > 1:
                step = -1
        if step != 0:
            target, gear, shift, since = gear + step, 0, 0.0, 0.0
    else:
        since += dt
    # during a shift: neutral until its time is over
    if target != gear:
        if shift > vehicle["switch_time"]:
            gear, shift = target, 0.0
        else:
            shift += dt
    return gear, target, shift, since


@compiled
def step_drivetrain(
    vehicle: Any, ratio: float, throttle: float, drag: float, front_share: float,
    front: float, rear: float, engine: float,
    front_torque: float, rear_torque: float, dt: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the spins of front axle, rear axle and engine after `dt`.

    The clutch passes its strength times the difference in speed, and the differential shares that
    torque out; engine and wheels are solved together, implicitly, for it is stiff after a shift.
    """
    # each body alone: torque and damping, implicitly
    torque = throttle * compute_engine_torque(vehicle, engine)
    front_mass = vehicle["front_inertia"] / dt
    rear_mass = vehicle["rear_inertia"] / dt
    engine_mass = vehicle["inertia"] / dt
    front_weight = front_mass + vehicle["front_damping"]
    rear_weight = rear_mass + vehicle["rear_damping"]
    engine_weight = engine_mass + drag
    front = (front_mass * front + front_torque) / front_weight
    rear = (rear_mass * rear + rear_torque) / rear_weight
    engine = (engine_mass * engine + torque) / engine_weight
    # the clutch couples them, implicitly as well
    if ratio != 0.0:
        rear_share = 1.0 - front_share
        shaft = ratio * (front_share * front + rear_share * rear)
        yields = front_share * front_share / front_weight + rear_share * rear_share / rear_weight
        clutch = vehicle["clutch"]
        passed = clutch * (shaft - engine)
        passed /= 1.0 + clutch * (ratio * ratio * yields + 1.0 / engine_weight)
        front -= front_share * ratio * passed / front_weight
        rear -= rear_share * ratio * passed / rear_weight
        engine += passed / engine_weight
    return front, rear, min(max(engine, 0.0), vehicle["max_speed"])


@compiled
def compute_centre_angle(inner: float, wheelbase: float, width: float) -> float:
    """Return the angle of a wheel midway between the front ones; the inner one is given."""
    if abs(inner) < 1e-9:
        return 0.0
    away = wheelbase / math.tan(abs(inner)) + 0.5 * width
    return math.copysign(math.atan(wheelbase / away), inner)
