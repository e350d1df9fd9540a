"""Litter on a lane: driven over, as in CARLA, and still there to be seen."""

from __future__ import annotations

import carla
import pytest

from tests.carlite.apart import apart
from tests.carlite.test_replies_actors import MODEL3, floats, spawn

LITTER = ("dirtdebris01", "dirtdebris02", "dirtdebris03", "plasticbag", "brokentile01")


def straight(world: carla.World, length: float) -> tuple[carla.Transform, list[carla.Waypoint]]:
    """Return a spawn point and the waypoints every metre along a lane that goes straight on."""
    town = world.get_map()
    for point in town.get_spawn_points():
        way = town.get_waypoint(point.location).next_until_lane_end(1.0)
        level = all(abs(one.transform.rotation.yaw - point.rotation.yaw) < 1.0 for one in way)
        if len(way) > length and level and not way[0].is_junction:
            return point, way
    raise LookupError(f"no straight lane of {length} m")


@pytest.mark.thorough
@apart
def test_autopilot_drives_over_litter(client: carla.Client, world: carla.World) -> None:
    start, way = straight(world, 75.0)
    for index, name in enumerate(LITTER):
        spawn(world, f"static.prop.{name}", way[15 + 5 * index].transform)
    car = spawn(world, MODEL3, start)
    assert isinstance(car, carla.Vehicle)
    touched: list[carla.CollisionEvent] = []
    sensor = spawn(world, "sensor.other.collision", carla.Transform(), car)
    assert isinstance(sensor, carla.Sensor)
    sensor.listen(touched.append)
    car.set_autopilot(True, client.get_trafficmanager().get_port())
    slowest, last = 99.0, way[15 + 5 * len(LITTER)].transform.location
    for _ in range(600):
        world.tick()
        here = car.get_location()
        if here.distance(start.location) > 12.0:
            slowest = min(slowest, car.get_velocity().length())
        if here.distance(last) < 3.0:
            break
    assert car.get_location().distance(last) < 3.0
    assert slowest > 4.0
    assert not touched


@pytest.mark.thorough
@pytest.mark.parametrize("name", LITTER)
def test_litter_stays_where_it_is_put(world: carla.World, name: str) -> None:
    place = world.get_map().get_spawn_points()[3]
    prop = spawn(world, f"static.prop.{name}", place)
    car = spawn(world, MODEL3, place)
    world.tick()
    assert floats(prop.get_location()) == pytest.approx(floats(place.location), abs=1e-4)
    assert car.is_alive
