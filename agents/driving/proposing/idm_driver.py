"""A driver in the manner of PDM-Closed: proposes, forecasts, scores, and takes the best.

Source: D. Dauner, M. Hallgarten, A. Geiger, K. Chitta: Parting with Misconceptions about
Learning-based Vehicle Motion Planning, CoRL 2023, by its published code. It shares tracks, lights,
pedals and steering with the default driver, and nothing of its planning.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from agents.driving.control import PedalControl, compute_steering
from agents.driving.driver import WAYPOINTS
from agents.driving.path import RoutePath
from agents.driving.planner import SpeedPlan
from agents.driving.proposing.forecast import forecast_boxes
from agents.driving.proposing.proposals import (
    DriveProposals,
    find_proposal_leaders,
    unroll_proposals,
)
from agents.driving.proposing.scoring import ProposalScores, score_proposals
from agents.driving.proposing.settings import ProposalSettings
from agents.driving.right_of_way import WORTH_MOVING
from agents.driving.rules import find_light_stop
from agents.driving.settings import DrivingSettings
from agents.driving.sidestep import OVER_THE_LINE
from agents.driving.speed import compute_reachable_speeds, compute_road_speed
from agents.driving.tracking import RoadUserTracker, RoadUserTracks
from harness.types.drivers import RouteDriver
from harness.types.vocabulary import Boxes, Control, EgoObservation, Floats, LightAhead, Route


class IdmDriver(RouteDriver):
    """Drives one route at a time by the best of its proposals."""

    safe_from_file = True

    def __init__(
        self,
        settings: ProposalSettings | None = None,  # those of PDM-Closed; null: as published
    ) -> None:
        self._settings = settings = settings or ProposalSettings()
        self._rules = make_road_rules(settings)
        steps = round(settings.horizon / settings.step)
        self._times: Floats = np.linspace(0.0, steps * settings.step, steps + 1)
        self.planned_xy: Floats = np.zeros((0, 2))

    def scale_speed(self, factor: float) -> None:
        """Cruise at this share of the speed so far, from the next reset on."""
        speed = factor * self._settings.cruise_speed
        self._settings = replace(self._settings, cruise_speed=speed)
        self._rules = make_road_rules(self._settings)

    def reset(self, route: Route) -> None:
        """Start a route.

        Args:
            route: a row for each metre, in the world frame.
        """
        settings = self._settings
        self._path = RoutePath(route)
        road = compute_road_speed(self._path, self._rules)
        self._allowed = compute_reachable_speeds(road, route.station, 0.5 * settings.braking)
        # parallel paths, as far aside as the lane allows
        most = 0.5 * route.lane_width - 0.5 * settings.car.width + OVER_THE_LINE
        self._offsets = np.array(settings.offsets)
        room = np.maximum(most, 0.0)
        self._parallel = [
            self._path.shift_right(np.clip(offset, -room, room)) if offset else self._path
            for offset in settings.offsets
        ]
        self._pedals = PedalControl(settings.car)
        self._tracker = RoadUserTracker()
        self._station = 0.0
        self.planned_xy = np.zeros((0, 2))

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
        along, aside = self._path.locate_points(here, self._station)
        self._station = float(along[0])
        # the best proposal
        start = (self._station, speed, float(aside[0]))
        proposals, scores = self._propose(start, tracks, observation.lights)
        best = int(scores.score.argmax())
        plan = make_speed_plan(proposals, scores, best, self._settings)
        path = self._parallel[proposals.row[best]]
        self.planned_xy = path.interpolate_points(plan.stations[1 : 1 + WAYPOINTS])[0]
        # pedals from the plan, steering from the path
        throttle, brake = self._pedals.compute_pedals(plan, speed)
        offset = float(path.locate_points(here, self._station)[1][0])
        wheel = compute_steering(
            path,
            pose,
            station=self._station,
            offset=offset,
            speed=speed,
            car=self._settings.car,
        )
        return Control(throttle=throttle, steer=wheel, brake=brake)

    def _propose(
        self,
        start: tuple[float, float, float],
        tracks: RoadUserTracks,
        lights: tuple[LightAhead, ...],
    ) -> tuple[DriveProposals, ProposalScores]:
        """Return all proposals from a station, a speed and an offset, and their scores."""
        settings, path = self._settings, self._path
        stop = find_light_stop(lights, start[0], start[1], self._rules).stop
        forecast = forecast_boxes(tracks, path, ego_station=start[0], times=self._times)
        line = np.inf if stop is None else stop.station + 0.5 * settings.car.length
        leaders = find_proposal_leaders(
            forecast,
            self._offsets,
            half_width=0.5 * settings.car.width,
            stop=line + settings.minimum_gap,
        )
        proposals = unroll_proposals(
            path,
            self._allowed,
            start=start,
            leaders=leaders,
            offsets=self._offsets,
            settings=settings,
        )
        scores = score_proposals(
            path, proposals, forecast=forecast, times=self._times, settings=settings
        )
        return proposals, scores


def make_speed_plan(
    proposals: DriveProposals, scores: ProposalScores, best: int, settings: ProposalSettings
) -> SpeedPlan:
    """Return the plan of a proposal, or hard braking where even that one soon collides.

    Source: PDM-Closed's `pdm_emergency_brake.py`.

    Args:
        proposals: all of them.
        scores: of all of them.
        best: which to drive.
        settings: times and rates.
    """
    speed, stations = proposals.speed[best], proposals.station[best]
    stays = float(np.ptp(stations)) < WORTH_MOVING
    soon = scores.collision[best] <= settings.emergency_time
    if soon and speed[0] <= settings.emergency_speed:
        later = max(float(speed[0]) - settings.emergency_braking * settings.step, 0.0)
        standing = np.full_like(stations, stations[0])
        return SpeedPlan(
            acceleration=-settings.emergency_braking,
            speed=later,
            stays=True,
            stations=standing,
            speeds=0.0 * speed,
        )
    acceleration = float(speed[1] - speed[0]) / settings.step
    return SpeedPlan(
        acceleration=acceleration,
        speed=float(speed[1]),
        stays=stays,
        stations=stations,
        speeds=speed,
    )


def make_road_rules(settings: ProposalSettings) -> DrivingSettings:
    """Return what decides speeds of the road and stops at lights, as the default driver's do."""
    return DrivingSettings(
        cruise_speed=settings.cruise_speed,
        sideways=settings.sideways,
        comfort_braking=settings.braking,
        yellow_braking=settings.braking,
        car=settings.car,
    )
