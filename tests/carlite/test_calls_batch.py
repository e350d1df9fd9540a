"""Batches: every command, its answer, and what it does."""

from __future__ import annotations

import math

import carla
import pytest

from tests.carlite.byte_client import Raw
from tests.carlite.test_replies_actors import MODEL3, floats, pose, spawn
from tests.conftest import Carlite

OCCUPIED = "Spawn failed because of collision at spawn position"


def spawns(world: carla.World, count: int) -> list[carla.command.SpawnActor]:
    blueprint = world.get_blueprint_library().find(MODEL3)
    points = world.get_map().get_spawn_points()
    return [carla.command.SpawnActor(blueprint, points[index]) for index in range(count)]


def test_spawning_then_more(client: carla.Client, world: carla.World) -> None:
    control = carla.VehicleControl(throttle=0.5, steer=0.25)
    batch = [
        one.then(carla.command.ApplyVehicleControl(carla.command.FutureActor, control)).then(
            carla.command.SetVehicleLightState(
                carla.command.FutureActor, carla.VehicleLightState.Fog
            )
        )
        for one in spawns(world, 3)
    ]
    answers = client.apply_batch_sync(batch, True)
    assert [answer.error for answer in answers] == ["", "", ""]
    cars = world.get_actors([answer.actor_id for answer in answers])
    assert len(cars) == 3
    for car in cars:
        assert isinstance(car, carla.Vehicle)
        assert (car.get_control().throttle, car.get_control().steer) == (0.5, 0.25)
        assert car.get_light_state() == carla.VehicleLightState.Fog


def test_a_spawned_actor_is_named_to_what_follows(client: carla.Client, world: carla.World) -> None:
    """As in CARLA: what cannot be done with an actor does not undo it, nor hinder the rest."""
    future = carla.command.FutureActor
    walk = carla.command.ApplyWalkerControl(future, carla.WalkerControl())
    drive = carla.command.ApplyVehicleControl(future, carla.VehicleControl(throttle=0.5))
    (one,) = spawns(world, 1)
    (answer,) = client.apply_batch_sync([one.then(walk).then(drive)], True)
    assert answer.error == ""
    car = world.get_actor(answer.actor_id)
    assert isinstance(car, carla.Vehicle)
    assert car.get_control().throttle == 0.5


def test_a_command_fails_alone(client: carla.Client, world: carla.World) -> None:
    once = spawns(world, 1)
    batch = [
        *once,
        *once,
        carla.command.DestroyActor(99999),
        *spawns(world, 2)[1:],
    ]
    errors = [answer.error for answer in client.apply_batch_sync(batch, False)]
    assert errors[0] == errors[3] == ""
    assert errors[1] == OCCUPIED
    assert "99999" in errors[2]


def test_a_batch_may_tick(client: carla.Client, world: carla.World) -> None:
    frame = world.tick()
    client.apply_batch_sync([], False)
    client.apply_batch_sync([], True)
    assert world.tick() == frame + 2


def test_children_are_spawned_with_their_parent(client: carla.Client, world: carla.World) -> None:
    library = world.get_blueprint_library()
    car = spawns(world, 1)[0]
    child = carla.command.SpawnActor(
        library.find("sensor.other.imu"),
        carla.Transform(carla.Location(1, 0, 2)),
        carla.command.FutureActor,
    )
    (answer,) = client.apply_batch_sync([car.then(child)], True)
    (sensor,) = world.get_actors().filter("sensor.other.imu")
    assert sensor.parent.id == answer.actor_id
    parent = world.get_actor(answer.actor_id).get_transform()
    assert floats(sensor.get_location()) == pytest.approx(
        floats(parent.transform(carla.Location(1, 0, 2))), abs=1e-3
    )


@pytest.mark.thorough
def test_every_command_of_the_wheel(client: carla.Client, world: carla.World) -> None:
    command = carla.command
    cars = [spawn(world, MODEL3, index) for index in range(8)]
    walker = spawn(world, "walker.pedestrian.0001", 10)
    prop = spawn(world, "static.prop.trafficcone01", 11)
    world.tick()
    assert all(isinstance(car, carla.Vehicle) for car in cars)
    physics = cars[0].get_physics_control()
    physics.mass = 1234.0
    along = cars[5].get_transform().get_forward_vector()
    where = carla.Transform(carla.Location(10, 20, 30), carla.Rotation(yaw=45))
    batch = [
        command.ApplyVehicleControl(cars[0], carla.VehicleControl(brake=0.5)),
        command.ApplyVehicleAckermannControl(cars[1], carla.VehicleAckermannControl(speed=5.0)),
        command.ApplyWalkerControl(walker, carla.WalkerControl(carla.Vector3D(1, 0, 0), 1.0)),
        command.ApplyVehiclePhysicsControl(cars[0], physics),
        command.ApplyTransform(prop, where),
        command.ApplyTargetVelocity(cars[5], along * 10),
        command.ApplyTargetAngularVelocity(cars[2], carla.Vector3D(0, 0, 45)),
        command.ApplyImpulse(cars[3], along * 5000),
        command.ApplyForce(cars[4], along * 5000),
        command.ApplyAngularImpulse(cars[2], carla.Vector3D(0, 0, 100)),
        command.ApplyTorque(cars[2], carla.Vector3D(0, 0, 100)),
        command.SetSimulatePhysics(cars[6], False),
        command.SetEnableGravity(cars[7], False),
        command.SetVehicleLightState(cars[0].id, carla.VehicleLightState.Brake),
    ]
    answers = client.apply_batch_sync(batch, True)
    assert [answer.error for answer in answers] == [""] * len(batch)
    assert cars[0].get_control().brake == 0.5
    assert cars[0].get_physics_control().mass == 1234.0
    assert cars[0].get_light_state() == carla.VehicleLightState.Brake
    assert cars[1].get_control().throttle > 0
    assert walker.get_control().speed == 1.0
    assert pose(prop.get_transform()) == pose(where)
    assert cars[5].get_velocity().length() == pytest.approx(10, abs=1)
    assert cars[2].get_angular_velocity().z > 5
    assert cars[3].get_velocity().length() > 1
    assert cars[4].get_velocity().length() > 0.05


