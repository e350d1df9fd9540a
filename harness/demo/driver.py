"""A driver in a page: keeps to a way, slows for bends, heeds red lights and others."""

from __future__ import annotations

import math

import carla
import numpy as np
from numpy.typing import NDArray

COMFORT = 2.5
SIDEWAYS = 2.0
WHEELBASE = 2.9
SIGHT = 40.0
HASTE = 2.0
EGO_WIDTH, EGO_LENGTH = 1.1, 2.4
ELBOW_ROOM = 0.3
DISTANCE = 2.5


class Driver:
    """Follows a way, keeps to its limits, stops for red and behind others."""

    def __init__(self, world: carla.World, car: carla.Actor, way: list[carla.Waypoint]) -> None:
        self._world, self._car = world, car
        self._way = np.array([[p.transform.location.x, p.transform.location.y] for p in way])
        steps = np.linalg.norm(np.diff(self._way, axis=0), axis=1)
        self._station = np.concatenate([[0.0], np.cumsum(steps)])
        self._allowed = self._speeds()
        self._lock = math.radians(car.get_physics_control().wheels[0].max_steer_angle)
        self._stops = self._find_stops()
        self._others = {
            other.id: other.bounding_box.extent
            for other in world.get_actors().filter("vehicle.*")
            if other.id != car.id
        }
        self._nearest = 0
        ahead = np.gradient(self._way, axis=0)
        self._ahead = ahead / np.linalg.norm(ahead, axis=1, keepdims=True)
        self.offset = 0.0
        self.held_by_light = False

    @property
    def lights(self) -> int:
        """How many traffic lights stand on the way."""
        return len(self._stops)

    @property
    def length(self) -> float:
        """Metres from start to finish."""
        return float(self._station[-1])

    @property
    def done(self) -> float:
        """Metres of the way that lie behind."""
        return float(self._station[self._nearest])

    def drive(self) -> carla.VehicleControl:
        """Return the control until the next tick."""
        pose, velocity = self._car.get_transform(), self._car.get_velocity()
        speed = math.hypot(velocity.x, velocity.y)
        here = np.array([pose.location.x, pose.location.y])
        self._locate(here)
        limit = min(self._allowed[self._nearest], self._car.get_speed_limit() / 3.6)
        target = min(limit, self._red_ahead(speed), self._car_ahead())
        wish = (target - speed) / 0.5
        return carla.VehicleControl(
            throttle=float(np.clip(wish / 4.0, 0.0, 0.8)),
            brake=float(np.clip(-wish / 7.0, 0.0, 1.0)),
            steer=self._steer(here, math.radians(pose.rotation.yaw), speed),
        )

    def _speeds(self) -> NDArray[np.float64]:
        """Return how fast each point may be passed, with a view to the bends around it."""
        reach = 3
        heading = np.unwrap(np.arctan2(*np.gradient(self._way, axis=0).T[::-1]))
        bend = np.abs(heading[2 * reach :] - heading[: -2 * reach]) / (2.0 * reach)
        bend = np.pad(bend, reach, mode="edge")
        allowed: NDArray[np.float64] = np.sqrt(SIDEWAYS / np.maximum(bend, 1e-3))
        gain = 2 * COMFORT * np.diff(self._station)
        for i in range(1, len(allowed)):
            allowed[i] = min(allowed[i], math.sqrt(allowed[i - 1] ** 2 + gain[i - 1]))
        for i in range(len(allowed) - 2, -1, -1):
            allowed[i] = min(allowed[i], math.sqrt(allowed[i + 1] ** 2 + gain[i]))
        return allowed

    def _find_stops(self) -> list[tuple[float, carla.TrafficLight]]:
        """Return where on the way which light may want us to stop."""
        stops = []
        for light in self._world.get_actors().filter("traffic.traffic_light"):
            for stop in light.get_stop_waypoints():
                at = stop.transform.location
                away = np.linalg.norm(self._way - [at.x, at.y], axis=1)
                if away.min() < 1.0:
                    stops.append((float(self._station[away.argmin()]), light))
        return stops

    def _locate(self, here: NDArray[np.float64]) -> None:
        near = self._way[self._nearest : self._nearest + 20]
        self._nearest += int(np.linalg.norm(near - here, axis=1).argmin())
        ahead, aside = self._ahead[self._nearest], here - self._way[self._nearest]
        self.offset = float(ahead[0] * aside[1] - ahead[1] * aside[0])

    def _steer(self, here: NDArray[np.float64], yaw: float, speed: float) -> float:
        """Turn the wheels along the way under the front axle, and a little towards it."""
        front = here + 0.5 * WHEELBASE * np.array([math.cos(yaw), math.sin(yaw)])
        near = self._way[self._nearest : self._nearest + 6]
        at = self._nearest + int(np.linalg.norm(near - front, axis=1).argmin())
        ahead, aside = self._ahead[at], front - self._way[at]
        off = ahead[0] * aside[1] - ahead[1] * aside[0]
        turn = (math.atan2(ahead[1], ahead[0]) - yaw + math.pi) % math.tau - math.pi
        wheel = turn - math.atan(HASTE * off / (1.0 + speed))
        return float(np.clip(wheel / self._lock, -1.0, 1.0))

    def _red_ahead(self, speed: float) -> float:
        """Return how fast we may go with a view to the next red or yellow light."""
        self.held_by_light = False
        fastest = math.inf
        for station, light in self._stops:
            room = station - self.done - 3.0
            wants_stop = light.state in {
                carla.TrafficLightState.Red,
                carla.TrafficLightState.Yellow,
            }
            if wants_stop and -2.0 < room < SIGHT and speed**2 < 2 * 6.0 * max(room, 0.1) + 1.0:
                fastest = min(fastest, math.sqrt(2 * COMFORT * max(room, 0.0)))
                self.held_by_light |= speed < 0.1
        return fastest

    def _car_ahead(self) -> float:
        """Return the speed limit that vehicles ahead impose."""
        snapshot = self._world.get_snapshot()
        stretch = slice(self._nearest, self._nearest + int(SIGHT))
        fastest = math.inf
        for actor_id, extent in self._others.items():
            seen = snapshot.find(actor_id)
            if seen is None:
                continue
            pose, velocity = seen.get_transform(), seen.get_velocity()
            half, ahead = extent.x, pose.get_forward_vector()
            centre, nose = (
                np.array([pose.location.x, pose.location.y]),
                np.array([ahead.x, ahead.y]),
            )
            spine = [centre - half * nose, centre, centre + half * nose]
            away = np.linalg.norm(self._way[stretch, None] - spine, axis=2).min(axis=1)
            near = np.flatnonzero(away < EGO_WIDTH + extent.y + ELBOW_ROOM)
            if len(near):
                gap = float(self._station[stretch][near[0]]) - self.done - EGO_LENGTH - DISTANCE
                ours = self._ahead[stretch][near[0]]
                speed = max(velocity.x * ours[0] + velocity.y * ours[1], 0.0)
                fastest = min(fastest, math.sqrt(max(speed**2 + 2 * COMFORT * gap, 0.0)))
        return fastest
