"""From a plan to throttle, brake and steering."""

from __future__ import annotations

import math

import numpy as np

from agents.driving.path import RoutePath
from agents.driving.planner import SpeedPlan
from agents.driving.settings import EgoVehicleModel
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Pose

HOLD_BRAKE = 0.5
"""Brake while standing."""

INTEGRAL_GAIN, MAX_INTEGRAL = 0.3, 3.0
"""1/s, at each step, on the speed error; m/s² that the integral may add."""

FIRM_BRAKING = 4.0
"""m/s² of planned braking from which the brake is used, in addition to the engine's drag."""

HEADING_GAIN, OFFSET_GAIN, PREVIEW = 0.9, 1.0, 0.2
"""Steering angle per heading error; 1/s on the offset; seconds of preview."""


class PedalControl:
    """Speed control: feed-forward, and an integral of the speed error."""

    def __init__(self, car: EgoVehicleModel) -> None:
        self._car = car
        self._integral, self._firm = 0.0, False
        self._expected: float | None = None

    def compute_pedals(self, plan: SpeedPlan, speed: float) -> tuple[float, float]:
        """Return throttle and brake.

        Args:
            plan: the chosen speeds.
            speed: of the ego now, m/s.

        Returns:
            Both 0 to 1; one of them is 0.
        """
        # standing: hold, and forget all errors
        if plan.stays and speed < 0.5:
            self._integral, self._expected = 0.0, None
            return 0.0, HOLD_BRAKE
        # firm braking and gentle control have different actuators: errors of one say nothing of the
        # other
        firm = plan.acceleration <= -FIRM_BRAKING
        if firm != self._firm:
            self._firm, self._integral, self._expected = firm, 0.0, None
        # what the last plan expected of this moment, less what came
        if self._expected is not None:
            missed = INTEGRAL_GAIN * (self._expected - speed)
            self._integral = float(np.clip(self._integral + missed, -MAX_INTEGRAL, MAX_INTEGRAL))
        self._expected = plan.speed
        if firm:
            share = -(plan.acceleration + min(self._integral, 0.0)) / self._car.full_brake
            return 0.0, float(np.clip(share, 0.0, 1.0))
        # no less than coasting: the brake is for firm braking
        wish = max(plan.acceleration + self._integral, -self._car.compute_coasting(speed))
        return self._car.compute_pedal_inputs(wish, speed)


def compute_steering(
    path: RoutePath,
    pose: Pose,
    *,
    station: float,
    offset: float,
    speed: float,
    car: EgoVehicleModel,
) -> float:
    """Return the steering input: the path's curvature ahead, heading error and offset.

    The car's centre is kept on the path: in a bend the body points outward of the tangent.

    Args:
        path: the one that is followed.
        pose: the vehicle in the world.
        station: metres along the path, of the vehicle.
        offset: metres right of the path.
        speed: m/s.
        car: turns wheel angles into steering input.

    Returns:
        -1 (left) to 1.
    """
    # curvature a moment ahead; the heading that is wanted now
    ahead = station + PREVIEW * speed
    bend = float(path.compute_curvature(np.array(ahead)))
    tangent = float(path.interpolate_points(np.array(ahead))[1]) - bend * PREVIEW * speed
    off_course = wrap_angle(tangent - float(car.compute_slip(np.array(bend))) - pose.yaw)
    # the offset is steered back more gently the faster the car is
    back = math.atan(OFFSET_GAIN * offset / (speed + 2.0))
    angle = math.atan(car.wheelbase * bend) + HEADING_GAIN * off_course - back
    return car.compute_steering_input(angle, speed)
