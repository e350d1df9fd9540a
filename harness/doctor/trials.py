"""What a server does: bodies it gives to actors, sensors' frames, how far a car brakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

import carla
import numpy as np

from harness.doctor.facts import Section, Value, round_metres, wrap_degrees

EGO = "vehicle.tesla.model3"
PHYSICS = (EGO, "vehicle.carlamotors.firetruck", "vehicle.bh.crossbike", "vehicle.kawasaki.ninja")
NUMBERS = (
    "mass",
    "drag_coefficient",
    "max_rpm",
    "moi",
    "final_ratio",
    "gear_switch_time",
    "damping_rate_full_throttle",
)
WHEEL = ("tire_friction", "max_steer_angle", "radius", "max_brake_torque", "max_handbrake_torque")
STRAIGHT = 80
"""Metres of lane ahead to drive and brake on."""
SPEED, STANDING = 10.0, 0.1
"""m/s"""
LIDAR = {
    "channels": "32",
    "range": "50",
    "points_per_second": "300000",
    "rotation_frequency": "20",
    "upper_fov": "10",
    "lower_fov": "-30",
}
CALM = {"dropoff_general_rate": "0", "dropoff_intensity_limit": "1", "dropoff_zero_intensity": "0"}
SEMANTIC = np.dtype([("xyz", "<f4", 3), ("cos", "<f4"), ("actor", "<u4"), ("tag", "<u4")])
GNSS_PLACES = {
    "the origin": carla.Location(z=50.0),
    "x 200 m": carla.Location(x=200.0, z=50.0),
    "y 200 m": carla.Location(y=200.0, z=50.0),
}
MOUNT = carla.Transform(carla.Location(x=0.5, z=2.4), carla.Rotation(yaw=-90.0))
AHEAD = 12.0
"""Metres to the car that a LiDAR is shown."""
SWEEPS = 5
PATIENCE = 30.0
LONGEST = 400
"""Ticks after which a vehicle that has not stopped never will."""


def measure_bodies(world: carla.World, kind: str) -> Section:
    """Spawn each model of a kind, one after another; return the sizes of their boxes."""
    facts: Section = {}
    for blueprint in world.get_blueprint_library().filter(kind):
        with spawn_actor_briefly(world, blueprint) as actor:
            if actor is None:
                facts[blueprint.id] = {"spawned": False}
                continue
            box = actor.bounding_box
            extent, centre = round_metres(box.extent), round_metres(box.location)
            facts[blueprint.id] = {
                "spawned": True,
                **{f"extent {axis}": value for axis, value in extent.items()},
                **{f"centre {axis}": value for axis, value in centre.items()},
                "zero extents": 0.0 in extent.values(),
            }
    return facts


def collect_physics(world: carla.World) -> Section:
    """Return the engine and wheel parameters of a few vehicles."""
    facts: Section = {}
    for name in PHYSICS:
        with spawn_actor_briefly(world, world.get_blueprint_library().find(name)) as actor:
            if actor is None:
                continue
            control = actor.get_physics_control()
            centre = round_metres(control.center_of_mass)
            facts[name] = {
                **{number: getattr(control, number) for number in NUMBERS},
                "gears": len(control.forward_gears),
                "wheels": len(control.wheels),
                "torque at most": max((point.y for point in control.torque_curve), default=0.0),
                **{f"front {number}": getattr(control.wheels[0], number) for number in WHEEL},
                **{f"rear {number}": getattr(control.wheels[-1], number) for number in WHEEL},
                **{f"centre of mass {axis}": value for axis, value in centre.items()},
            }
    return facts


def measure_lidar(world: carla.World) -> Section:
    """Sweep a car ahead with LiDARs that look to the left; return frames and points."""
    library = world.get_blueprint_library()
    place = find_straight_spawn(world)
    ahead = carla.Transform(place.transform(carla.Location(x=AHEAD)), place.rotation)
    with (
        spawn_actor_briefly(world, library.find(EGO), place) as ego,
        spawn_actor_briefly(world, library.find(EGO), ahead) as other,
    ):
        if ego is None or other is None:
            return {}
        return {
            kind: collect_sweeps(
                world, configure_blueprint(library.find(kind), LIDAR | CALM), ego, other
            )
            for kind in ("sensor.lidar.ray_cast", "sensor.lidar.ray_cast_semantic")
        }


def collect_sweeps(
    world: carla.World, blueprint: carla.ActorBlueprint, ego: carla.Actor, other: carla.Actor
) -> dict[str, Value]:
    """Return what some sweeps come to."""
    # one tick for the sensor to be there, then the sweeps that are counted
    with attach_sensor(world, blueprint, MOUNT, ego) as read:
        world.tick()
        frames = [world.tick() for _ in range(SWEEPS)]
        data = [read(frame) for frame in frames]
    last = data[-1]
    if last is None:
        return {"sweeps": 0}
    # angles in degrees, against the car's
    turned = last.transform.rotation.yaw - ego.get_transform().rotation.yaw
    on_time = sum(e is not None and e.frame == at for e, at in zip(data, frames, strict=True))
    facts: dict[str, Value] = {
        "sweeps with their tick's frame": on_time,
        "points a turn": len(last),
        "channels": last.channels,
        "yaw on the car": round(wrap_degrees(turned)),
    }
    # (points of the car ahead, 3): their mean says where the sensor's x points
    if blueprint.id.endswith("semantic"):
        points = np.frombuffer(last.raw_data, SEMANTIC)
        seen = points["xyz"][points["actor"] == other.id]
        x, y, _ = seen.mean(0).tolist() if len(seen) else (0.0, 0.0, 0.0)
        facts["bearing of a car ahead"] = round(math.degrees(math.atan2(y, x)))
        facts["points on a car ahead"] = len(seen)
        facts["points on itself"] = int((points["actor"] == ego.id).sum())
    return facts


def measure_gnss(world: carla.World) -> Section:
    """Return the positions of sensors at three places by GNSS, and by the map."""
    blueprint = world.get_blueprint_library().find("sensor.other.gnss")
    town = world.get_map()
    facts: Section = {}
    for name, place in GNSS_PLACES.items():
        with attach_sensor(world, blueprint, carla.Transform(place)) as read:
            world.tick()
            data = read(world.tick())
        on_map = town.transform_to_geolocation(place)
        facts[f"map at {name}"] = {"latitude": on_map.latitude, "longitude": on_map.longitude}
        if data is not None:
            position = {"latitude": data.latitude, "longitude": data.longitude}
            facts[f"sensor at {name}"] = {**position, "altitude": data.altitude}
    return facts


def measure_driving(world: carla.World) -> Section:
    """Return how far a car brakes from 10 m/s, and how far it comes in five seconds."""
    place = find_straight_spawn(world)
    blueprint = world.get_blueprint_library().find(EGO)
    # five seconds of full throttle, at 20 ticks a second
    with spawn_actor_briefly(world, blueprint, place) as car:
        if car is None:
            return {}
        settle_car(world, car)
        started = car.get_location()
        car.apply_control(carla.VehicleControl(throttle=1.0))
        for _ in range(100):
            world.tick()
        came = started.distance(car.get_location())
        reached = car.get_velocity().length()
    # then full brake from a given speed
    with spawn_actor_briefly(world, blueprint, place) as car:
        if car is None:
            return {}
        settle_car(world, car)
        car.set_target_velocity(place.get_forward_vector() * SPEED)
        world.tick()
        at, speed = car.get_location(), car.get_velocity().length()
        car.apply_control(carla.VehicleControl(brake=1.0))
        ticks = 0
        while car.get_velocity().length() > STANDING and ticks < LONGEST:
            world.tick()
            ticks += 1
        return {
            "full throttle for 5 s": {"metres": came, "m/s": reached},
            "full brake": {
                "from m/s": speed,
                "metres": at.distance(car.get_location()),
                "ticks": ticks,
            },
        }


def settle_car(world: carla.World, car: carla.Actor) -> None:
    """Let a car come to rest on its wheels, with its gear in."""
    car.apply_control(carla.VehicleControl(brake=1.0))
    for _ in range(20):
        world.tick()


def find_straight_spawn(world: carla.World) -> carla.Transform:
    """Return the spawn point with the straightest lane ahead, and no junction on it."""
    town = world.get_map()
    points = sorted(
        town.get_spawn_points(),
        key=lambda get_spawn_point: (get_spawn_point.location.x, get_spawn_point.location.y),
    )
    return min(points, key=lambda point: measure_bend(town, point))


def measure_bend(town: carla.Map, point: carla.Transform) -> float:
    """Return how far the lane strays from a straight way ahead, m; junctions count as far."""
    lane = town.get_waypoint(point.location)
    worst = 0.0
    for distance in range(10, STRAIGHT + 1, 10):
        ahead = lane.next(float(distance))
        if len(ahead) != 1 or ahead[0].is_junction:
            return math.inf
        straight = point.transform(carla.Location(x=float(distance)))
        worst = max(worst, straight.distance_2d(ahead[0].transform.location))
    return round(worst, 1)


@contextmanager
def spawn_actor_briefly(
    world: carla.World, blueprint: carla.ActorBlueprint, place: carla.Transform | None = None
) -> Iterator[carla.Actor | None]:
    """Have an actor while the block lasts: at a place, or at the first spawn point with room."""
    places = [place] if place else world.get_map().get_spawn_points()[:20]
    actor = next(filter(None, (world.try_spawn_actor(blueprint, place) for place in places)), None)
    world.tick()
    try:
        yield actor
    finally:
        if actor is not None:
            actor.destroy()
            world.tick()


@contextmanager
def attach_sensor(
    world: carla.World,
    blueprint: carla.ActorBlueprint,
    place: carla.Transform,
    carrier: carla.Actor | None = None,
) -> Iterator[Callable[[int], carla.SensorData | None]]:
    """Have a sensor; what is lent returns its data from a frame on, or nothing in the end."""
    waiting: SimpleQueue[carla.SensorData] = SimpleQueue()
    sensor = world.spawn_actor(blueprint, place, carrier)
    sensor.listen(waiting.put)

    def read(frame: int) -> carla.SensorData | None:
        try:
            while (data := waiting.get(timeout=PATIENCE)).frame < frame:
                pass
        except Empty:
            return None
        return data

    try:
        yield read
    finally:
        sensor.stop()
        sensor.destroy()


def configure_blueprint(
    blueprint: carla.ActorBlueprint, settings: dict[str, str]
) -> carla.ActorBlueprint:
    """Return a blueprint with those settings that it knows."""
    for name, value in settings.items():
        if blueprint.has_attribute(name):
            blueprint.set_attribute(name, value)
    return blueprint
