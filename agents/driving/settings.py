"""The vehicle model and the settings of the driver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from harness.types import ego_body
from harness.types.vocabulary import Floats

Curve: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EgoVehicleModel:
    """The driver's model of the ego vehicle; by default CARLA's Lincoln MKZ."""

    length: float = ego_body.LENGTH  # m
    width: float = ego_body.WIDTH  # m, mirrors included
    wheelbase: float = 2.86  # m
    track: float = 1.59  # m between the front wheels
    wheel_lock: float = math.radians(70.0)  # of the inner wheel at standstill
    mass: float = 1736.0  # kg, with the inertia of the wheels
    engine_inertia: float = 1.0  # kg m²; its effect is larger in low gears
    torque: Curve = ((105.0, 360.0), (157.0, 540.0), (209.0, 630.0), (293.0, 700.0))  # rad/s, N m
    levers: tuple[float, ...] = (41.4, 26.8, 17.3, 13.1, 9.0, 6.7)  # rad of engine per metre
    upshift: float = 270.0  # rad/s near which the gearbox shifts up
    closed_drag: float = 1.67  # N m per rad/s with the throttle closed, through the clutch
    open_drag: float = 0.15  # N m per rad/s at full throttle
    full_brake: float = 5.2  # m/s² in addition to the engine's drag

    def compute_wheel_lock(self, speed: float) -> float:
        """Return how far the inner wheel turns: CARLA turns it less the faster the car is."""
        share = np.interp(3.6 * speed, (0.0, 20.0, 60.0, 120.0), (1.0, 0.9, 0.8, 0.7))
        return float(self.wheel_lock * share)

    def compute_slip(self, bend: Floats) -> Floats:
        """Return the angle between body and path in a bend that the centre follows."""
        return np.arcsin(np.clip(0.5 * self.wheelbase * bend, -0.9, 0.9))

    def compute_steering_input(self, angle: float, speed: float) -> float:
        """Return the steering input at which the middle of the front axle turns by this angle.

        Args:
            angle: radians, right positive.
            speed: m/s.

        Returns:
            -1 (left) to 1.
        """
        slope = math.tan(abs(angle))
        room = max(self.wheelbase - 0.5 * self.track * slope, 0.1 * self.wheelbase)
        inner = math.copysign(math.atan(self.wheelbase * slope / room), angle)
        return float(np.clip(inner / self.compute_wheel_lock(speed), -1.0, 1.0))

    def compute_wheel_angle(self, steer: float, speed: float) -> float:
        """Return the angle midway between the front wheels at a steering input.

        Args:
            steer: -1 (left) to 1.
            speed: m/s.

        Returns:
            Radians, right positive.
        """
        slope = math.tan(abs(steer) * self.compute_wheel_lock(speed))
        away = self.wheelbase + 0.5 * self.track * slope
        return math.copysign(math.atan(self.wheelbase * slope / away), steer)

    def compute_pedal_inputs(self, acceleration: float, speed: float) -> tuple[float, float]:
        """Return throttle and brake for an acceleration; braking gently still needs throttle.

        Args:
            acceleration: m/s², negative to brake.
            speed: m/s.

        Returns:
            Both 0 to 1.
        """
        # torque at the engine for this acceleration, over what the throttle can give
        engine, lever = self._find_engine_state(speed)
        wanted = (
            self._compute_effective_mass(lever) * acceleration / lever + self.closed_drag * engine
        )
        throttle = wanted / self._compute_throttle_torque(engine)
        if throttle >= 0.0:
            return min(throttle, 1.0), 0.0
        # no throttle is too much: the brake adds what the engine's drag lacks
        short = -self._compute_effective_mass(lever) * (acceleration + self.compute_coasting(speed))
        return 0.0, min(short / (self.mass * self.full_brake), 1.0)

    def compute_acceleration(self, throttle: float, brake: float, speed: float) -> float:
        """Return the acceleration for throttle and brake: the inverse of `compute_pedal_inputs`.

        Args:
            throttle: 0 to 1.
            brake: 0 to 1.
            speed: m/s.

        Returns:
            m/s².
        """
        engine, lever = self._find_engine_state(speed)
        pull = (
            throttle * self._compute_throttle_torque(engine) * lever
            - self.mass * self.full_brake * brake
        )
        return pull / self._compute_effective_mass(lever) - self.compute_coasting(speed)

    def compute_coasting(self, speed: float) -> float:
        """Return the deceleration without throttle and brake."""
        engine, lever = self._find_engine_state(speed)
        return self.closed_drag * engine * lever / self._compute_effective_mass(lever)

    def _compute_throttle_torque(self, engine: float) -> float:
        """Return the torque between a closed and an open throttle."""
        speeds, torques = np.array(self.torque).T
        torque = float(np.interp(engine, speeds, torques))
        return torque + (self.closed_drag - self.open_drag) * engine

    def _compute_effective_mass(self, lever: float) -> float:
        return self.mass + self.engine_inertia * lever**2

    def _find_engine_state(self, speed: float) -> tuple[float, float]:
        """Return the engine's speed and its radians per metre, in the likely gear."""
        lever = next(
            (lever for lever in self.levers if lever * speed < self.upshift), self.levers[-1]
        )
        return lever * speed, lever


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivingSettings:
    """Speeds, accelerations and distances of the driver."""

    safe_from_file = True
    cruise_speed: float = 8.0  # m/s
    sideways: float = 2.5  # m/s² in bends
    acceleration: float = 2.0  # m/s²
    comfort_braking: float = 2.0  # m/s²
    yellow_braking: float = 4.0  # m/s² at most to stop for a yellow light
    hardest_braking: float = 7.0  # m/s²
    headway: float = 1.2  # s behind a leader
    standing_gap: float = 3.0  # m behind a standing leader
    line_gap: float = 1.5  # m between bumper and stop line
    horizon: float = 4.8  # s
    step: float = 0.2  # s between two plans, and between two times of a plan
    car: EgoVehicleModel = field(
        default_factory=EgoVehicleModel
    )  # body and pedals of the vehicle that is driven
