"""Engine and gearbox: from the pedals to a force at the ground. Compiled."""

from __future__ import annotations

from typing import Any

from harness.carlite.compiled import compiled
from harness.carlite.dynamics.parameters import TORQUE_SAMPLES

LIMITER = 0.03
"""The engine's torque fades to nothing over this share of its top speed."""

SPOOL = 6.0
"""How fast an engine out of gear follows the throttle, per second."""


@compiled
def engine_torque(vehicle: Any, speed: float) -> float:
    """Return the torque at full throttle, N m, at an engine speed in rad/s."""
    share = speed / vehicle["max_speed"]
    place = min(max(share, 0.0), 1.0) * (TORQUE_SAMPLES - 1)
    index = min(int(place), TORQUE_SAMPLES - 2)
    rest = place - index
    torque: float = vehicle["torque"][index] * (1.0 - rest) + vehicle["torque"][index + 1] * rest
    if share > 1.0:
        torque *= max(0.0, 1.0 - (share - 1.0) / LIMITER)
    return torque


@compiled
def gear_ratio(vehicle: Any, gear: int) -> float:
    """Return engine speed over wheel speed: negative in reverse, zero in neutral."""
    if gear == 0:
        return 0.0
    ratio: float = vehicle["ratio"][max(gear, 1) - 1] * vehicle["final"]
    return -ratio if gear < 0 else ratio


@compiled
def choose_gear(
    vehicle: Any, gear: int, shift: float, speed: float, throttle: float, reverse: bool
) -> tuple[int, float]:
    """Return the automatic gearbox's gear and the seconds until it is in.

    With little throttle it shifts at lower engine speeds, as automatic gearboxes do.
    """
    if reverse:
        return -1, 0.0
    if gear <= 0:
        return 1, 0.0
    if shift > 0.0:
        return gear, shift
    gear = min(gear, vehicle["gears"])
    eagerness = 0.45 + 0.55 * throttle
    share = speed * gear_ratio(vehicle, gear) / (vehicle["radius"] * vehicle["max_speed"])
    if gear < vehicle["gears"] and share > vehicle["up"][gear - 1] * eagerness:
        return gear + 1, vehicle["switch_time"]
    if gear > 1 and share < vehicle["down"][gear - 1] * eagerness:
        return gear - 1, vehicle["switch_time"]
    return gear, 0.0


@compiled
def drive(
    vehicle: Any, gear: int, engaged: bool, speed: float, throttle: float, engine_speed: float,
    dt: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the driving force, the engine's braking force (>= 0) and the new engine speed."""
    ratio = gear_ratio(vehicle, gear) if engaged else 0.0
    if ratio == 0.0:
        target = vehicle["idle"] + throttle * (vehicle["max_speed"] - vehicle["idle"])
        drag = vehicle["drag_open"] * engine_speed / (vehicle["inertia"] + 1e-3)
        rate = min(SPOOL * dt, 1.0) if target > engine_speed else min(drag * dt, 1.0)
        return 0.0, 0.0, engine_speed + rate * (target - engine_speed)
    lever = ratio / vehicle["radius"]
    coupled = speed * lever
    running = max(coupled, vehicle["idle"])
    torque = throttle * engine_torque(vehicle, running)
    heavier = vehicle["inertia"] * lever * lever / vehicle["mass"]
    force = torque * lever / (1.0 + heavier)
    drag = vehicle["drag_closed"] + (vehicle["drag_full"] - vehicle["drag_closed"]) * throttle
    braking = drag * coupled * abs(lever) if coupled > vehicle["idle"] else 0.0
    return force, braking, running
