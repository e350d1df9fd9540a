"""The driver: from detections, route and traffic lights to throttle, brake and steering.

Its input is the route, the ego's believed pose and speed, and the lights on the route; all that it
knows of other road users comes from the boxes of successive steps, and from what others say that
they plan, where they send it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from agents.driving.control import PedalControl, compute_steering
from agents.driving.intended_motion import make_planned_motion, place_intentions
from agents.driving.path import RoutePath
from agents.driving.planner import SpeedPlanner
from agents.driving.settings import DrivingSettings
from agents.driving.sidestep import shift_path_aside
from agents.driving.tracking import RoadUserTracker
from harness.types.drivers import RouteDriver
from harness.types.intentions import Precedence
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    Floats,
    PlannedMotion,
    Route,
)

WAYPOINTS = 10
"""Places of a plan that other agents may receive, one planning step apart; V2Xverse's are ten."""


class Driver(RouteDriver):
    """Drives one route at a time; the default driver of every system under test.

    Attributes:
        planned_xy: (up to 10, 2) metres in the world; empty before the first step.
        planned: what it plans since its last step, its times those of observations, s.
        precedences: who went first in the last step, of the ego and each vehicle in conflict.
    """

    safe_from_file = True
    planned: PlannedMotion | None = None
    precedences: tuple[Precedence, ...] = ()

    def __init__(
        self,
        settings: DrivingSettings | None = None,  # speeds, gaps and braking; null: the defaults
    ) -> None:
        self._settings = settings or DrivingSettings()

    def scale_speed(self, factor: float) -> None:
        """Cruise at this share of the speed so far, from the next reset on."""
        speed = factor * self._settings.cruise_speed
        self._settings = replace(self._settings, cruise_speed=speed)

    def reset(self, route: Route) -> None:
        """Start a route.

        Args:
            route: a row for each metre, in the world frame.
        """
        self._path = RoutePath(route)
        self._planner = SpeedPlanner(self._path, self._settings)
        self._pedals = PedalControl(self._settings.car)
        self._tracker = RoadUserTracker()
        self._station = 0.0
        self.planned_xy: Floats = np.zeros((0, 2))
        """Where the ego plans to be after each of the next planning steps, in the world."""
        self.planned, self.precedences = None, ()

    def step(self, observation: EgoObservation, detections_in_lidar: Boxes) -> Control:
        """Return the control until the next step.

        Args:
            observation: of the ego, with its true pose.
            detections_in_lidar: in the ego's LiDAR frame, metres and radians.

        Returns:
            Throttle, brake and steering.
        """
        pose, speed = observation.vehicle_in_world, observation.speed
        tracks = self._tracker.track_detections(observation, detections_in_lidar)
        # where the ego is along the route, near where it was before
        here = np.array([[pose.x, pose.y]])
        self._station = float(self._path.locate_points(here, self._station)[0][0])
        # a path past what stands close to it, and the speed along that path
        path = shift_path_aside(self._path, tracks, self._station, self._settings.car)
        plan = self._planner.plan_speed(
            path,
            self._station,
            speed=speed,
            tracks=tracks,
            lights=observation.lights,
            name=observation.sender,
            intentions=place_intentions(observation),
        )
        self.precedences = plan.precedences
        self.planned = make_planned_motion(
            path,
            plan.stations,
            plan.speeds,
            times=observation.time + self._planner.times,
            car=self._settings.car,
        )
        self.planned_xy = path.interpolate_points(plan.stations[1 : 1 + WAYPOINTS])[0]
        # pedals from the plan, steering from the path
        throttle, brake = self._pedals.compute_pedals(plan, speed)
        offset = float(path.locate_points(here, self._station)[1][0])
        wheel = compute_steering(
            path, pose, station=self._station, offset=offset, speed=speed, car=self._settings.car
        )
        return Control(throttle=throttle, steer=wheel, brake=brake)
