"""No car runs perfectly straight, and none runs visibly askew."""

from __future__ import annotations

import math

import carla
import numpy as np
import pytest

from harness.carlite.dynamics.parameters import STRONGEST_PULL, compute_tyre_pull
from tests.carlite.proving_ground import TESLA, Place
from tests.carlite.test_replies_actors import MODEL3, spawn

BLUEPRINTS = [TESLA, "vehicle.carlamotors.firetruck", "vehicle.bh.crossbike"]


def drift(place: Place, slot: int, throttle: float = 0.0) -> float:
    """Let a car roll or drive over 100 m with its wheel straight; return how far it goes astray."""
    place.table.throttle[slot] = throttle
    for _ in range(1000):
        if place.table.position[slot, 0] > 100.0:
            return float(place.table.position[slot, 1])
        place.tick()
    raise AssertionError("the car never got there")


@pytest.mark.parametrize("blueprint_id", BLUEPRINTS)
@pytest.mark.parametrize("throttle", [0.0, 0.5])
def test_a_straight_wheel_leads_hardly_astray(blueprint_id: str, throttle: float) -> None:
    drifts = []
    for number in range(4):
        place = Place()
        for other in range(number):
            place.car(at=(0.0, 20.0 + 10.0 * other, 0.0))
        drifts.append(drift(place, place.car(blueprint_id, velocity=(15.0, 0.0)), throttle))
    assert all(0.002 < abs(y) < 0.12 for y in drifts)
    assert len({y > 0.0 for y in drifts}) == 2
    assert len({round(y, 5) for y in drifts}) == 4


def test_pulls_differ_in_sign_and_size() -> None:
    pulls = np.array([compute_tyre_pull(number) for number in range(200)])
    assert (np.abs(pulls) >= 0.5 * STRONGEST_PULL).all()
    assert (np.abs(pulls) <= STRONGEST_PULL).all()
    assert (pulls > 0.0).sum() == 100
    assert len(set(pulls)) == 200


def test_a_car_keeps_its_pull_when_its_physics_change() -> None:
    place = Place()
    slot = place.car()
    before = place.physics.rows[place.table.physics[slot]]["pull"]
    place.physics.set_control(place.table, 1, place.control())
    assert place.physics.rows[place.table.physics[slot]]["pull"] == before != 0.0


def test_a_car_at_rest_is_not_moved() -> None:
    place = Place()
    slot = place.car()
    place.tick(100)
    assert place.table.position[slot, :2].tolist() == [0.0, 0.0]
    assert place.table.rotation[slot, 1] == 0.0


def test_a_car_that_set_off_in_line_with_a_place_is_no_longer(world: carla.World) -> None:
    """CARLA's agents heed a red light only where the angle to its stop line is above zero."""
    start = world.get_map().get_spawn_points()[0]
    start.rotation.yaw = round(start.rotation.yaw / 90.0) * 90.0
    ahead = start.location + start.get_forward_vector() * 60.0
    car = spawn(world, MODEL3, start)
    assert isinstance(car, carla.Vehicle)
    angles = []
    for _ in range(80):
        car.apply_control(carla.VehicleControl(throttle=0.5))
        world.tick()
        pose = car.get_transform()
        angles.append(angle_to(pose, ahead))
    assert pose.location.distance(start.location) > 15.0
    assert all(angle > 0.0 for angle in angles[40:])


def angle_to(pose: carla.Transform, place: carla.Location) -> float:
    """Return the angle between heading and place as the agents work it out, in radians."""
    heading, way = pose.get_forward_vector(), place - pose.location
    along = (heading.x * way.x + heading.y * way.y) / math.hypot(way.x, way.y)
    return math.acos(min(max(along, -1.0), 1.0))
