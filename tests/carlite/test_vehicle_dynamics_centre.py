"""A body moves and turns about its centre of mass, and its velocity is that of the centre."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from harness.carlite.dynamics import pushes
from harness.carlite.dynamics.state import TRANSFER
from harness.carlite.dynamics.tyres import FULL_LOAD, UNLOADED
from tests.carlite.proving_ground import DT, LINCOLN, Place

AHEAD = 0.6
"""Metres from the MKZ 2017's origin to its centre of mass, as CARLA recorded them."""

GRIP = 3.5 * 0.7 * 9.81
"""m/s² that tyres give which carry the car's weight."""


def put_on_ice(place: Place) -> None:
    """Take grip and air away."""
    wheels = tuple(replace(wheel, tire_friction=0.0) for wheel in place.control().wheels)
    control = replace(place.control(), wheels=wheels, drag_coefficient=0.0)
    place.physics.set_control(place.table, 1, control)


def test_a_torque_on_ice_turns_the_car_and_leaves_its_velocity() -> None:
    place = Place()
    place.car(LINCOLN, velocity=(12.0, 3.0))
    put_on_ice(place)
    for _ in range(20):
        before = place.find_centre()
        pushes.apply_torque(place.table, 0, (0.0, 0.0, 9000.0))
        place.tick()
        np.testing.assert_allclose(place.table.velocity[0, :2], (12.0, 3.0), rtol=1e-9)
        moved = place.find_centre() - before
        np.testing.assert_allclose(moved[:2], np.multiply(DT, (12.0, 3.0)))
    assert place.table.yaw_rate[0] > 2.0


@pytest.mark.parametrize("yaw", [0.0, 2.0])
def test_a_blow_on_the_centre_does_not_turn_and_one_on_the_origin_does(yaw: float) -> None:
    place = Place()
    place.car(LINCOLN, yaw=yaw)
    aside = (-4000.0 * math.sin(yaw), 4000.0 * math.cos(yaw), 0.0)
    pushes.apply_impulse(place.table, 0, aside, at=place.find_centre().tolist())
    assert place.table.yaw_rate[0] == pytest.approx(0.0, abs=1e-12)
    pushes.apply_impulse(place.table, 0, aside, at=tuple(place.table.position[0].tolist()))
    half = place.table.extent[0]
    inertia = 0.8 * 1696.0 * (half[0] ** 2 + half[1] ** 2) / 3.0
    assert place.table.yaw_rate[0] == pytest.approx(-4000.0 * AHEAD / inertia)


@pytest.mark.parametrize("steer", [0.0, 0.3, 1.0])
def test_no_axle_gives_more_load_than_it_has(steer: float) -> None:
    place = Place()
    place.car(LINCOLN, velocity=(30.0, 0.0))
    row = place.physics.rows[0]
    wheelbase = float(row["front"] + row["rear"])
    for _ in range(30):
        place.table.brake[0], place.table.steer[0] = 1.0, steer
        place.tick()
        # the rear axle's share of the weight, less what has moved to the front
        left = float(row["front"]) / wheelbase + float(place.table.drivetrain[0, TRANSFER])
        assert -1e-12 <= left <= 1.0


def test_tyres_change_the_velocity_by_no_more_than_friction_times_load() -> None:
    """PhysX's filter makes the load of both axles together a little more than the weight."""
    most = GRIP * (UNLOADED + (FULL_LOAD - UNLOADED) / FULL_LOAD)
    for speed, steer in itertools.product((10.0, 20.0, 30.0), (0.1, 0.6, 1.0)):
        place = Place()
        place.car(LINCOLN, velocity=(speed, 0.0))
        for tick in range(30):
            place.table.brake[0] = 1.0
            place.table.steer[0] = steer if tick < 15 else -steer
            before = place.table.velocity[0, :2].copy()
            place.tick()
            change = float(np.hypot(*(place.table.velocity[0, :2] - before)))
            if place.speed() < 1.0:
                break
            # the air adds 0.3 m/s² at most
            assert change / DT < most + 0.3
