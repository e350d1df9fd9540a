"""Calls that move actors do so, and attached actors stay attached."""

from __future__ import annotations

import math

import carla
import numpy as np
import pytest

from tests.carlite.byte_client import Raw
from tests.carlite.test_replies_actors import MODEL3, floats, pose, spawn
from tests.conftest import Carlite


def settled(world: carla.World, index: int = 0) -> carla.Vehicle:
    """Spawn a car on level ground and let it come to rest on its springs."""
    level = [p for p in world.get_map().get_spawn_points() if abs(p.rotation.pitch) < 0.01]
    car = spawn(world, MODEL3, level[index])
    assert isinstance(car, carla.Vehicle)
    for _ in range(40):
        world.tick()
    return car


def test_an_attached_actor_keeps_its_place(world: carla.World) -> None:
    car = settled(world)
    mount = carla.Transform(carla.Location(0.5, -0.25, 2.0), carla.Rotation(-10, 30, 5))
    sensor = spawn(world, "sensor.other.imu", mount, car)
    nested = spawn(world, "sensor.other.gnss", mount, sensor)
    car.apply_control(carla.VehicleControl(throttle=0.8, steer=0.1))
    for _ in range(40):
        world.tick()
        for parent, child in ((car, sensor), (sensor, nested)):
            wanted = np.array(parent.get_transform().get_matrix()) @ np.array(mount.get_matrix())
            got = np.array(child.get_transform().get_matrix())
            assert np.allclose(got, wanted, atol=2e-4)
    assert car.get_velocity().length() > 3


def test_attached_actors_are_moved_relative_to_their_parent(world: carla.World) -> None:
    car = settled(world)
    sensor = spawn(world, "sensor.other.imu", carla.Transform(carla.Location(z=2)), car)
    sensor.set_transform(carla.Transform(carla.Location(1, 1, 3), carla.Rotation(yaw=90)))
    world.tick()
    where = car.get_transform()
    assert floats(sensor.get_location()) == pytest.approx(
        floats(where.transform(carla.Location(1, 1, 3))), abs=1e-3
    )
    turn = sensor.get_transform().rotation.yaw - where.rotation.yaw
    assert math.cos(math.radians(turn - 90)) == pytest.approx(1, abs=1e-5)
    sensor.set_location(carla.Location(2, 0, 0))
    world.tick()
    assert sensor.get_location().distance(where.transform(carla.Location(2, 0, 0))) < 1e-3
    assert math.cos(math.radians(turn - 90)) == pytest.approx(1, abs=1e-5)


def test_teleporting_keeps_the_velocity(world: carla.World) -> None:
    car = settled(world)
    car.set_target_velocity(car.get_transform().get_forward_vector() * 10)
    world.tick()
    there = world.get_map().get_spawn_points()[5]
    there.rotation.yaw = car.get_transform().rotation.yaw
    car.set_transform(there)
    world.tick()
    assert car.get_velocity().length() == pytest.approx(10, abs=1)
    assert car.get_location().distance_2d(there.location) == pytest.approx(0.5, abs=0.1)


@pytest.mark.thorough
def test_constant_velocity_is_in_the_body_frame(world: carla.World) -> None:
    car = settled(world)
    car.enable_constant_velocity(carla.Vector3D(7, 0, 0))
    for _ in range(20):
        world.tick()
    ahead = car.get_transform().get_forward_vector()
    assert car.get_velocity().dot(ahead) == pytest.approx(7, abs=0.05)
    car.disable_constant_velocity()
    car.apply_control(carla.VehicleControl(brake=1.0))
    for _ in range(60):
        world.tick()
    assert car.get_velocity().length() < 0.05


def test_impulses_and_forces(world: carla.World) -> None:
    car = settled(world)
    mass = car.get_physics_control().mass
    ahead = car.get_transform().get_forward_vector()
    car.add_impulse(ahead * mass * 3)
    world.tick()
    assert car.get_velocity().dot(ahead) == pytest.approx(3, abs=0.3)
    car.set_target_velocity(carla.Vector3D())
    for _ in range(20):
        car.add_force(ahead * mass * 2)
        world.tick()
    assert car.get_velocity().dot(ahead) == pytest.approx(2, abs=0.4)


def test_spinning(world: carla.World) -> None:
    car = settled(world)
    car.set_target_angular_velocity(carla.Vector3D(0, 0, 90))
    world.tick()
    assert car.get_angular_velocity().z > 10
    other = settled(world, 3)
    # 1 kg m² is 10 000 kg cm²
    box, mass = other.bounding_box.extent, other.get_physics_control().mass
    inertia = mass * (box.x**2 + box.y**2) / 3.0 * 1e4
    other.add_angular_impulse(carla.Vector3D(0, 0, 60.0 * inertia))
    world.tick()
    assert 30.0 < other.get_angular_velocity().z < 70.0


