"""The physics control a vehicle is born with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from harness.carlite.dynamics.control import Curve, PhysicsControl, WheelPhysicsControl
from harness.carlite.dynamics.models import (
    CLASSES,
    MKZ,
    MODELS,
    PUBLISHED,
    EngineModel,
    PublishedVehicle,
    WheelDimensions,
)

TRACK_SHARE = 0.80
"""Distance between left and right wheels as a share of the bounding box's width."""

STEERING_CURVE: Curve = ((0.0, 1.0), (20.0, 0.9), (60.0, 0.8), (120.0, 0.7))
FULL_LOCK = 1.2217304
"""Radians: CARLA's 70 degrees."""

SPINNING = 40.0
"""Kilograms as which four of PhysX's wheels count when a vehicle gains speed."""

MKZ_MASS, MKZ_RADIUS, MKZ_BRAKE, MKZ_HANDBRAKE = 1696.0, 0.355, 800.0, 1600.0


@cache
def build_default_physics(
    blueprint_id: str, extent: tuple[float, float, float], wheels: int, mass: float
) -> PhysicsControl:
    """Return the physics control of a blueprint with this bounding box, wheel count and mass."""
    published = PUBLISHED.get(blueprint_id)
    if published is not None:
        return _build_published_physics(published, published.mass or mass)
    figures = MODELS.get(blueprint_id) or CLASSES[_choose_vehicle_class(extent, wheels, mass)]
    wheelbase = figures.wheelbase
    if wheelbase < 1.0:
        wheelbase *= 2.0 * extent[0]
    track = TRACK_SHARE * 2.0 * extent[1] if wheels > 2 else 0.0
    return _scale_mkz_physics(figures, wheelbase, track, mass)


def _build_published_physics(known: PublishedVehicle, mass: float) -> PhysicsControl:
    wheel = WheelPhysicsControl(
        radius=known.radius,
        max_brake_torque=known.brake,
        lat_stiff_value=known.lateral,
        lat_stiff_max_load=known.most_load,
        long_stiff_value=known.longitudinal,
    )
    places = (known.front_axle, known.rear_axle)
    fitted = _fit_wheels(
        wheel, places, track=known.width, lock=FULL_LOCK, hand_brake=known.hand_brake
    )
    control = _make_physics_control(known.engine, mass, fitted)
    return replace(control, center_of_mass=(known.centre[0], 0.0, known.centre[1]))


def _scale_mkz_physics(
    figures: WheelDimensions, wheelbase: float, track: float, mass: float
) -> PhysicsControl:
    """Return what the MKZ would be with this mass on these wheels.

    Torques go with the wheels' radius as well, so that forces go with the mass alone.
    """
    # forces in proportion to mass; torques to the wheels' radius as well
    share = (mass + SPINNING) / (MKZ_MASS + SPINNING)
    strength = share * figures.strength * figures.wheel / MKZ_RADIUS
    turning = share * (figures.wheel / MKZ_RADIUS) ** 2
    wheel = WheelPhysicsControl(
        radius=figures.wheel,
        max_brake_torque=round(MKZ_BRAKE * share * figures.wheel / MKZ_RADIUS, 1),
        damping_rate=round(0.25 * turning, 4),
        long_stiff_value=round(3000.0 * min(share, 1.0), 1),
    )
    # the engine: torque, inertia and damping by the same factor, gears as they are
    full, engaged, disengaged = MKZ.damping
    engine = EngineModel(
        torque_curve=tuple((rpm, round(strength * torque, 1)) for rpm, torque in MKZ.torque_curve),
        max_rpm=MKZ.max_rpm,
        final=MKZ.final,
        gears=MKZ.gears,
        switch_time=MKZ.switch_time,
        moi=strength * MKZ.moi,
        damping=(strength * full, strength * engaged, strength * disengaged),
        clutch=strength * MKZ.clutch,
    )
    # axles at equal distances from the middle
    places = (0.5 * wheelbase, -0.5 * wheelbase)
    hand_brake = round(MKZ_HANDBRAKE * share * figures.wheel / MKZ_RADIUS, 1)
    return _make_physics_control(
        engine,
        mass,
        _fit_wheels(wheel, places, track=track, lock=figures.lock, hand_brake=hand_brake),
    )


def _fit_wheels(
    wheel: WheelPhysicsControl,
    places: tuple[float, float],
    *,
    track: float,
    lock: float,
    hand_brake: float,
) -> tuple[WheelPhysicsControl, ...]:
    """Return two wheels per axle; as in CARLA, two-wheelers have twins, here on the centre line."""
    return tuple(
        replace(
            wheel,
            max_steer_angle=0.0 if rear else lock,
            max_handbrake_torque=hand_brake if rear else 0.0,
            position=(place, side, wheel.radius),
        )
        for rear, place in enumerate(places)
        for side in (-0.5 * track, 0.5 * track)
    )


def _make_physics_control(
    engine: EngineModel, mass: float, wheels: tuple[WheelPhysicsControl, ...]
) -> PhysicsControl:
    full, engaged, disengaged = engine.damping
    return PhysicsControl(
        torque_curve=engine.torque_curve,
        max_rpm=engine.max_rpm,
        moi=engine.moi,
        damping_full_throttle=full,
        damping_zero_throttle_clutch_engaged=engaged,
        damping_zero_throttle_clutch_disengaged=disengaged,
        gear_switch_time=engine.switch_time,
        clutch_strength=engine.clutch,
        final_ratio=engine.final,
        forward_gears=engine.gears,
        mass=mass,
        drag_coefficient=0.3,
        steering_curve=STEERING_CURVE,
        wheels=wheels,
    )


def _choose_vehicle_class(extent: Sequence[float], wheels: int, mass: float) -> str:
    if wheels == 2:
        return "bicycle" if mass < 120.0 else "motorcycle"
    if mass > 5000.0 and extent[0] > 4.5:
        return "bus" if mass < 13000.0 else "truck"
    if mass > 3500.0:
        return "truck"
    return "van" if extent[2] > 1.0 else "car"
