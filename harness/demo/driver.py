"""A driver in a page: pure pursuit, slow bends, respect for red lights and for others."""

from __future__ import annotations

import math

import carla
import numpy as np
from numpy.typing import NDArray

COMFORT = 2.5
SIDEWAYS = 2.0
WHEELBASE = 2.9
SIGHT = 40.0


class Driver:
    """Follows a way, keeps to its limits, stops for red and behind others."""

    def __init__(self, world: carla.World, car: carla.Actor, way: list[carla.Waypoint]) -> None:
        self._world, self._car = world, car
        self._way = np.array([[p.transform.location.x, p.transform.location.y] for p in way])
        steps = np.linalg.norm(np.diff(self._way, axis=0), axis=1)
        self._station = np.concatenate([[0.0], np.cumsum(steps)])
        self._allowed = self._speeds(car.get_speed_limit() / 3.6)
        self._lock = math.radians(car.get_physics_control().wheels[0].max_steer_angle)
        self._stops = self._find_stops()
        self._nearest = 0
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
        """Look, and say what to do until the next tick."""
        pose, velocity = self._car.get_transform(), self._car.get_velocity()
        speed = math.hypot(velocity.x, velocity.y)
        here = np.array([pose.location.x, pose.location.y])
        self._locate(here)
        target = min(self._allowed[self._nearest], self._red_ahead(speed), self._car_ahead())
        wish = (target - speed) / 0.5
        return carla.VehicleControl(
            throttle=float(np.clip(wish / 4.0, 0.0, 0.8)),
            brake=float(np.clip(-wish / 7.0, 0.0, 1.0)),
            steer=self._steer(here, math.radians(pose.rotation.yaw), speed),
        )

    def _speeds(self, limit: float) -> NDArray[np.float64]:
        """Return how fast each point may be passed: the limit, the bends, and braking for them."""
        reach = 3
        heading = np.unwrap(np.arctan2(*np.gradient(self._way, axis=0).T[::-1]))
        bend = np.abs(heading[2 * reach :] - heading[: -2 * reach]) / (2.0 * reach)
        bend = np.pad(bend, reach, mode="edge")
        allowed: NDArray[np.float64] = np.minimum(limit, np.sqrt(SIDEWAYS / np.maximum(bend, 1e-3)))
        for i in range(len(allowed) - 2, -1, -1):
            step = self._station[i + 1] - self._station[i]
            allowed[i] = min(allowed[i], math.sqrt(allowed[i + 1] ** 2 + 2 * COMFORT * step))
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
        ahead = self._way[self._nearest : self._nearest + 20]
        self._nearest += int(np.linalg.norm(ahead - here, axis=1).argmin())
        a, b = (
            self._way[max(self._nearest - 1, 0)],
            self._way[min(self._nearest + 1, len(self._way) - 1)],
        )
        along = (b - a) / np.linalg.norm(b - a)
        self.offset = float(along[0] * (here - a)[1] - along[1] * (here - a)[0])

    def _steer(self, here: NDArray[np.float64], yaw: float, speed: float) -> float:
        rear = here - 0.5 * WHEELBASE * np.array([math.cos(yaw), math.sin(yaw)])
        sight = 3.5 + 0.35 * speed
        seen = int(np.searchsorted(self._station, self.done + sight))
        goal = self._way[min(seen, len(self._way) - 1)]
        angle = math.atan2(goal[1] - rear[1], goal[0] - rear[0]) - yaw
        distance = float(np.linalg.norm(goal - rear))
        wheel = math.atan2(2.0 * WHEELBASE * math.sin(angle), distance)
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
        """Return how fast we may go with a view to whoever is in our way."""
        snapshot = self._world.get_snapshot()
        stretch = slice(self._nearest, self._nearest + int(SIGHT))
        fastest = math.inf
        for other in self._world.get_actors().filter("vehicle.*"):
            seen = snapshot.find(other.id)
            if other.id == self._car.id or seen is None:
                continue
            at, velocity = seen.get_transform().location, seen.get_velocity()
            away = np.linalg.norm(self._way[stretch] - [at.x, at.y], axis=1)
            if away.min() < 1.8:
                gap = float(self._station[stretch][away.argmin()]) - self.done - 7.0
                speed = math.hypot(velocity.x, velocity.y)
                fastest = min(fastest, math.sqrt(speed**2 + 2 * COMFORT * max(gap, 0.0)))
                fastest = 0.0 if gap < 0.0 and speed < 1.0 else fastest
        return fastest
