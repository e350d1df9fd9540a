"""A vehicle's physical parameters, as CARLA's `VehiclePhysicsControl` names them."""

from __future__ import annotations

from dataclasses import dataclass

Vector = tuple[float, float, float]
Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class WheelPhysicsControl:
    """One wheel.

    Attributes:
        tire_friction: 3.5 in all of CARLA's vehicles; the road's own 0.7 multiplies it.
        damping_rate: N m per rad/s that slow the wheel down.
        max_steer_angle: radians, of the wheel on the inside of the bend.
        radius: metres.
        max_brake_torque, max_handbrake_torque: newton metres.
        lat_stiff_max_load: multiple of the load at rest beyond which side forces stiffen no more.
        lat_stiff_value: greatest side force per unit of load at rest and of slip.
        long_stiff_value: force along the wheel per unit of slip, kilograms times gravity.
        position: in the vehicle's frame, metres.
    """

    tire_friction: float = 3.5
    damping_rate: float = 0.25
    max_steer_angle: float = 0.0
    radius: float = 0.35
    max_brake_torque: float = 1500.0
    max_handbrake_torque: float = 0.0
    lat_stiff_max_load: float = 3.0
    lat_stiff_value: float = 13.5
    long_stiff_value: float = 3000.0
    position: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class GearPhysicsControl:
    """A forward gear; `down` and `up` are the shares of the top engine speed at which to shift."""

    ratio: float = 1.0
    down: float = 0.5
    up: float = 0.65


@dataclass(frozen=True, kw_only=True)
class PhysicsControl:
    """What a client may read and change about a vehicle.

    Attributes:
        torque_curve: (revolutions per minute, newton metres), flat beyond its ends.
        max_rpm: the engine turns no faster.
        moi: the engine's moment of inertia, kg m².
        damping_full_throttle, damping_zero_throttle_clutch_engaged,
            damping_zero_throttle_clutch_disengaged: engine drag, N m per rad/s;
            in between with the throttle.
        use_gear_autobox, gear_switch_time, final_ratio, forward_gears: the gearbox.
        clutch_strength: N m per rad/s by which engine and gearbox differ.
        mass: kilograms.
        drag_coefficient: on 1.8 m by 1.4 m, whatever the vehicle.
        center_of_mass: offset from the actor's origin, metres.
        steering_curve: (km/h, share of the full steering angle).
        use_sweep_wheel_collision: kept for the client, without effect.
    """

    torque_curve: Curve = ((0.0, 500.0), (5000.0, 500.0))
    max_rpm: float = 5000.0
    moi: float = 1.0
    damping_full_throttle: float = 0.15
    damping_zero_throttle_clutch_engaged: float = 2.0
    damping_zero_throttle_clutch_disengaged: float = 0.35
    use_gear_autobox: bool = True
    gear_switch_time: float = 0.5
    clutch_strength: float = 10.0
    final_ratio: float = 4.0
    forward_gears: tuple[GearPhysicsControl, ...] = ()
    mass: float = 1000.0
    drag_coefficient: float = 0.3
    center_of_mass: Vector = (0.0, 0.0, 0.0)
    steering_curve: Curve = ((0.0, 1.0), (10.0, 0.5))
    wheels: tuple[WheelPhysicsControl, ...] = ()
    use_sweep_wheel_collision: bool = False
