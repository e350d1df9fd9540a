"""Volumes that change the grip of whatever drives through them."""

from __future__ import annotations

import math
from dataclasses import replace

import carla
import numpy as np
import pytest

from harness.carlite.dynamics.friction import FrictionVolume, FrictionVolumes
from tests.carlite.proving_ground import TESLA, Place
from tests.carlite.test_replies_actors import MODEL3, spawn

ICE = 0.05
TRIGGER = "static.trigger.friction"


def volumes(place: Place, *rows: tuple[float, float, float, float, float]) -> FrictionVolumes:
    """Lay volumes out: x, yaw, half length, half width, friction; actors from 1000 on."""
    laid = FrictionVolumes()
    for number, (x, yaw, length, width, friction) in enumerate(rows, start=1000):
        place.table.add_actor(number, position=(x, 0.0, 0.0), rotation=(0.0, yaw, 0.0))
        laid.add_volume(number, FrictionVolume((length, width, 2.0), friction))
    return laid


def frictions(place: Place, slot: int = 0) -> set[float]:
    return {wheel.tire_friction for wheel in place.control(slot).wheels}


def touch(place: Place, laid: FrictionVolumes) -> None:
    laid.apply_volumes(place.table, np.array([0]), place.physics)


def test_a_car_has_the_volumes_friction_while_it_touches_it() -> None:
    place = Place()
    place.car(velocity=(20.0, 0.0))
    before = frictions(place)
    laid = volumes(place, (30.0, 0.0, 5.0, 3.0, ICE))
    half = float(place.table.extent[0, 0])
    for _ in range(60):
        touch(place, laid)
        inside = abs(float(place.table.position[0, 0]) - 30.0) < 5.0 + half
        assert frictions(place) == ({ICE} if inside else before)
        place.tick()
    assert place.table.position[0, 0] > 40.0
    assert frictions(place) == before


@pytest.mark.parametrize(("yaw", "reached"), [(0.0, False), (math.pi / 2, True)])
def test_volumes_are_turned_like_their_actor(yaw: float, reached: bool) -> None:
    place = Place()
    place.car(at=(0.0, 6.0, 0.0))
    laid = volumes(place, (0.0, yaw, 8.0, 1.0, ICE))
    touch(place, laid)
    assert (frictions(place) == {ICE}) == reached


def test_the_youngest_volume_rules_and_a_bridge_above_is_out_of_reach() -> None:
    place = Place()
    place.car()
    before = frictions(place)
    laid = volumes(place, (0.0, 0.0, 5.0, 5.0, ICE), (0.0, 0.0, 5.0, 5.0, 1.0))
    touch(place, laid)
    assert frictions(place) == {1.0}
    laid.forget_actor(1001)
    touch(place, laid)
    assert frictions(place) == {ICE}
    place.table.position[place.table.find_slot(1000), 2] = 8.0
    touch(place, laid)
    assert frictions(place) == before


def test_tyres_are_as_before_whatever_was_applied_inside() -> None:
    """As in CARLA: what was before is put back when the vehicle leaves."""
    place = Place()
    place.car(TESLA)
    laid = volumes(place, (0.0, 0.0, 5.0, 5.0, ICE))
    before = place.control()
    touch(place, laid)
    assert frictions(place) == {ICE}
    place.physics.set_control(place.table, 1, replace(place.control(), mass=2000.0))
    touch(place, laid)
    assert frictions(place) == {ICE}
    worn = [replace(wheel, tire_friction=1.0) for wheel in before.wheels]
    place.physics.set_control(place.table, 1, replace(place.control(), wheels=tuple(worn)))
    touch(place, laid)
    assert frictions(place) == {1.0}
    laid.forget_actor(1000)
    touch(place, laid)
    assert place.control() == replace(before, mass=2000.0)


def friction_felt(car: carla.Vehicle) -> float:
    return float(car.get_telemetry_data().wheels[0].tire_friction)


@pytest.mark.thorough
def test_brakes_fail_on_ice_through_the_client(world: carla.World) -> None:
    start = next(
        point
        for point in world.get_map().get_spawn_points()
        if all(
            ahead and ahead[0].transform.rotation.yaw == pytest.approx(point.rotation.yaw, abs=1)
            for ahead in [world.get_map().get_waypoint(point.location).next(60.0)]
        )
    )
    ways = []
    for friction in ("2.0", "0.05"):
        area = {"extent_x": "8000", "extent_y": "8000", "extent_z": "500"}
        volume = spawn(world, TRIGGER, start, friction=friction, **area)
        car = spawn(world, MODEL3, start)
        assert isinstance(car, carla.Vehicle)
        before = friction_felt(car)
        for _ in range(20):
            world.tick()
        assert friction_felt(car) == pytest.approx(float(friction))
        heavier = car.get_physics_control()
        for wheel in heavier.wheels:
            assert wheel.tire_friction == pytest.approx(float(friction))
        heavier.mass += 100.0
        car.apply_physics_control(heavier)
        assert friction_felt(car) == pytest.approx(float(friction))
        car.set_target_velocity(car.get_transform().get_forward_vector() * 10.0)
        car.apply_control(carla.VehicleControl(brake=1.0))
        for _ in range(40):
            world.tick()
        ways.append(car.get_location().distance(start.location))
        assert volume.destroy()
        world.tick()
        assert friction_felt(car) == pytest.approx(before)
        assert car.get_physics_control().mass == pytest.approx(heavier.mass)
        car.destroy()
    assert ways[0] < 8.0
    assert ways[1] > 15.0


@pytest.mark.thorough
@pytest.mark.parametrize("attribute", [{"friction": "-1"}, {"extent_x": "nan"}])
def test_volumes_that_make_no_sense_are_refused(
    world: carla.World, attribute: dict[str, str]
) -> None:
    with pytest.raises(RuntimeError, match=next(iter(attribute))):
        spawn(world, TRIGGER, **attribute)


def test_a_trigger_is_felt_from_its_edge_to_its_edge(world: carla.World) -> None:
    """As CARLA's own `test_vehicle_friction_volume`: own friction, the trigger's, own again."""
    start = world.get_map().get_spawn_points()[0]
    cars = [spawn(world, MODEL3, start)]
    cars.append(spawn(world, MODEL3, world.get_map().get_spawn_points()[-1]))
    ahead = start.transform(carla.Location(20.0, 0.0, 0.0))
    area = {"extent_x": "500", "extent_y": "500", "extent_z": "500"}
    trigger = spawn(world, TRIGGER, carla.Transform(ahead, start.rotation), friction="5.0", **area)
    seen: list[list[float]] = []
    for _ in range(2):
        for metres in (0.0, 20.0, 60.0):
            place = carla.Transform(start.transform(carla.Location(metres, 0, 0)), start.rotation)
            cars[0].set_transform(place)
            world.tick()
            seen.append([car.get_physics_control().wheels[0].tire_friction for car in cars])
        trigger.set_transform(start)
    before = seen[0][0]
    assert seen[:3] == [[before, before], [5.0, before], [before, before]]
    assert seen[3:] == [[5.0, before], [before, before], [before, before]]
