"""Inertial unit, positioning and obstacle detector on a driving car, through the client."""

from __future__ import annotations

import math
from collections.abc import Iterator
from queue import Queue
from typing import Any

import carla
import numpy as np
import pytest

TICK = 0.05


@pytest.fixture
def car(world: carla.World) -> Iterator[carla.Vehicle]:
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    car = world.spawn_actor(blueprint, world.get_map().get_spawn_points()[0])
    for _ in range(40):
        world.tick()
    yield car
    car.destroy()
    world.tick()


def attach(
    car: carla.Vehicle, kind: str, place: carla.Transform, **attributes: str
) -> tuple[carla.Sensor, Queue[Any]]:
    world = car.get_world()
    blueprint = world.get_blueprint_library().find(f"sensor.other.{kind}")
    for name, value in attributes.items():
        blueprint.set_attribute(name, value)
    sensor = world.spawn_actor(blueprint, place, attach_to=car)
    frames: Queue[Any] = Queue()
    sensor.listen(frames.put)
    world.tick()
    return sensor, frames


def next_frame(world: carla.World, frames: Queue[Any]) -> Any:
    frame = world.tick()
    while True:
        data = frames.get(timeout=60.0)
        if data.frame == frame:
            return data


def test_standing_car_feels_only_gravity(world: carla.World, car: carla.Vehicle) -> None:
    sensor, frames = attach(car, "imu", carla.Transform())
    felt = next_frame(world, frames)
    assert felt.accelerometer.z == pytest.approx(9.81, abs=0.05)
    assert math.hypot(felt.accelerometer.x, felt.accelerometer.y) < 0.3
    assert felt.gyroscope.length() < 0.01
    yaw = math.radians(car.get_transform().rotation.yaw)
    assert math.cos(felt.compass - yaw - math.pi / 2) == pytest.approx(1.0, abs=1e-4)
    sensor.destroy()


@pytest.mark.thorough
@pytest.mark.parametrize("steer", [0.1, -0.1])
def test_turning_car_feels_its_turn(world: carla.World, car: carla.Vehicle, steer: float) -> None:
    sensor, frames = attach(car, "imu", carla.Transform())
    car.apply_control(carla.VehicleControl(throttle=0.4))
    pushed = [next_frame(world, frames).accelerometer.x for _ in range(30)]
    assert np.mean(pushed) > 0.5
    car.apply_control(carla.VehicleControl(throttle=0.3, steer=steer))
    for _ in range(20):
        world.tick()
    felt = [next_frame(world, frames) for _ in range(10)]
    before = car.get_transform().rotation.yaw
    felt += [next_frame(world, frames) for _ in range(10)]
    turned = math.radians((car.get_transform().rotation.yaw - before + 180) % 360 - 180) / (
        10 * TICK
    )
    rate = np.mean([f.gyroscope.z for f in felt[10:]])
    assert rate == pytest.approx(turned, rel=0.05)
    assert math.copysign(1.0, rate) == math.copysign(1.0, steer)
    speed = car.get_velocity().length()
    sideways = np.mean([f.accelerometer.y for f in felt[10:]])
    assert sideways == pytest.approx(speed * rate, rel=0.35)
    sensor.destroy()


def test_position_is_where_the_map_says(world: carla.World, car: carla.Vehicle) -> None:
    sensor, frames = attach(car, "gnss", carla.Transform(carla.Location(x=1.0, z=2.0)))
    car.apply_control(carla.VehicleControl(throttle=0.6))
    for _ in range(20):
        measured = next_frame(world, frames)
        truth = world.get_map().transform_to_geolocation(sensor.get_transform().location)
        assert measured.latitude == pytest.approx(truth.latitude, abs=1e-9)
        assert measured.longitude == pytest.approx(truth.longitude, abs=1e-9)
        assert measured.altitude == pytest.approx(truth.altitude, abs=1e-5)
    sensor.destroy()


def test_obstacle_ahead_is_named(world: carla.World, car: carla.Vehicle) -> None:
    ahead = car.get_transform()
    ahead.location += ahead.get_forward_vector() * 12.0 + carla.Location(z=0.3)
    blueprint = world.get_blueprint_library().find("vehicle.carlamotors.carlacola")
    truck = world.spawn_actor(blueprint, ahead)
    for _ in range(20):
        world.tick()
    place = carla.Transform(carla.Location(x=2.4, z=1.0))
    sensor, frames = attach(car, "obstacle", place, distance="20", only_dynamics="true")
    measured = next_frame(world, frames)
    assert measured.actor.id in (car.id, sensor.id)
    assert measured.other_actor.id == truck.id
    gap = 12.0 - truck.bounding_box.extent.x - 2.4 - 0.5
    assert measured.distance == pytest.approx(gap, abs=0.4)
    truck.destroy()
    sensor.destroy()
