"""A driving agent as users write them finds its way: lanes, lights, others, all through `carla`."""

from __future__ import annotations

import carla
import numpy as np
import pytest

from tests.carlite.driving_judge import Judge
from tests.carlite.route_follower import Choose, Follower, leftmost, rightmost, walk
from tests.carlite.test_replies_actors import MODEL3, spawn

ROUTE, HEAD_START, RUN_OUT = 300, 15, 60
LONGEST = 4000
"""Ticks of 50 ms."""
Way = list[carla.Waypoint]


def lines_crossed(world: carla.World, way: Way) -> int:
    """Return how many stop lines of traffic lights lie across a way."""
    stops = {
        (stop.road_id, stop.lane_id)
        for light in world.get_actors().filter("traffic.traffic_light")
        for stop in light.get_stop_waypoints()
    }
    return len({(here.road_id, here.lane_id) for here in way} & stops)


def turned(way: Way) -> float:
    """Return by how many degrees a way turns in all; right is positive."""
    yaws = np.unwrap([here.transform.rotation.yaw for here in way], period=360.0)
    return float(yaws[-1] - yaws[0])


def winding_way(world: carla.World, choose: Choose) -> Way:
    """Return a way from some spawn point that turns much and crosses several stop lines."""
    town = world.get_map()
    starts = [town.get_waypoint(pose.location) for pose in town.get_spawn_points()[::5]]
    ways = [walk(start, ROUTE + RUN_OUT, choose) for start in starts]
    with_lights = [way for way in ways if lines_crossed(world, way[:ROUTE]) >= 2]
    return max(with_lights, key=lambda way: abs(turned(way[:ROUTE])))


def put(world: carla.World, way: Way, at: int, blueprint: str = MODEL3) -> carla.Vehicle:
    """Put a car on a way."""
    pose = way[at].transform
    pose.location.z += 0.3
    car = spawn(world, blueprint, pose)
    assert isinstance(car, carla.Vehicle)
    return car


@pytest.mark.thorough
@pytest.mark.parametrize("choose", [leftmost, rightmost])
def test_two_cars_follow_a_route_through_lights(world: carla.World, choose: Choose) -> None:
    way = winding_way(world, choose)
    cars = put(world, way, 0), put(world, way, HEAD_START, "vehicle.audi.tt")
    world.tick()
    judges = [Judge(world, car) for car in cars]
    drivers = [Follower(cars[0], way[:ROUTE], 8.0), Follower(cars[1], way[HEAD_START:], 3.5)]
    travelled = 0.0
    for _ in range(LONGEST):
        for driver in drivers:
            driver.drive()
        world.tick()
        travelled += 0.05 * cars[0].get_velocity().length()
        for judge in judges:
            judge.look()
        if drivers[0].arrived:
            break
    for judge in judges:
        judge.leave()
    assert drivers[0].arrived
    assert travelled > 250.0
    assert [judge.collisions for judge in judges] == [[], []]
    assert len(judges[0].entries) == judges[0].lines_on(way[:ROUTE]) >= 2
    for judge in judges:
        assert carla.TrafficLightState.Red not in judge.entries
    assert any(driver.waited for driver in drivers)
    assert drivers[0].held_back > 100


@pytest.mark.thorough
def test_the_judge_catches_a_reckless_driver(world: carla.World) -> None:
    way = winding_way(world, rightmost)
    lights = world.get_actors().filter("traffic.traffic_light")
    for light in lights:
        light.set_state(carla.TrafficLightState.Red)
    lights[0].freeze(True)
    car, obstacle = put(world, way, 0), put(world, way, ROUTE // 2)
    world.tick()
    judge = Judge(world, car)
    driver = Follower(car, way, 8.0, careful=False)
    for _ in range(LONGEST):
        driver.drive()
        world.tick()
        judge.look()
        if judge.collisions or driver.arrived:
            break
    judge.leave()
    assert obstacle.type_id in judge.collisions
    assert carla.TrafficLightState.Red in judge.entries


def test_a_car_put_at_a_waypoint_lands_on_its_wheels(world: carla.World) -> None:
    """Waypoints of the client have a pitch of 360 degrees where the road is level."""
    poses = [waypoint.transform for waypoint in world.get_map().generate_waypoints(20.0)]
    pose = next(pose for pose in poses if pose.rotation.pitch == 360.0)
    pose.location.z += 0.3
    car = spawn(world, MODEL3, pose)
    for _ in range(20):
        world.tick()
        assert car.get_transform().get_up_vector().z > 0.99
    car.set_transform(carla.Transform(pose.location, carla.Rotation(yaw=pose.rotation.yaw + 720)))
    world.tick()
    assert abs(car.get_transform().rotation.yaw) <= 180.0
