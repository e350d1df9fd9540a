"""A driver that uses the client's API alone: lanes, lights, and who is ahead."""

from __future__ import annotations

import math
from collections.abc import Callable

import carla
import numpy as np

HOLDING = 0.4
"""Throttle that holds a speed about town: the engine's drag is great."""

LOOKAHEAD, LOOKAHEAD_TIME = 3.0, 0.4
JUNCTION_SPEED, BEND_SPEED = 6.0, 4.0
JUNCTION_SIGHT, BEND_SIGHT, CAR_SIGHT = 15, 10, 30
BEND = math.radians(20.0)
FIRM, GAP = 6.0, 4.0

Choose = Callable[[list[carla.Waypoint]], carla.Waypoint]


def walk(start: carla.Waypoint, metres: int, choose: Choose) -> list[carla.Waypoint]:
    """Follow the lanes from a waypoint, one every metre; `choose` picks the way at a fork."""
    way = [start]
    while len(way) <= metres:
        way.append(choose(way[-1].next(1.0)))
    return way


def turning(branch: carla.Waypoint) -> float:
    """Return by how many degrees a branch turns in its next ten metres; right is positive."""
    ahead = branch.next(10.0)[0].transform.rotation.yaw
    return float((ahead - branch.transform.rotation.yaw + 180.0) % 360.0 - 180.0)


def leftmost(branches: list[carla.Waypoint]) -> carla.Waypoint:
    return min(branches, key=turning)


def rightmost(branches: list[carla.Waypoint]) -> carla.Waypoint:
    return max(branches, key=turning)


class Follower:
    """Keeps to a way at a steady speed; a careful one stops for red and behind others.

    Attributes:
        done: metres of the way that lie behind. waited: whether it ever stood at a light.
        held_back: for how many ticks a vehicle ahead was slower.
    """

    def __init__(
        self, car: carla.Vehicle, way: list[carla.Waypoint], cruise: float, careful: bool = True
    ) -> None:
        self.car, self.cruise, self.careful = car, cruise, careful
        self.done = 0
        self.held_back = 0
        self.waited = False
        self._way = way
        self._points = np.array([[p.transform.location.x, p.transform.location.y] for p in way])
        self._yaw = np.unwrap(np.radians([p.transform.rotation.yaw for p in way]))
        self._junction = np.array([p.is_junction for p in way])
        wheels = car.get_physics_control().wheels
        self._lock = math.radians(wheels[0].max_steer_angle)
        self._wheelbase = wheels[0].position.distance(wheels[2].position) / 100.0
        self._width = wheels[0].position.distance(wheels[1].position) / 100.0
        box = car.bounding_box
        self._nose = box.location.x + box.extent.x
        self._others = [
            (other, other.bounding_box.extent)
            for other in car.get_world().get_actors().filter("vehicle.*")
            if other.id != car.id
        ]

    @property
    def arrived(self) -> bool:
        return self.done >= len(self._way) - 2

    def drive(self) -> None:
        """Look, and set the controls for the next tick."""
        pose, speed = self.car.get_transform(), self.car.get_velocity().length()
        here = np.array([pose.location.x, pose.location.y])
        near = self._points[self.done : self.done + 10]
        self.done += int(np.linalg.norm(near - here, axis=1).argmin())
        target = self._calm_speed()
        if self.careful:
            behind = self._speed_behind()
            self.held_back += behind < target
            target = min(target, behind)
            if self._must_stop(speed):
                target = 0.0
        wish = 2.0 * (target - speed)
        self.car.apply_control(
            carla.VehicleControl(
                throttle=min(max(HOLDING + wish / 5.0, 0.0), 0.8) if target > 0.0 else 0.0,
                brake=1.0 if target == 0.0 else min(max(-wish / 7.0, 0.0), 1.0),
                steer=self._steer(pose, speed),
            )
        )

    def _calm_speed(self) -> float:
        """Return the cruising speed, less before junctions and bends."""
        ahead = self._yaw[self.done : self.done + BEND_SIGHT]
        if np.ptp(ahead) > BEND:
            return min(self.cruise, BEND_SPEED)
        if self._junction[self.done : self.done + JUNCTION_SIGHT].any():
            return min(self.cruise, JUNCTION_SPEED)
        return self.cruise

    def _must_stop(self, speed: float) -> bool:
        """Whether the light we are at wants us to stop, and we still can."""
        if not self.car.is_at_traffic_light():
            return False
        if self.car.get_traffic_light_state() == carla.TrafficLightState.Green:
            return False
        nose = self.car.get_transform().transform(carla.Location(self._nose))
        stops = self.car.get_traffic_light().get_stop_waypoints()
        room = min(nose.distance_2d(stop.transform.location) for stop in stops)
        can_stop = speed**2 / (2.0 * FIRM) < room
        self.waited |= can_stop and speed < 0.1
        return bool(can_stop)

    def _speed_behind(self) -> float:
        """Return a speed that leaves room behind what stands or drives on our way."""
        stretch = self._points[self.done : self.done + CAR_SIGHT]
        fastest = math.inf
        for other, size in self._others:
            place = other.get_location()
            away = np.linalg.norm(stretch - [place.x, place.y], axis=1)
            if away.min() > size.y + 1.5:
                continue
            gap = float(away.argmin()) - size.x - self._nose
            room = gap - GAP
            moving = other.get_velocity().length()
            fastest = min(fastest, moving + room / 2.0 if room > 0 else 0.0)
        return max(fastest, 0.0)

    def _steer(self, pose: carla.Transform, speed: float) -> float:
        """Pursue a point ahead on the way from the rear axle."""
        yaw = math.radians(pose.rotation.yaw)
        forward = np.array([math.cos(yaw), math.sin(yaw)])
        rear = np.array([pose.location.x, pose.location.y]) - 0.5 * self._wheelbase * forward
        reach = 0.5 * self._wheelbase + LOOKAHEAD + LOOKAHEAD_TIME * speed
        ahead = self._points[self.done :]
        beyond = np.flatnonzero(np.linalg.norm(ahead - rear, axis=1) > reach)
        to_target = ahead[beyond[0] if len(beyond) else -1] - rear
        angle = math.atan2(to_target[1], to_target[0]) - yaw
        bend = 2.0 * math.sin(angle) / float(np.linalg.norm(to_target))
        inner = math.atan(self._wheelbase * bend / max(1.0 - 0.5 * self._width * abs(bend), 0.2))
        return min(max(inner / self._lock, -1.0), 1.0)
