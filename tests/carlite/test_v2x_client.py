"""V2X sensors through the client: what is said, when, at what power, and which sensors hear it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import pairwise
from queue import Queue
from typing import Any

import carla
import pytest

from harness.channel.links.carla_loss import compute_two_ray_loss, compute_winner_loss

TICK = 0.05
PLAIN = {"path_loss_model": "geometric", "scenario": "urban", "use_etsi_fading": "false"}
Cars = tuple[carla.Vehicle, carla.Vehicle]
Frames = Queue[Any]


@pytest.fixture
def cars(world: carla.World) -> Iterator[Cars]:
    """Return two standing cars, 20 m from one another in a lane."""
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    start = world.get_map().get_spawn_points()[0]
    ahead = world.get_map().get_waypoint(start.location).next(20.0)[0].transform
    ahead.location.z += 0.5
    pair = (world.spawn_actor(blueprint, start), world.spawn_actor(blueprint, ahead))
    for _ in range(40):
        world.tick()
    yield pair
    for car in pair:
        car.destroy()
    world.tick()


def attach(car: carla.Vehicle, kind: str, **attributes: str) -> tuple[carla.Sensor, Frames]:
    """Attach a V2X sensor, and listen."""
    world = car.get_world()
    blueprint = world.get_blueprint_library().find(f"sensor.other.{kind}")
    for name, value in {**PLAIN, **attributes}.items():
        blueprint.set_attribute(name, value)
    sensor = world.spawn_actor(blueprint, carla.Transform(), attach_to=car)
    frames: Frames = Queue()
    sensor.listen(frames.put)
    return sensor, frames


def tick(world: carla.World, ticks: int = 1) -> None:
    """Let time pass."""
    for _ in range(ticks):
        world.tick()


def read_all(frames: Frames) -> list[Any]:
    """Return the frames that have arrived, in order."""
    time.sleep(1.0)
    return sorted((frames.get() for _ in range(frames.qsize())), key=lambda event: int(event.frame))


def destroy(*sensors: carla.Sensor) -> None:
    for sensor in sensors:
        sensor.stop()
        sensor.destroy()


def test_a_message_says_what_its_sender_is(world: carla.World, cars: Cars) -> None:
    near, other = cars
    receiver, frames = attach(near, "v2x")
    sender, _ = attach(other, "v2x")
    tick(world, 5)
    (first, *_) = read_all(frames)
    destroy(receiver, sender)
    assert isinstance(first, carla.CAMEvent)
    assert first.get_message_count() == len(first) == 1
    (cam,) = first
    said = cam.get()
    header, message = said["Message"]["Header"], said["Message"]["Message"]
    parameters = message["CAM Parameters"]
    assert (header["Message ID"], header["Station ID"]) == ("CAM", other.id)
    basic, high = parameters["Basic Container"], parameters["High Frequency Container"]
    assert "car" in basic["Station Type"].lower()
    place = world.get_map().transform_to_geolocation(other.get_location())
    position = basic["Reference Position"]
    assert position["Latitude"] == pytest.approx(place.latitude * 1e7, abs=11)
    assert position["Longitude"] == pytest.approx(place.longitude * 1e7, abs=11)
    fields = high["Basic Vehicle Container High Frequency"]
    heading = (other.get_transform().rotation.yaw + 90.0) % 360.0
    assert fields["Heading"]["Value"] == pytest.approx(10 * heading, abs=1)
    length = 20 * other.bounding_box.extent.x
    assert str(round(length)) in str(fields["Vehicle Length"])
    # the power is that of two rays over flat ground
    heights = [2 * car.bounding_box.extent.z + 0.02 for car in cars]
    floor = min(car.get_location().z for car in cars)
    over = [
        car.get_location().z - floor + height for car, height in zip(cars, heights, strict=True)
    ]
    flat = near.get_location().distance_2d(other.get_location())
    distance = math.hypot(flat, over[0] - over[1])
    loss = compute_two_ray_loss(distance, 5.9, (over[0], over[1]))
    assert cam.power == pytest.approx(21.5 + 10.0 - loss, abs=0.2)


def test_winner_has_another_loss(world: carla.World, cars: Cars) -> None:
    near, other = cars
    receiver, frames = attach(near, "v2x", path_loss_model="winner", scenario="highway")
    sender, _ = attach(other, "v2x")
    tick(world, 3)
    (first, *_) = read_all(frames)
    destroy(receiver, sender)
    distance = near.get_location().distance(other.get_location())
    loss = compute_winner_loss(distance, 5.9, "highway", "LOS")
    assert first[0].power == pytest.approx(31.5 - loss, abs=0.1)


def test_a_standing_car_speaks_once_a_second_and_a_moving_one_more_often(
    world: carla.World, cars: Cars
) -> None:
    near, other = cars
    receiver, frames = attach(near, "v2x")
    sender, _ = attach(other, "v2x")
    tick(world, 45)
    standing = [event.frame for event in read_all(frames)]
    other.enable_constant_velocity(carla.Vector3D(10.0, 0.0, 0.0))
    tick(world, 30)
    moving = [event.frame for event in read_all(frames)]
    destroy(receiver, sender)
    assert [b - a for a, b in pairwise(standing)] == [20, 20]
    # 0.5 m a tick: more than 4 m after nine ticks, or a turn before
    gaps = [b - a for a, b in pairwise(moving)]
    assert max(gaps) == 9


def test_a_fixed_rate_is_the_shortest_interval(world: carla.World, cars: Cars) -> None:
    receiver, frames = attach(cars[0], "v2x")
    sender, _ = attach(cars[1], "v2x", fixed_rate="true", gen_cam_min="0.2")
    tick(world, 13)
    sent = [event.frame for event in read_all(frames)]
    destroy(receiver, sender)
    assert [b - a for a, b in pairwise(sent)] == [4, 4, 4]


def test_a_custom_text_arrives_once(world: carla.World, cars: Cars) -> None:
    receiver, frames = attach(cars[0], "v2x_custom")
    sender, echo = attach(cars[1], "v2x_custom")
    tick(world)
    sender.send("first")
    sender.send("hazard ahead")
    tick(world, 3)
    (event,) = read_all(frames)
    assert isinstance(event, carla.CustomV2XEvent)
    (message,) = event
    said = message.get()
    assert said["Message"]["Message"] == "hazard ahead"
    assert said["Message"]["Header"]["Station ID"] == cars[1].id
    assert not read_all(echo)
    sender.send("x" * 300)
    tick(world, 2)
    (event,) = read_all(frames)
    assert event[0].get()["Message"]["Message"] == 99 * "x"
    destroy(receiver, sender)


def test_what_is_too_weak_or_too_far_does_not_arrive(world: carla.World, cars: Cars) -> None:
    weak, frames = attach(cars[0], "v2x", receiver_sensitivity="-40")
    close, others = attach(cars[0], "v2x_custom", filter_distance="10")
    senders = [attach(cars[1], kind)[0] for kind in ("v2x", "v2x_custom")]
    tick(world)
    senders[1].send("hello")
    tick(world, 5)
    assert not read_all(frames)
    assert not read_all(others)
    destroy(weak, close, *senders)


def test_a_car_in_between_costs_power(world: carla.World, cars: Cars) -> None:
    receiver, frames = attach(cars[0], "v2x", path_loss_model="winner")
    sender, _ = attach(cars[1], "v2x")
    tick(world, 3)
    (free, *_) = read_all(frames)
    blueprint = world.get_blueprint_library().find("vehicle.carlamotors.carlacola")
    middle = world.get_map().get_waypoint(cars[0].get_location()).next(10.0)[0].transform
    middle.location.z += 0.3
    lorry = world.spawn_actor(blueprint, middle)
    tick(world, 45)
    late = read_all(frames)[-1]
    destroy(receiver, sender)
    lorry.destroy()
    assert late[0].power < free[0].power - 6.0


def test_a_sensor_on_no_vehicle_hears_nothing(world: carla.World, cars: Cars) -> None:
    blueprint = world.get_blueprint_library().find("sensor.other.v2x")
    lonely = world.spawn_actor(blueprint, carla.Transform())
    frames: Frames = Queue()
    lonely.listen(frames.put)
    sender, _ = attach(cars[1], "v2x")
    tick(world, 5)
    assert not read_all(frames)
    destroy(lonely, sender)
