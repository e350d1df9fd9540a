"""Physics controls: round trip, what each parameter does, pushes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.carlite.dynamics import pushes
from harness.carlite.dynamics.physics import GearPhysicsControl, PhysicsControl
from tests.carlite.proving_ground import LINCOLN, TESLA, Place

MKZ_2020 = "vehicle.lincoln.mkz_2020"

Change = Callable[[PhysicsControl], PhysicsControl]


def changed(place: Place, **values: Any) -> None:
    control = replace(place.control(), **values)
    place.physics.set_control(place.table, 1, control)


def with_wheels(place: Place, **values: Any) -> None:
    wheels = tuple(replace(wheel, **values) for wheel in place.control().wheels)
    changed(place, wheels=wheels)


def distance(place: Place, throttle: float, ticks: int = 100) -> float:
    place.table.throttle[0] = throttle
    place.tick(ticks)
    return float(place.table.position[0, 0])


def test_what_is_applied_is_what_one_gets() -> None:
    place = Place()
    place.car()
    control = replace(place.control(), mass=2222.0, drag_coefficient=0.5, clutch_strength=3.0)
    place.physics.set_control(place.table, 1, control)
    assert place.control() == control
    assert place.table.mass[0] == 2222.0


@pytest.mark.parametrize(
    ("vehicle", "stiffness"), [(TESLA, 20.0), (LINCOLN, 20.0), (MKZ_2020, 13.5)]
)
def test_tyres_are_the_published_ones(vehicle: str, stiffness: float) -> None:
    place = Place()
    place.car(vehicle)
    assert {wheel.lat_stiff_value for wheel in place.control().wheels} == {stiffness}


def test_the_mkz_2017_has_the_parameters_that_carla_recorded() -> None:
    """They are in the file of CARLA 0.9.13's recorder that docs/explanation/dynamics.md names."""
    place = Place()
    place.car(LINCOLN)
    control = place.control()
    assert control.mass == 1696.0
    assert control.center_of_mass == (0.6, 0.0, -0.3)
    assert control.damping_full_throttle == 0.05
    assert dict(control.torque_curve)[3000.0] == 695.0
    assert [gear.up for gear in control.forward_gears] == [0.54, 0.5, 0.46, 0.46, 0.46, 0.46]
    assert {gear.down for gear in control.forward_gears} == {0.23}


def test_every_vehicle_has_a_row_and_a_new_one_takes_that_of_a_gone_one() -> None:
    place = Place()
    for _ in range(200):
        place.car()
    place.physics.set_control(place.table, 7, replace(place.control(6), mass=3000.0))
    assert place.physics.find_control(8).mass != 3000.0
    assert len(set(place.table.physics.tolist())) == 200
    place.physics.forget_actor(7)
    place.table.remove_actor(7)
    with pytest.raises(KeyError):
        place.physics.find_control(7)
    place.car(LINCOLN, at=(0.0, 50.0, 0.0))
    assert len(set(place.table.physics.tolist())) == 200
    assert len(place.physics.rows) == 256


@pytest.mark.parametrize(
    ("values", "slower"),
    [
        ({"mass": 4000.0}, True),
        ({"mass": 1000.0}, False),
        ({"torque_curve": ((0.0, 100.0), (5000.0, 100.0))}, True),
        ({"torque_curve": ((0.0, 1500.0), (15000.0, 900.0))}, False),
        ({"drag_coefficient": 5.0}, True),
        ({"final_ratio": 4.0}, True),
        ({"forward_gears": (GearPhysicsControl(0.5),)}, True),
        ({"max_rpm": 3000.0}, True),
        ({"moi": 5.0}, True),
    ],
)
def test_parameters_change_the_acceleration(values: dict[str, Any], slower: bool) -> None:
    plain = Place()
    plain.car()
    other = Place()
    other.car()
    changed(other, **values)
    ratio = distance(other, 1.0, 200) / distance(plain, 1.0, 200)
    assert ratio < 0.97 if slower else ratio > 1.03


def test_tyre_friction_sets_the_braking_distance() -> None:
    ways = []
    for friction in (0.0, 0.5, 3.0):
        place = Place()
        place.car(velocity=(27.8, 0.0))
        with_wheels(place, tire_friction=friction)
        changed(place, drag_coefficient=0.0)
        place.table.brake[0] = 1.0
        ways.append(distance(place, 0.0, 150))
    assert ways[1] < 0.75 * ways[0]
    assert ways[2] < 0.75 * ways[1]


def test_without_friction_and_drag_a_car_slides_for_ever() -> None:
    place = Place()
    place.car(velocity=(27.8, 0.0))
    with_wheels(place, tire_friction=0.0)
    changed(place, drag_coefficient=0.0)
    place.table.brake[0] = place.table.steer[0] = 1.0
    place.tick(100)
    assert place.table.velocity[0].tolist() == pytest.approx([27.8, 0.0, 0.0])


