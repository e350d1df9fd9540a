"""The car and the manners of its driver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class Car:
    """What the driver knows of the vehicle it sits in; by default a Lincoln MKZ 2017."""

    length: float = 4.90  # m
    width: float = 2.13  # m, mirrors included
    wheelbase: float = 2.85  # m
    wheel_lock: float = math.radians(34.5)  # at standstill
    full_throttle: float = 4.4  # m/s² at town speeds
    full_brake: float = 9.0  # m/s² beyond what rolling costs
    rolling: float = 0.5  # m/s² lost with both pedals up

    def lock_at(self, speed: float) -> float:
        """Return how far the wheels turn at this speed: CARLA turns them less the faster it is."""
        share = np.interp(3.6 * speed, (0.0, 20.0, 60.0, 120.0), (1.0, 0.9, 0.8, 0.7))
        return float(self.wheel_lock * share)


@dataclass(frozen=True, slots=True)
class DrivingSettings:
    """How the driver likes to drive."""

    cruise_speed: float = 8.0  # m/s
    sideways: float = 2.5  # m/s² in bends
    acceleration: float = 2.0  # m/s²
    comfort_braking: float = 2.0  # m/s²
    yellow_braking: float = 4.0  # m/s²: what stopping for a yellow light may cost
    hardest_braking: float = 7.5  # m/s²
    headway: float = 1.2  # s behind a leader
    standing_gap: float = 3.0  # m behind someone who stands
    line_gap: float = 1.5  # m between bumper and stop line
    horizon: float = 4.8  # s
    step: float = 0.2  # s between two plans, and between two moments of a plan
    car: Car = field(default_factory=Car)
