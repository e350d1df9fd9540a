"""Controls stay until the next one; those of a vehicle that is not sticky last for one tick."""

from __future__ import annotations

import carla
import pytest

from tests.carlite.apart import apart
from tests.carlite.test_replies_actors import MODEL3, spawn

TOLERANCE = 1e-4
"""Two cars do not go quite the same way: their tyres pull differently."""

FULL = carla.VehicleControl(throttle=1.0, steer=0.2)


def drive(world: carla.World, sticky: str | None, again: carla.VehicleControl | None) -> float:
    """Give full throttle once, then `again` before each tick; return how far the car got."""
    attributes = {} if sticky is None else {"sticky_control": sticky}
    car = spawn(world, MODEL3, 3, **attributes)
    assert isinstance(car, carla.Vehicle)
    for _ in range(10):
        world.tick()
    start = car.get_location()
    car.apply_control(FULL)
    world.tick()
    assert car.get_control().throttle == 1.0
    for _ in range(30):
        if again is not None:
            car.apply_control(again)
        world.tick()
    way = float(car.get_location().distance(start))
    car.destroy()
    world.tick()
    return way


@pytest.mark.thorough
@pytest.mark.parametrize("sticky", [None, "true", "True"])
def test_sticky_controls_stay(world: carla.World, sticky: str | None) -> None:
    once, always = drive(world, sticky, None), drive(world, sticky, FULL)
    assert once == pytest.approx(always, rel=TOLERANCE)
    assert once > 3.0


@pytest.mark.thorough
@pytest.mark.parametrize("sticky", ["false", "False"])
def test_other_controls_last_one_tick(world: carla.World, sticky: str) -> None:
    once = drive(world, sticky, None)
    let_go = drive(world, "true", carla.VehicleControl())
    assert once == pytest.approx(let_go, rel=TOLERANCE)
    assert once < 0.3
    always = drive(world, "true", None)
    assert drive(world, sticky, FULL) == pytest.approx(always, rel=TOLERANCE)


def test_a_control_in_the_batch_that_spawns_counts(
    client: carla.Client, world: carla.World
) -> None:
    blueprint = world.get_blueprint_library().find(MODEL3)
    blueprint.set_attribute("sticky_control", "false")
    place = world.get_map().get_spawn_points()[0]
    spawning = carla.command.SpawnActor(blueprint, place).then(
        carla.command.ApplyVehicleControl(carla.command.FutureActor, FULL)
    )
    (answer,) = client.apply_batch_sync([spawning], True)
    car = world.get_actor(answer.actor_id)
    assert isinstance(car, carla.Vehicle)
    assert car.get_control().throttle == 1.0
    world.tick()
    assert car.get_control().throttle == 0.0


@pytest.mark.thorough
@apart
def test_the_traffic_manager_and_ackermann_drive_without_glue(
    client: carla.Client, world: carla.World
) -> None:
    cars = [spawn(world, MODEL3, index, sticky_control="false") for index in (0, 1)]
    manager = client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    pilot, listener = cars
    assert isinstance(pilot, carla.Vehicle)
    assert isinstance(listener, carla.Vehicle)
    pilot.set_autopilot(True, manager.get_port())
    listener.apply_ackermann_control(carla.VehicleAckermannControl(speed=5.0))
    for _ in range(60):
        world.tick()
    assert listener.get_velocity().length() > 2.0
    assert max(pilot.get_velocity().length(), pilot.get_control().brake) > 0.0
