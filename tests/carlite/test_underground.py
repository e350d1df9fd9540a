"""Actors parked below the ground, as scenario_runner and the leaderboard park them."""

from __future__ import annotations

import math
from queue import Queue

import carla
import pytest

from tests.carlite.test_replies_actors import MODEL3, floats, spawn

WALKER = "walker.pedestrian.0001"
DEPTHS = (50.0, 100.0, 500.0)


def below(place: carla.Transform, depth: float) -> carla.Transform:
    return carla.Transform(place.location - carla.Location(z=depth), place.rotation)


def places(world: carla.World) -> tuple[carla.Transform, carla.Transform]:
    first, second = world.get_map().get_spawn_points()[:2]
    return first, second


@pytest.mark.thorough
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("blueprint", [WALKER, MODEL3])
@pytest.mark.parametrize("switched_off", ["nothing", "physics", "gravity", "physics a tick later"])
def test_what_is_put_below_the_ground_stays_there_until_it_is_brought_up(
    world: carla.World, blueprint: str, depth: float, switched_off: str
) -> None:
    actor = spawn(world, blueprint)
    for _ in range(20):
        world.tick()
    there = actor.get_transform()
    if switched_off == "physics":
        actor.set_simulate_physics(False)
    actor.set_enable_gravity(switched_off != "gravity")
    actor.set_transform(below(there, depth))
    for tick in range(10):
        world.tick()
        assert actor.get_location().z == pytest.approx(there.location.z - depth, abs=1e-3)
        if switched_off == "physics a tick later" and tick == 0:
            actor.set_simulate_physics(False)
    actor.set_simulate_physics(True)
    actor.set_enable_gravity(True)
    actor.set_transform(there)
    for _ in range(20):
        world.tick()
    assert floats(actor.get_location()) == pytest.approx(floats(there.location), abs=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("blueprint", [WALKER, MODEL3])
def test_what_is_spawned_below_the_ground_stays_there(
    world: carla.World, blueprint: str, depth: float
) -> None:
    start, _ = places(world)
    actor = spawn(world, blueprint, below(start, depth))
    for _ in range(10):
        world.tick()
        assert actor.get_location().z == pytest.approx(start.location.z - depth, abs=1e-3)
        assert actor.get_velocity().length() == 0.0


def test_a_walker_stuck_to_its_middle_in_the_ground_is_still_lifted(world: carla.World) -> None:
    start, _ = places(world)
    walker = spawn(world, WALKER, start)
    world.tick()
    on_foot = walker.get_location().z
    walker.set_location(start.location - carla.Location(z=0.8))
    world.tick()
    assert walker.get_location().z == pytest.approx(on_foot, abs=0.05)


def test_walkers_parked_below_the_ego_are_not_run_into(world: carla.World) -> None:
    """As DynamicObjectCrossing begins: the walker waits below the way of the ego."""
    start, _ = places(world)
    ego = spawn(world, MODEL3, start)
    touched: list[carla.CollisionEvent] = []
    sensor = spawn(world, "sensor.other.collision", carla.Transform(), ego)
    assert isinstance(sensor, carla.Sensor)
    sensor.listen(touched.append)
    walker = spawn(world, WALKER, below(start, 50.0))
    walker.set_location(start.location - carla.Location(z=50.0))
    for _ in range(20):
        world.tick()
    assert not touched
    assert walker.get_location().distance(ego.get_location()) > 45.0


def hits(world: carla.World, actor: carla.Actor, at: carla.Transform, **sensor: str) -> int:
    """Count the returns that a semantic LiDAR has from an actor in a scan."""
    blueprint = world.get_blueprint_library().find("sensor.lidar.ray_cast_semantic")
    for name, value in sensor.items():
        blueprint.set_attribute(name, value)
    lidar = world.spawn_actor(blueprint, at)
    assert isinstance(lidar, carla.Sensor)
    scans: Queue[carla.SemanticLidarMeasurement] = Queue()
    lidar.listen(scans.put)
    frame = world.tick()
    while (scan := scans.get(timeout=60)).frame != frame:
        pass
    lidar.stop()
    lidar.destroy()
    return sum(point.object_idx == actor.id for point in scan)


@pytest.mark.thorough
@pytest.mark.parametrize("blueprint", [WALKER, MODEL3])
def test_sensors_do_not_see_what_is_below_the_ground(world: carla.World, blueprint: str) -> None:
    start, _ = places(world)
    ahead = start.transform(carla.Location(12.0, 0.0, 0.0))
    there = carla.Transform(ahead, start.rotation)
    actor = spawn(world, blueprint, carla.Transform(ahead + carla.Location(z=1.0), start.rotation))
    above = carla.Transform(start.location + carla.Location(z=2.0), start.rotation)
    fine = {"points_per_second": "400000", "channels": "64", "rotation_frequency": "20"}
    assert hits(world, actor, above, range="40", **fine) > 5
    for depth in (3.0, 10.0, 50.0):
        actor.set_transform(below(there, depth))
        world.tick()
        assert hits(world, actor, above, range="120", lower_fov="-80", **fine) == 0
        down = math.degrees(math.atan2(depth + 2.0, 12.0))
        looking = carla.Transform(
            above.location, carla.Rotation(pitch=-down, yaw=start.rotation.yaw)
        )
        assert hits(world, actor, looking, range="120", **fine) == 0
