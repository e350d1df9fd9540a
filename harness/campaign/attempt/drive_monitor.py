"""Measures every tick for the evaluation: lane, route, lights and collisions."""

from __future__ import annotations

import math

import carla

from harness.campaign.attempt.closeness import ClosenessMonitor
from harness.evaluation.driving import DriveSample, ReportedCollision
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Pose
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.ego import EgoVehicle
from harness.world.lights import RouteLights
from harness.world.scene import GroundTruthScene
from harness.world.stops import RouteStops


class DriveMonitor:
    """Measures what the evaluation of driving needs, from ground truth."""

    def __init__(
        self, context: AttemptContext, ego: EgoVehicle, lights: RouteLights, stops: RouteStops
    ) -> None:
        self._map = context.map
        self._route = context.route
        self._ego = ego
        self._lights = lights
        self._stops = stops
        self._closeness = ClosenessMonitor(ego.actor.id)
        self._before: carla.WorldSnapshot | None = None
        self._grazing = False  # in the tick before
        self._station = 0.0

    def sample_tick(
        self, state: EgoState, snapshot: carla.WorldSnapshot, scene: GroundTruthScene
    ) -> DriveSample:
        """Return one tick of the drive."""
        # where the ego is on the map, and next to its route
        pose = state.vehicle_in_world
        lane = self._map.get_waypoint(carla.Location(pose.x, pose.y, pose.z))
        centre = lane.transform
        # rows of a route are a metre apart, so a station is its row
        row = int(min(round(state.station), len(self._route.station) - 1))
        goal = self._route.xyz[-1]
        lane_distance, width = measure_nearest_lane(self._map, pose, lane)
        # contacts up to the tick before: those of this tick may be reported late
        contacts = tuple(
            ReportedCollision(
                touch.actor_id, touch.actor_type, touch.relative_speed, touch.ego_speed
            )
            for touch in self._ego.collect_contacts(self._before, grazing=self._grazing)
        )
        sample = DriveSample(
            frame=state.frame,
            time=state.time,
            x=pose.x,
            y=pose.y,
            speed=state.speed,
            station=state.station,
            route_distance=math.dist((pose.x, pose.y), tuple(self._route.xyz[row, :2])),
            goal_distance=math.dist((pose.x, pose.y), tuple(goal[:2])),
            lane_distance=lane_distance,
            lane_width=width,
            lane_angle=wrap_angle(pose.yaw - math.radians(centre.rotation.yaw)),
            in_junction=lane.is_junction,
            red_lights_crossed=self._lights.find_red_crossings(self._station, state.station),
            stop_signs_run=self._stops.find_stop_violations(
                self._station, state.station, state.speed
            ),
            contacts=contacts,
        )
        # a station never goes back: a line is crossed once
        self._before, self._station = snapshot, max(self._station, state.station)
        self._grazing = self._closeness.is_grazing(scene)
        return sample


def measure_nearest_lane(
    town: carla.Map, pose: Pose, driving: carla.Waypoint
) -> tuple[float, float]:
    """Return distance and width of the nearest lane one may be on: driving or parking."""
    place = carla.Location(pose.x, pose.y, pose.z)
    parking = town.get_waypoint(place, lane_type=carla.LaneType.Parking)
    lanes = [
        (measure_lane_distance(pose, lane), lane.lane_width) for lane in (parking, driving) if lane
    ]
    return min(lanes, key=lambda lane: lane[0])


def measure_lane_distance(pose: Pose, lane: carla.Waypoint) -> float:
    """Return the distance to the centre of a lane, m."""
    centre = lane.transform.location
    return math.dist((pose.x, pose.y), (centre.x, centre.y))
