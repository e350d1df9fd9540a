"""An ego for tests of hazards: keeps to its route and its speed, and brakes on command."""

from __future__ import annotations

import math
from collections.abc import Callable

import carla
import numpy as np

from harness.types.vocabulary import Pose
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.hazards.courses import make_course
from harness.world.hazards.hazard import Hazard
from harness.world.hazards.nominal import ACCELERATION, NominalDrive
from harness.world.hazards.track import Track, to_raised_transform

SPEED, BRAKING = 8.0, 6.5


class ScriptedEgo:
    """A car led along the route; `closest` is the least distance between it and others' bodies."""

    def __init__(self, context: AttemptContext, speed: float = SPEED) -> None:
        self.context, self.wanted, self.speed, self.distance = context, speed, 0.0, 0.0
        self.nominal = NominalDrive(context.route)
        track = Track(context.map, context.route)
        car = context.world.get_blueprint_library().find("vehicle.lincoln.mkz_2017")
        car.set_attribute("role_name", "hero")
        actor = context.world.spawn_actor(car, to_raised_transform(track.pose(0.0), 0.3))
        assert isinstance(actor, carla.Vehicle)
        self.actor, self.course = actor, make_course(context.route.xyz, 30.0, acceleration=1e9)
        self.hits: list[str] = []
        bell = context.world.get_blueprint_library().find("sensor.other.collision")
        sensor = context.world.spawn_actor(bell, carla.Transform(), attach_to=actor)
        assert isinstance(sensor, carla.Sensor)
        self.sensor = sensor
        sensor.listen(lambda event: self.hits.append(event.other_actor.type_id))
        while actor.get_location() == carla.Location():
            context.world.tick()

    def __enter__(self) -> ScriptedEgo:
        return self

    def __exit__(self, *_: object) -> None:
        self.sensor.stop()
        self.sensor.destroy()
        self.actor.destroy()

    def state(self) -> EgoState:
        """Return the state after a tick."""
        snapshot = self.context.world.get_snapshot()
        here, moving = self.actor.get_transform(), self.actor.get_velocity()
        pose = Pose(
            here.location.x, here.location.y, here.location.z, math.radians(here.rotation.yaw)
        )
        time = snapshot.timestamp.elapsed_seconds
        speed = math.hypot(moving.x, moving.y)
        return EgoState(
            frame=snapshot.frame,
            time=time,
            vehicle_in_world=pose,
            speed=speed,
            station=self.distance,
        )

    def drive(self, brake: bool) -> None:
        """Set the velocity for the next tick."""
        dt = self.context.tick_seconds
        change = (-BRAKING if brake else ACCELERATION) * dt
        stations, allowed = self.context.route.station, self.nominal.allowed
        bend = float(np.interp(self.distance, stations, allowed))
        self.speed = min(max(self.speed + change, 0.0), self.wanted, bend)
        self.distance += self.speed * dt
        place, yaw = self.course.interpolate_poses(self.distance)
        here = self.actor.get_transform()
        x = self.speed * math.cos(yaw) + 2.0 * (place[0] - here.location.x) * (self.speed > 0.0)
        y = self.speed * math.sin(yaw) + 2.0 * (place[1] - here.location.y) * (self.speed > 0.0)
        turn = (float(yaw) - math.radians(here.rotation.yaw) + math.pi) % (2 * math.pi) - math.pi
        self.actor.apply_control(carla.VehicleControl(brake=0.0 if self.speed else 1.0))
        self.actor.set_target_velocity(carla.Vector3D(x, y, self.actor.get_velocity().z))
        self.actor.set_target_angular_velocity(carla.Vector3D(0, 0, math.degrees(8.0 * turn)))


def run(
    context: AttemptContext,
    hazard: Hazard,
    brakes: Callable[[ScriptedEgo], bool],
    seconds: float = 60.0,
) -> ScriptedEgo:
    """Drive past a hazard until it is over or time is up; the ego's hits are the result."""
    hazard.place_in_world(context)
    with ScriptedEgo(context) as ego:
        for _ in range(round(seconds / context.tick_seconds)):
            ego.drive(brakes(ego))
            context.world.tick()
            hazard.step_hazard(ego.state())
            if ego.hits or hazard.status in {"over", "not_run"}:
                break
            if ego.distance > context.route.length - 8.0:
                break
        context.world.tick()
    return ego
