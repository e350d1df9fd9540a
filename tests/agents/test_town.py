"""The driver in a town with traffic, through the real client."""

from __future__ import annotations

import math

import carla
import pytest

from agents.driving.driver import Driver
from harness.world.roads import RoadNetwork
from tests.agents.town_drive import TownDrive
from tests.carlite.apart import apart

VEHICLES = 40


def drive(client: carla.Client, world: carla.World, start: int, goal: int) -> TownDrive:
    """Drive between two spawn points of the town among forty others."""
    places = world.get_map().get_spawn_points()
    ends = [places[start].location, places[goal].location]
    route = RoadNetwork(world.get_map()).find_route("test", world.get_map().name, ends)
    manager = client.get_trafficmanager(0)
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(start)
    cars = [
        blueprint
        for blueprint in world.get_blueprint_library().filter("vehicle.*")
        if blueprint.get_attribute("base_type").as_str() == "car"
    ]
    free = [
        place
        for place in places
        if math.hypot(place.location.x - route.xyz[0, 0], place.location.y - route.xyz[0, 1]) > 15
    ]
    for k in range(VEHICLES):
        car = world.try_spawn_actor(cars[k % len(cars)], free[(7 * k + start) % len(free)])
        if car is not None:
            car.set_autopilot(True, manager.get_port())
    world.tick()
    return TownDrive(world, route, Driver())


@pytest.mark.thorough
@apart
def test_a_route_with_lights_and_traffic_is_driven_clean(
    client: carla.Client, world: carla.World
) -> None:
    tour = drive(client, world, 3, 60)
    outcome = tour.run(240.0)
    assert not outcome.collisions, outcome
    assert outcome.station > tour.route.length - 6.0, outcome
    assert outcome.farthest_off < 1.2
    assert outcome.reds_run == 0
