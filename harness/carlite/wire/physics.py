"""Vehicle physics and telemetry as they travel."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.wire.codec import Degrees, Vector

Point = tuple[float, float]


@dataclass(frozen=True)
class Gear:
    """A forward gear, and the engine speeds (as fractions of the highest) at which to change."""

    ratio: float
    down_ratio: float
    up_ratio: float


@dataclass(frozen=True)
class Wheel:
    """A wheel; its position is in centimetres in the world, as CARLA gives it."""

    tire_friction: float
    damping_rate: float
    max_steer_angle: Degrees
    radius: float
    max_brake_torque: float
    max_handbrake_torque: float
    lat_stiff_max_load: float
    lat_stiff_value: float
    long_stiff_value: float
    position: Vector


@dataclass(frozen=True)
class PhysicsControl:
    """A vehicle's physics."""

    torque_curve: tuple[Point, ...]
    max_rpm: float
    moi: float
    damping_rate_full_throttle: float
    damping_rate_zero_throttle_clutch_engaged: float
    damping_rate_zero_throttle_clutch_disengaged: float
    use_gear_autobox: bool
    gear_switch_time: float
    clutch_strength: float
    final_ratio: float
    forward_gears: tuple[Gear, ...]
    mass: float
    drag_coefficient: float
    center_of_mass: Vector
    steering_curve: tuple[Point, ...]
    wheels: tuple[Wheel, ...]
    use_sweep_wheel_collision: bool


@dataclass(frozen=True)
class WheelTelemetry:
    """How a wheel is doing."""

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


@dataclass(frozen=True)
class Telemetry:
    """How a vehicle is doing."""

    speed: float
    steer: float
    throttle: float
    brake: float
    engine_rpm: float
    gear: int
    drag: float
    wheels: tuple[WheelTelemetry, ...]