def test_without_physics_an_actor_stays_where_it_is_put(world: carla.World) -> None:
    car = settled(world)
    car.set_simulate_physics(False)
    car.apply_control(carla.VehicleControl(throttle=1.0))
    wanted = carla.Transform(carla.Location(5, 6, 70), carla.Rotation(10, 20, 30))
    car.set_transform(wanted)
    for _ in range(10):
        world.tick()
    assert pose(car.get_transform()) == pose(wanted)
    assert car.get_velocity().length() == 0
    car.set_simulate_physics(True)
    for _ in range(10):
        world.tick()
    assert car.get_location().z < 69


@pytest.mark.thorough
def test_the_dead_lie_still_for_ten_seconds(world: carla.World, carlite: Carlite) -> None:
    walker, car = spawn(world, "walker.pedestrian.0001"), settled(world, 1)
    with Raw(carlite) as raw:
        raw.void("set_actor_dead", walker.id)
        with pytest.raises(RuntimeError, match="not a walker"):
            raw.void("set_actor_dead", car.id)
    place = walker.get_location()
    walker.apply_control(carla.WalkerControl(carla.Vector3D(1, 0, 0), 2.0))
    for _ in range(195):
        world.tick()
    assert walker.id in {actor.id for actor in world.get_snapshot()}
    assert walker.get_location().distance(place) < 0.01
    for _ in range(10):
        world.tick()
    assert walker.id not in {actor.id for actor in world.get_snapshot()}


def test_gravity_can_be_switched_off(world: carla.World) -> None:
    car = settled(world)
    car.set_enable_gravity(False)
    high = car.get_transform()
    high.location.z += 20
    car.set_transform(high)
    for _ in range(20):
        world.tick()
    assert car.get_location().z == pytest.approx(high.location.z, abs=0.05)


def test_collisions_can_be_switched_off(world: carla.World) -> None:
    car, ghost = settled(world), settled(world, 5)
    place = car.get_transform()
    ghost.set_collisions(False)
    ghost.set_transform(place)
    for _ in range(20):
        world.tick()
    assert car.get_location().distance(ghost.get_location()) < 0.1
    assert car.get_location().distance(place.location) < 0.1
    ghost.set_collisions(True)
    for _ in range(20):
        world.tick()
    assert car.get_location().distance(ghost.get_location()) > 0.5


def test_nothing_is_spawned_into_something(world: carla.World) -> None:
    blueprint = world.get_blueprint_library().find(MODEL3)
    place = world.get_map().get_spawn_points()[0]
    first = world.spawn_actor(blueprint, place)
    assert world.try_spawn_actor(blueprint, place) is None
    with pytest.raises(RuntimeError, match="collision at spawn position"):
        world.spawn_actor(blueprint, place)
    world.tick()  # until a snapshot has it, the client may believe it dead, and not destroy it
    assert first.destroy()
    assert world.try_spawn_actor(blueprint, place) is not None
    building = world.get_environment_objects(carla.CityObjectLabel.Buildings)[0]
    inside = carla.Transform(building.transform.location, building.transform.rotation)
    assert world.try_spawn_actor(blueprint, inside) is None


@pytest.mark.thorough
def test_ackermann_control_reaches_its_speed_and_stops(world: carla.World) -> None:
    car = settled(world)
    for wanted in (8.0, 3.0, 0.0):
        car.apply_ackermann_control(carla.VehicleAckermannControl(speed=wanted))
        for _ in range(240):
            world.tick()
        assert car.get_velocity().length() == pytest.approx(wanted, abs=0.4)
    car.apply_ackermann_control(carla.VehicleAckermannControl(speed=-2.0))
    for _ in range(240):
        world.tick()
    backwards = -car.get_transform().get_forward_vector().dot(car.get_velocity())
    assert backwards == pytest.approx(2.0, abs=0.4)
    car.apply_control(carla.VehicleControl(brake=1.0))
    for _ in range(40):
        world.tick()
    assert car.get_velocity().length() < 0.05


def test_ackermann_control_steers_at_the_asked_rate(world: carla.World) -> None:
    car = settled(world)
    asked = carla.VehicleAckermannControl(steer=0.4, steer_speed=0.2)
    car.apply_ackermann_control(asked)
    for _ in range(20):
        world.tick()
    half = car.get_control().steer
    for _ in range(40):
        world.tick()
    whole = car.get_control().steer
    limit = math.radians(car.get_physics_control().wheels[0].max_steer_angle)
    assert whole == pytest.approx(0.4 / limit, rel=0.05)
    assert half == pytest.approx(whole / 2, rel=0.05)
    settings = car.get_ackermann_controller_settings()
    settings.speed_kp = 0.5
    car.apply_ackermann_controller_settings(settings)
    assert car.get_ackermann_controller_settings() == settings
