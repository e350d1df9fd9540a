"""The physics control a vehicle is born with, worked out from what is published about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from harness.carlite.dynamics.control import Curve, Gear, PhysicsControl, Wheel
from harness.carlite.dynamics.models import CLASSES, MODELS, Drivetrain, Figures
from harness.carlite.dynamics.parameters import grip

GRAVITY = 9.81
BRAKE_RESERVE = 1.25
"""Full brakes could hold this much more than the tyres can."""

TRACK_SHARE = 0.80
"""Distance between left and right wheels as a share of the bounding box's width."""

STEERING_CURVE: Curve = ((0.0, 1.0), (20.0, 0.9), (60.0, 0.8), (120.0, 0.7))


@cache
def defaults(
    blueprint_id: str, extent: tuple[float, float, float], wheels: int, mass: float
) -> PhysicsControl:
    """Return the physics control of a blueprint with this bounding box, wheel count and mass."""
    figures = MODELS.get(blueprint_id) or CLASSES[_class(extent, wheels, mass)]
    length, width = 2.0 * extent[0], 2.0 * extent[1]
    wheelbase = figures.wheelbase if figures.wheelbase > 1.0 else figures.wheelbase * length
    track = TRACK_SHARE * width if wheels > 2 else 0.0
    drivetrain = figures.drivetrain
    torque = figures.torque or 1.25 * figures.power * 1e3 / _angular(drivetrain.peak_rpm)
    drag = drivetrain.drag * torque / _angular(drivetrain.max_rpm)
    return PhysicsControl(
        torque_curve=_torque_curve(drivetrain, figures.power * 1e3, torque),
        max_rpm=drivetrain.max_rpm,
        moi=drivetrain.inertia * torque,
        damping_full_throttle=0.1 * drag,
        damping_zero_throttle_clutch_engaged=drag,
        damping_zero_throttle_clutch_disengaged=0.3 * drag,
        gear_switch_time=drivetrain.switch_time,
        final_ratio=drivetrain.final,
        forward_gears=tuple(Gear(r, drivetrain.down, drivetrain.up) for r in drivetrain.ratios),
        mass=mass,
        drag_coefficient=figures.drag,
        steering_curve=STEERING_CURVE,
        wheels=_wheels(figures, wheelbase, track, mass),
    )


def steering_angle(turning_circle: float, wheelbase: float, track: float) -> float:
    """Return the mean angle of the front wheels at which the outer one draws this circle."""
    rear_axle_radius = math.sqrt((0.5 * turning_circle) ** 2 - wheelbase**2) - 0.5 * track
    return math.atan(wheelbase / rear_axle_radius)


def _wheels(figures: Figures, wheelbase: float, track: float, mass: float) -> tuple[Wheel, ...]:
    """Return two wheels per axle; as in CARLA, two-wheelers have twins, here on the centre line."""
    hold = BRAKE_RESERVE * grip(figures.friction) * mass * GRAVITY
    torque = 0.25 * hold * figures.wheel
    angle = steering_angle(figures.turning_circle, wheelbase, track)
    return tuple(
        Wheel(
            tire_friction=figures.friction,
            max_steer_angle=angle if front else 0.0,
            radius=figures.wheel,
            max_brake_torque=torque,
            max_handbrake_torque=0.0 if front else 2.0 * torque,
            position=(0.5 * wheelbase if front else -0.5 * wheelbase, side, figures.wheel),
        )
        for front in (True, False)
        for side in (-0.5 * track, 0.5 * track)
    )


def _torque_curve(drivetrain: Drivetrain, power: float, torque: float) -> Curve:
    """Full torque until the power is reached, constant power beyond, fading past its peak."""
    held = power / torque * 30.0 / math.pi
    speeds = {0.0, drivetrain.low_rpm, drivetrain.peak_rpm, drivetrain.max_rpm}
    speeds |= {share * drivetrain.max_rpm for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}
    if held < drivetrain.max_rpm:
        speeds.add(round(held))
    return tuple(
        (rpm, round(drivetrain.efficiency * _torque(drivetrain, power, torque, rpm), 1))
        for rpm in sorted(speeds)
    )


def _torque(drivetrain: Drivetrain, power: float, torque: float, rpm: float) -> float:
    rise = drivetrain.torque_rise
    spooled = torque * (rise + (1.0 - rise) * min(rpm / drivetrain.low_rpm, 1.0))
    return min(spooled, power / _angular(max(rpm, 1.0)))


def _angular(rpm: float) -> float:
    return rpm * math.pi / 30.0


def _class(extent: Sequence[float], wheels: int, mass: float) -> str:
    if wheels == 2:
        return "bicycle" if mass < 120.0 else "motorcycle"
    if mass > 5000.0 and extent[0] > 4.5:
        return "bus" if mass < 13000.0 else "truck"
    if mass > 3500.0:
        return "truck"
    return "van" if extent[2] > 1.0 else "car"