def test_walkers_led_by_the_client(client: carla.Client, world: carla.World) -> None:
    walker = spawn(world, "walker.pedestrian.0001", 0)
    start = walker.get_transform()
    ahead = start.get_forward_vector()
    world.tick()
    for step in range(20):
        at = carla.Transform(start.location + ahead * (0.07 * step), start.rotation)
        client.apply_batch_sync([carla.command.ApplyWalkerState(walker, at, 1.4)], True)
        assert walker.get_velocity().length() == pytest.approx(1.4, abs=0.05)
        assert walker.get_location().distance_2d(at.location) < 0.1
    for _ in range(10):
        world.tick()
    assert walker.get_velocity().length() == 0


def test_a_crowd_is_led_as_its_walkers_one_by_one(client: carla.Client, world: carla.World) -> None:
    """Also with angles beyond half a turn, feet in the ground, and speeds that are no walking."""
    walkers = [spawn(world, "walker.pedestrian.0001", number) for number in range(5)]
    world.tick()
    starts = [walker.get_transform() for walker in walkers]
    asked = [(20.0, 1.2), (-190.0, 250.0), (359.0, -0.4), (90.0, 0.0), (900.0, 0.7)]

    def states(lower: float) -> list[carla.command.ApplyWalkerState]:
        return [
            carla.command.ApplyWalkerState(
                walker,
                carla.Transform(start.location - carla.Location(z=lower), carla.Rotation(yaw=yaw)),
                speed,
            )
            for walker, start, (yaw, speed) in zip(walkers, starts, asked, strict=True)
        ]

    def moved(batches: list[list[object]]) -> list[object]:
        for batch in batches:
            answers = client.apply_batch_sync(batch, False)
            assert [a.error for a in answers][:1] == [""]
        world.tick()
        return [(pose(w.get_transform()), floats(w.get_velocity())) for w in walkers]

    odd = carla.command.SetVehicleLightState(walkers[0].id, carla.VehicleLightState.Fog)
    for lower in (0.0, 0.6, 4.0):
        ordinary = states(lower)
        together = moved([ordinary[:4]]), moved([ordinary])
        assert together[0][:4] == together[1][:4] == moved([[one] for one in ordinary])[:4]
        assert together[1] == moved([[*ordinary, odd]])


def test_a_crowd_with_a_stranger_leads_the_others(client: carla.Client, world: carla.World) -> None:
    walkers = [spawn(world, "walker.pedestrian.0001", number) for number in range(2)]
    car = spawn(world, MODEL3, 4)
    world.tick()
    at = walkers[0].get_transform()
    there = carla.Transform(at.location + at.get_forward_vector(), at.rotation)
    batch = [carla.command.ApplyWalkerState(actor, there, 1.0) for actor in (walkers[0], car, 9999)]
    answers = client.apply_batch_sync([*batch, batch[0]], True)
    assert [bool(answer.error) for answer in answers] == [False, True, True, False]
    assert "is a vehicle" in answers[1].error
    assert "not found: 9999" in answers[2].error
    assert walkers[0].get_location().distance_2d(there.location) < 0.1


def test_commands_the_wheel_does_not_offer(world: carla.World, carlite: Carlite) -> None:
    car = spawn(world, MODEL3)
    world.tick()
    light = world.get_actors().filter("traffic.traffic_light")[0]
    assert isinstance(light, carla.TrafficLight)
    world.freeze_all_traffic_lights(True)
    with Raw(carlite) as client:
        assert client.command(14, car.id, False) == ""
        assert client.command(19, car.id, [1.0, 2.0, 30.0]) == ""
        assert client.command(21, light.id, 1) == ""
        assert client.command(17, car.id, True) == ""
        assert client.command(16, car.id, True) == ""
        assert client.command(16, car.id, False) == ""
        assert "console" in client.command(20, "quit")
        assert "unknown command 22" in client.command(22, car.id)
        assert "fields" in client.command(2, car.id)
        assert "finite" in client.command(10, car.id, [math.nan, 0.0, 0.0])
    world.tick()
    assert floats(car.get_location()) == (1, 2, 30)
    assert light.get_state() == carla.TrafficLightState.Yellow
