"""What a vehicle's instruments would show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.carlite.actors import ActorTable
from harness.carlite.dynamics.control import PhysicsControl, WheelPhysicsControl
from harness.carlite.dynamics.parameters import GRAVITY, PhysicsTable, split_axles
from harness.carlite.dynamics.state import FRONT_SPIN, REAR_SPIN

SLIP_SPEED = 1.0
"""Metres per second that PhysX adds to the speed of a wheel, so that slip has a limit at rest."""


@dataclass(frozen=True, kw_only=True)
class WheelTelemetry:
    """One wheel, fields in CARLA's order.

    Attributes:
        tire_friction: on the scale of the physics control, where the wheel is now.
        lat_slip: angle between where the wheel points and where it goes, degrees, as PhysX
            computes it: atan(across / (|along| + 1 m/s)).
        long_slip: how much faster the axle turns than it rolls, as a share of the faster speed.
        omega: radians per second, of the axle.
        tire_load, normalized_tire_load: newtons, and as a share of the load at rest.
        torque: what the wheel passes to the ground, N m.
        long_force, lat_force: newtons in the vehicle's frame.
        normalized_long_force, normalized_lat_force: sizes of the forces, as shares of the load at
            rest.
    """

    tire_friction: float
    lat_slip: float
    long_slip: float
    omega: float
    tire_load: float
    normalized_tire_load: float
    torque: float
    long_force: float
    lat_force: float
    normalized_long_force: float
    normalized_lat_force: float


@dataclass(frozen=True, kw_only=True)
class VehicleTelemetry:
    """One vehicle, fields in CARLA's order.

    Attributes:
        speed: metres per second ahead, below 0 backwards.
        engine_rpm: revolutions per minute.
        drag: of the air, newtons.
    """

    speed: float
    steer: float
    throttle: float
    brake: float
    engine_rpm: float
    gear: int
    drag: float
    wheels: tuple[WheelTelemetry, ...]


def read_vehicle_telemetry(table: ActorTable, slot: int, physics: PhysicsTable) -> VehicleTelemetry:
    """Read a vehicle's instruments."""
    control = physics.find_control(int(table.id[slot]))
    # velocity along and across the vehicle, m/s
    velocity = table.velocity[slot].tolist()
    cos, sin = math.cos(table.rotation[slot, 1]), math.sin(table.rotation[slot, 1])
    along = velocity[0] * cos + velocity[1] * sin
    across = velocity[1] * cos - velocity[0] * sin
    # at the origin, from which the wheels' places count
    across -= float(table.yaw_rate[slot] * table.mass_centre[slot])
    drag = float(physics.rows[table.physics[slot]]["drag"]) * along * abs(along)
    # forces that the tyres carry, N: from acceleration, gravity on a slope, and drag
    pitch, _, roll = table.rotation[slot].tolist()
    gaining = table.acceleration[slot].tolist()
    mass = control.mass
    pull = mass * (gaining[0] * cos + gaining[1] * sin + GRAVITY * math.sin(pitch)) + drag
    side = mass * (gaining[1] * cos - gaining[0] * sin - GRAVITY * math.sin(roll))
    front, _ = split_axles(control)
    return VehicleTelemetry(
        speed=along,
        steer=float(table.steer[slot]),
        throttle=float(table.throttle[slot]),
        brake=float(table.brake[slot]),
        engine_rpm=float(table.engine_speed[slot]) * 30.0 / math.pi,
        gear=int(table.gear[slot]),
        drag=abs(drag),
        wheels=tuple(
            _read_wheel_telemetry(
                wheel,
                share=share,
                angle=float(table.wheel_angle[slot]) if wheel in front else 0.0,
                spin=float(table.drivetrain[slot, FRONT_SPIN if wheel in front else REAR_SPIN]),
                motion=(along, across, float(table.yaw_rate[slot])),
                forces=(pull, side, mass * GRAVITY * math.cos(pitch) * math.cos(roll)),
                flattening=math.cos(pitch) * math.cos(roll),
            )
            for wheel, share in zip(control.wheels, _compute_load_shares(control), strict=True)
        ),
    )


def _compute_load_shares(control: PhysicsControl) -> list[float]:
    """Return the share of the weight that each wheel carries at rest."""
    front, rear = split_axles(control)
    ahead = sum(wheel.position[0] for wheel in front) / len(front)
    behind = sum(wheel.position[0] for wheel in rear) / len(rear)
    centre = control.center_of_mass[0]
    on_front = (centre - behind) / (ahead - behind) if ahead > behind else 0.5
    return [
        on_front / len(front) if wheel in front else (1.0 - on_front) / len(rear)
        for wheel in control.wheels
    ]


def _read_wheel_telemetry(
    wheel: WheelPhysicsControl,
    *,
    share: float,
    angle: float,
    spin: float,
    motion: tuple[float, float, float],
    forces: tuple[float, float, float],
    flattening: float,
) -> WheelTelemetry:
    along, across, turn = motion
    # speed of the ground under the wheel, then in the wheel's direction
    ahead = along - turn * wheel.position[1]
    aside = across + turn * wheel.position[0]
    rolling = ahead * math.cos(angle) + aside * math.sin(angle)
    sliding = aside * math.cos(angle) - ahead * math.sin(angle)
    fastest = max(abs(spin * wheel.radius), abs(rolling))
    # forces are shared out by the load that each wheel carries at rest
    pull, side, load = (share * force for force in forces)
    return WheelTelemetry(
        tire_friction=wheel.tire_friction,
        lat_slip=math.degrees(math.atan(sliding / (abs(rolling) + SLIP_SPEED))),
        long_slip=(spin * wheel.radius - rolling) / fastest if fastest > 0.1 else 0.0,
        omega=spin,
        tire_load=load,
        normalized_tire_load=flattening,
        torque=pull * wheel.radius,
        long_force=pull,
        lat_force=side,
        normalized_long_force=abs(pull) * flattening / load if load else 0.0,
        normalized_lat_force=abs(side) * flattening / load if load else 0.0,
    )
