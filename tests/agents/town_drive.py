"""A drive through a town of carlite's with the real client: traffic around, truth as detections."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import carla
import numpy as np

from agents.driving.driver import Driver
from agents.driving.tracking import WORLD
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    EgoObservation,
    LightAhead,
    LightState,
    Pose,
    Route,
)

TICKS_PER_LOOK = 4
RANGE = 85.0
STATES: dict[carla.TrafficLightState, LightState] = {
    carla.TrafficLightState.Red: "red",
    carla.TrafficLightState.Yellow: "yellow",
    carla.TrafficLightState.Green: "green",
}


@dataclass(kw_only=True)
class Outcome:
    """What became of a drive."""

    station: float = 0.0
    seconds: float = 0.0
    collisions: list[tuple[float, str, float]] = field(default_factory=list)
    farthest_off: float = 0.0
    reds_run: int = 0


class TownDrive:
    """The ego on a route, with all other actors in the world."""

    def __init__(self, world: carla.World, route: Route, driver: Driver) -> None:
        self.world, self.route, self.driver = world, route, driver
        self.outcome = Outcome()
        blueprints = world.get_blueprint_library()
        x, y, z = route.xyz[0]
        start = carla.Transform(
            carla.Location(x, y, z + 0.3), carla.Rotation(yaw=math.degrees(route.yaw[0]))
        )
        self.ego = world.spawn_actor(blueprints.find("vehicle.lincoln.mkz_2017"), start)
        self.bump = world.spawn_actor(
            blueprints.find("sensor.other.collision"), carla.Transform(), attach_to=self.ego
        )
        self.bump.listen(self._bumped)
        world.tick()
        self._lights = lights_on(world, route)
        self._kinds = {
            actor.id: (kind_of(actor), actor.bounding_box)
            for pattern in ("vehicle.*", "walker.pedestrian.*")
            for actor in world.get_actors().filter(pattern)
            if actor.id != self.ego.id
        }
        driver.reset(route)

    def run(self, seconds: float) -> Outcome:
        """Drive until the goal, a collision or the end of the time."""
        ticks = round(seconds / 0.05)
        for tick in range(ticks):
            snapshot = self.world.get_snapshot()
            if tick % TICKS_PER_LOOK == 0:
                wish = self.driver.step(*self.look(snapshot))
                self.ego.apply_control(
                    carla.VehicleControl(throttle=wish.throttle, steer=wish.steer, brake=wish.brake)
                )
            self.world.tick()
            self.outcome.seconds = 0.05 * tick
            if self.outcome.collisions or self.outcome.station > self.route.length - 5.0:
                break
        return self.outcome

    def look(self, snapshot: carla.WorldSnapshot) -> tuple[EgoObservation, Boxes]:
        """Return the driver's observation, and the boxes of all others within range."""
        seen = snapshot.find(self.ego.id)
        at, velocity = seen.get_transform(), seen.get_velocity()
        vehicle = Pose(at.location.x, at.location.y, at.location.z, math.radians(at.rotation.yaw))
        c, s = math.cos(vehicle.yaw), math.sin(vehicle.yaw)
        lidar = Pose(vehicle.x + 1.3 * c, vehicle.y + 1.3 * s, vehicle.z + 1.85, vehicle.yaw)
        away = self.route.xyz[:, :2] - (vehicle.x, vehicle.y)
        gap = np.hypot(*away.T)
        near = np.abs(self.route.station - self.outcome.station) < 20.0
        place = int(np.argmin(np.where(near, gap, np.inf)))
        before = self.outcome.station
        self.outcome.station = float(self.route.station[place])
        self.outcome.farthest_off = max(self.outcome.farthest_off, float(gap[place]))
        lights = tuple(
            LightAhead(station, clear, STATES[light.get_state()])
            for station, clear, light in self._lights
        )
        self.outcome.reds_run += sum(
            light.state == "red" and before + 2.5 < light.station <= self.outcome.station + 2.5
            for light in lights
        )
        observation = EgoObservation(
            sender="ego",
            kind="ego",
            frame=snapshot.frame,
            time=snapshot.timestamp.elapsed_seconds,
            lidar_in_world=lidar,
            points_in_lidar=np.zeros((0, 4), np.float32),
            lidar_in_vehicle=Pose(1.3, 0.0, 1.85),
            vehicle_in_world=vehicle,
            speed=math.hypot(velocity.x, velocity.y),
            lights=lights,
        )
        return observation, transform_boxes(self._others(snapshot, vehicle), WORLD, lidar)

    def _others(self, snapshot: carla.WorldSnapshot, ego: Pose) -> Boxes:
        rows, kinds = [], []
        for actor_id, (kind, box) in self._kinds.items():
            seen = snapshot.find(actor_id)
            if seen is None:
                continue
            pose = seen.get_transform()
            if math.hypot(pose.location.x - ego.x, pose.location.y - ego.y) > RANGE:
                continue
            centre = carla.Location(box.location)
            pose.transform(centre)
            size = (2 * box.extent.x, 2 * box.extent.y, 2 * box.extent.z)
            yaw = math.radians(pose.rotation.yaw)
            rows.append([centre.x, centre.y, centre.z, *size, yaw])
            kinds.append(kind)
        if not rows:
            return Boxes.none()
        return Boxes(np.array(rows), np.array(kinds), np.ones(len(kinds)))

    def _bumped(self, event: carla.CollisionEvent) -> None:
        velocity = self.ego.get_velocity()
        speed = math.hypot(velocity.x, velocity.y)
        self.outcome.collisions.append((event.timestamp, event.other_actor.type_id, speed))


def kind_of(actor: carla.Actor) -> int:
    """Return the class of an actor."""
    if actor.type_id.startswith("walker"):
        return PEDESTRIAN
    two_wheeled = actor.attributes.get("base_type") in {"bicycle", "motorcycle"}
    return CYCLIST if two_wheeled else VEHICLE


def lights_on(world: carla.World, route: Route) -> list[tuple[float, float, carla.TrafficLight]]:
    """Return the lights whose stop lines cross a route: line, end of the junction, light."""
    result = []
    for light in world.get_actors().filter("traffic.traffic_light"):
        for stop in light.get_stop_waypoints():
            at = stop.transform.location
            gap = np.hypot(*(route.xyz[:, :2] - (at.x, at.y)).T)
            place = int(gap.argmin())
            turned = math.radians(stop.transform.rotation.yaw) - route.yaw[place]
            if gap[place] < 1.5 and math.cos(turned) > 0.7:
                inside = route.in_junction[place:]
                enters = int(np.argmax(inside))
                leaves = enters + int(np.argmin(np.append(inside[enters:], False)))
                clear = float(route.station[min(place + leaves, len(route.station) - 1)])
                result.append((float(route.station[place]), clear, light))
    return result