def test_brake_torque_and_steering_matter() -> None:
    place = Place()
    place.car(velocity=(20.0, 0.0))
    with_wheels(place, max_brake_torque=100.0)
    place.table.brake[0] = 1.0
    place.tick(20)
    assert place.speed() > 17.0
    turns = []
    for angle in (0.3, 0.6):
        place = Place()
        place.car(velocity=(3.0, 0.0))
        with_wheels(place, max_steer_angle=angle)
        place.table.steer[0] = 1.0
        place.tick(20)
        turns.append(float(place.table.wheel_angle[0]))
    assert 1.7 * turns[0] < turns[1] < 2.0 * turns[0]
    place = Place()
    place.car(velocity=(30.0, 0.0))
    changed(place, steering_curve=((0.0, 1.0), (100.0, 0.1)))
    place.table.steer[0] = 1.0
    place.tick(10)
    limit = place.control().wheels[0].max_steer_angle
    assert 0.09 * limit < place.table.wheel_angle[0] < 0.1 * limit


def test_a_car_that_does_not_shift_keeps_to_the_gears_it_has() -> None:
    place = Place()
    place.car(LINCOLN)
    place.table.gear[0] = 6
    gears = place.control().forward_gears
    changed(place, use_gear_autobox=False, forward_gears=gears[:2])
    assert distance(place, throttle=1.0) > 5.0
    assert place.table.gear[0] == 2


def test_the_automatic_gearbox_goes_up_and_down() -> None:
    place = Place()
    place.car(LINCOLN)
    place.table.throttle[0] = 1.0
    up = []
    for _ in range(600):
        place.tick()
        up.append(int(place.table.gear[0]))
    up = [gear for gear in up if gear > 0]
    assert up == sorted(up)
    assert up[-1] >= 4
    place.table.throttle[0], place.table.brake[0] = 0.0, 0.5
    down = []
    while place.speed() > 0.0:
        place.tick()
        down.append(int(place.table.gear[0]))
    down = [gear for gear in down if gear > 0]
    assert down == sorted(down, reverse=True)
    place.tick(40)
    assert place.table.gear[0] == 1


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"mass": 0.0}, "mass"),
        ({"mass": math.nan}, "mass"),
        ({"max_rpm": -1.0}, "max_rpm"),
        ({"forward_gears": ()}, "forward_gears"),
        ({"torque_curve": ()}, "torque_curve"),
        ({"wheels": ()}, "wheels"),
    ],
)
def test_what_no_vehicle_could_have_is_refused(values: dict[str, Any], name: str) -> None:
    place = Place()
    place.car()
    before = place.control()
    with pytest.raises(ValueError, match=name):
        changed(place, **values)
    assert place.control() == before


def test_an_impulse_changes_the_velocity_at_once() -> None:
    place = Place()
    place.car(yaw=1.0)
    mass = float(place.table.mass[0])
    pushes.apply_impulse(place.table, 0, (mass * 2.0, mass * 3.0, 0.0))
    assert place.table.velocity[0].tolist() == pytest.approx([2.0, 3.0, 0.0])


def test_a_push_at_a_corner_turns_the_car() -> None:
    place = Place()
    place.car()
    pushes.apply_impulse(place.table, 0, (0.0, 1000.0, 0.0), at=(2.0, 0.0, 0.0))
    assert place.table.yaw_rate[0] > 0.0
    assert place.table.angular_velocity[0, 2] == place.table.yaw_rate[0]


def test_a_force_acts_for_one_tick() -> None:
    place = Place()
    place.car(TESLA)
    pushes.apply_force(place.table, 0, (1.0e4, 0.0, 0.0))
    place.tick()
    gained = place.speed()
    assert gained == pytest.approx(1.0e4 / place.table.mass[0] * 0.05, rel=0.05)
    assert not place.table.force.any()
    place.tick()
    assert place.speed() < gained


def test_a_torque_turns_a_floating_car() -> None:
    place = Place()
    place.car(at=(0.0, 0.0, 5.0))
    place.table.gravity[0] = False
    place.table.torque[0] = (0.0, 0.0, 1.0e4)
    place.tick()
    assert place.table.yaw_rate[0] > 0.0
    assert not np.asarray(place.table.torque).any()


def test_pushing_what_is_not_simulated_does_nothing() -> None:
    place = Place()
    place.car()
    place.table.simulated[0] = False
    pushes.apply_impulse(place.table, 0, (1.0e4, 0.0, 0.0))
    assert not place.table.velocity.any()
