"""Numbers and arguments that make no sense, and what must not become of them."""

from __future__ import annotations

import inspect
import math
import random

import carla
import pytest

from harness.carlite import calls
from tests.carlite.raw import assert_finite, call, in_order, populate, rpc
from tests.conftest import Carlite

NONSENSE = [math.nan, math.inf, -math.inf, 1e300]


@pytest.mark.thorough
@pytest.mark.parametrize("bad", NONSENSE)
def test_nonsense_numbers_do_not_spread(target: Carlite, bad: float) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    library = world.get_blueprint_library()
    one, other = world.get_map().get_spawn_points()[:2]
    car = world.spawn_actor(library.find("vehicle.tesla.model3"), one)
    bystander = world.spawn_actor(library.find("vehicle.tesla.model3"), other)
    walker = world.spawn_actor(
        library.find("walker.pedestrian.0001"), carla.Transform(one.location + carla.Location(z=5))
    )
    world.tick()
    vector = carla.Vector3D(bad, bad, bad)
    point = carla.Location(bad, bad, bad)
    pose = carla.Transform(point, carla.Rotation(bad, bad, bad))
    car.apply_control(carla.VehicleControl(throttle=bad, steer=bad, brake=bad))
    world.tick()
    car.apply_control(carla.VehicleControl())
    car.apply_ackermann_control(carla.VehicleAckermannControl(bad, bad, bad, bad, bad))
    car.set_target_velocity(vector)
    car.set_target_angular_velocity(vector)
    car.enable_constant_velocity(vector)
    car.disable_constant_velocity()
    car.add_impulse(vector)
    car.add_force(vector)
    car.add_torque(vector)
    world.tick()
    car.set_transform(pose)
    car.set_location(point)
    walker.apply_control(carla.WalkerControl(vector, bad, True))
    physics = car.get_physics_control()
    physics.mass = bad
    physics.torque_curve = [carla.Vector2D(bad, bad)]
    with pytest.raises(RuntimeError):
        world.spawn_actor(library.find("vehicle.audi.tt"), pose)
    car.apply_physics_control(physics)
    client.apply_batch_sync(
        [carla.command.ApplyTransform(car, pose), carla.command.ApplyWalkerState(walker, pose, bad)]
    )
    for _ in range(5):
        world.tick()
    assert_finite(world)
    assert bystander.get_location().distance(other.location) < 2.0
    assert car.is_alive
    world.apply_settings(carla.WorldSettings())


LARGEST = 1e9
"""The largest number that is not refused."""
LARGEST_TURN = 1e15
"""Likewise of torques and their impulses, whose unit is small."""


@pytest.mark.thorough
def test_no_push_is_too_hard(target: Carlite) -> None:
    """However hard a client pushes, a tick comes to an end and everything is somewhere."""
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    library = world.get_blueprint_library()
    points = world.get_map().get_spawn_points()
    cars = [world.spawn_actor(library.find("vehicle.tesla.model3"), p) for p in points[:7]]
    walker = world.spawn_actor(library.find("walker.pedestrian.0001"), points[7])
    world.tick()
    along = carla.Vector3D(LARGEST, LARGEST, 0.0)
    up = carla.Vector3D(0.0, 0.0, LARGEST)
    cars[0].set_target_velocity(along)
    cars[1].set_target_angular_velocity(up)
    cars[2].enable_constant_velocity(along)
    cars[3].add_impulse(along)
    turn = carla.Vector3D(0.0, 0.0, LARGEST_TURN)
    cars[4].add_angular_impulse(turn)
    for _ in range(100):
        cars[5].add_force(along)
        cars[6].add_torque(turn)
    for _ in range(3):
        state = carla.command.ApplyWalkerState(walker, points[7], LARGEST)
        assert not client.apply_batch_sync([state])[0].error
        world.tick()
    assert_finite(world)
    assert max(car.get_velocity().length() for car in cars) < 1e5
    world.apply_settings(carla.WorldSettings())


def number(rng: random.Random) -> object:
    """Return some number, often that of an actor that exists."""
    whole = [rng.randrange(150), -1, 2**31, 2**32 - 1, 2**63, -(2**63), 2**64 - 1]
    broken = [0.5, -1.5, 1e308, *NONSENSE]
    return rng.choice(whole if rng.random() < 0.6 else broken)


def anything(rng: random.Random, depth: int = 0) -> object:
    """Return some value msgpack can carry, often one that almost makes sense."""
    vector = [rng.uniform(-100, 100) for _ in range(3)]
    likely: list[object] = [
        rng.randrange(150),
        number(rng),
        [number(rng) for _ in range(rng.choice([2, 3, 5, 7, 11, 14]))],
        vector,
        [vector, [number(rng) for _ in range(3)]],
        [0, "vehicle.tesla.model3", [["color", 5, "1,2,3"]]],
        [rng.random() < 0.5, vector],
        rng.random() < 0.5,
        None,
        rng.choice(["", "Town05", "vehicle.tesla.model3", "../../etc/passwd", "\0" * 9]),
        rng.randbytes(rng.randrange(40)),
        {str(rng.randrange(9)): "x"},
    ]
    if depth < 4 and rng.random() < 0.3:
        return [anything(rng, depth + 1) for _ in range(rng.choice([0, 1, 2, 3, 7, 11, 14]))]
    return rng.choice(likely)


@pytest.mark.thorough
def test_every_call_survives_any_arguments(target: Carlite) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    populate(world)
    table = calls.build_call_table()
    assert len(table) > 80
    rng = random.Random(11)
    with rpc(target) as connection:
        for name in sorted(table):
            wanted = len(inspect.signature(table[name].run).parameters) - 2
            for _ in range(40):
                count = wanted if rng.random() < 0.9 else rng.randrange(5)
                call(connection, name, *(anything(rng) for _ in range(count)))
    assert "Traceback" not in target.log()
    fresh = target.client()
    fresh.get_world().tick()
    assert_finite(fresh.get_world())
    fresh.reload_world()
    in_order(target, fresh)
