"""Watches a drive from outside: who was hit, which stop lines were crossed, and on what colour."""

from __future__ import annotations

import carla
import numpy as np


class Judge:
    """Follows one car with a collision sensor and an eye on every stop line of the town."""

    def __init__(self, world: carla.World, car: carla.Vehicle) -> None:
        self.collisions: list[str] = []
        self.entries: list[carla.TrafficLightState] = []
        self._car = car
        self._nose = car.bounding_box.location.x + car.bounding_box.extent.x
        lights = world.get_actors().filter("traffic.traffic_light")
        stops = [(light, stop) for light in lights for stop in light.get_stop_waypoints()]
        self._lights = [light for light, _ in stops]
        poses = [stop.transform for _, stop in stops]
        self._places = np.array([[p.location.x, p.location.y] for p in poses])
        ways = [pose.get_forward_vector() for pose in poses]
        self._ways = np.array([[way.x, way.y] for way in ways])
        self._half = np.array([stop.lane_width / 2.0 for _, stop in stops])
        self._before = np.zeros(len(stops), np.bool_)
        blueprint = world.get_blueprint_library().find("sensor.other.collision")
        self._bumper = world.spawn_actor(blueprint, carla.Transform(), attach_to=car)
        assert isinstance(self._bumper, carla.Sensor)
        self._bumper.listen(lambda event: self.collisions.append(event.other_actor.type_id))

    def lines_on(self, way: list[carla.Waypoint]) -> int:
        """Return how many stop lines lie across a way."""
        points = np.array([[p.transform.location.x, p.transform.location.y] for p in way])
        away = np.linalg.norm(points[:, None] - self._places, axis=2)
        return int((away.min(axis=0) < 1.0).sum())

    def look(self) -> None:
        """Note every stop line that the car's nose has crossed since the last look."""
        nose = self._car.get_transform().transform(carla.Location(self._nose))
        off = np.array([nose.x, nose.y]) - self._places
        ahead = (off * self._ways).sum(axis=1)
        aside = np.abs(off[:, 0] * self._ways[:, 1] - off[:, 1] * self._ways[:, 0])
        inside = (aside < self._half) & (np.abs(ahead) < 3.0)
        before = inside & (ahead < 0.0)
        for line in np.flatnonzero(self._before & inside & ~before):
            self.entries.append(self._lights[line].get_state())
        self._before = before

    def leave(self) -> None:
        """Take the sensor off."""
        self._bumper.destroy()
