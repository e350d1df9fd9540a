"""The instruments agree with the motion."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from harness.carlite.dynamics.telemetry import VehicleTelemetry, read_vehicle_telemetry
from tests.carlite.proving_ground import LINCOLN, Place, ground


def shown(place: Place) -> VehicleTelemetry:
    return read_vehicle_telemetry(place.table, 0, place.physics)


def test_at_rest_four_wheels_carry_the_weight() -> None:
    place = Place()
    place.car()
    place.tick(20)
    got = shown(place)
    assert got.speed == got.drag == got.throttle == got.brake == 0.0
    assert len(got.wheels) == 4
    weight = place.control().mass * 9.81
    assert sum(wheel.tire_load for wheel in got.wheels) == pytest.approx(weight)
    assert all(wheel.omega == wheel.long_force == wheel.lat_force == 0.0 for wheel in got.wheels)


def test_wheels_that_carry_nothing_pull_with_no_share_of_it() -> None:
    """With the centre of mass above the rear axle the front wheels bear no load."""
    place = Place()
    place.car()
    control = place.control()
    behind = min(wheel.position[0] for wheel in control.wheels)
    place.physics.set_control(place.table, 1, replace(control, center_of_mass=(behind, 0.0, 0.0)))
    place.table.throttle[0] = 0.5
    place.tick(20)
    front, *_, rear = shown(place).wheels
    assert front.tire_load == front.normalized_long_force == front.normalized_lat_force == 0.0
    assert rear.normalized_long_force > 0.0


def test_under_way_the_wheels_turn_and_pull() -> None:
    place = Place()
    place.car(LINCOLN)
    place.table.throttle[0] = 0.8
    place.tick(80)
    got = shown(place)
    control = place.control()
    assert got.speed == pytest.approx(place.speed())
    assert got.throttle == pytest.approx(0.8)
    assert got.gear == place.table.gear[0]
    ratio = control.forward_gears[got.gear - 1].ratio * control.final_ratio
    revolutions = got.wheels[0].omega * ratio * 30.0 / math.pi
    slipping = 80.0 * 30.0 / math.pi
    assert revolutions - slipping < got.engine_rpm < revolutions + slipping
    rolled = got.wheels[0].omega * control.wheels[0].radius
    assert got.speed < rolled < 1.2 * got.speed
    assert got.wheels[0].long_slip == pytest.approx(1.0 - got.speed / rolled, abs=0.01)
    pull = sum(wheel.long_force for wheel in got.wheels)
    gain = control.mass * place.table.acceleration[0, 0] + got.drag
    assert pull == pytest.approx(gain)
    assert pull > 1000.0


def test_round_a_bend_all_wheels_push_inwards() -> None:
    place = Place()
    place.car(velocity=(8.0, 0.0))
    place.table.steer[0] = 0.5
    place.tick(20)
    left, right, *_ = shown(place).wheels
    assert left.lat_force > 500.0
    assert right.lat_slip < 0.0


def test_braked_on_a_slope_the_wheels_hold_the_car() -> None:
    place = Place(ground(lambda x, y: 0.1 * x))
    place.car()
    place.table.brake[0] = 1.0
    place.tick(100)
    pull = sum(wheel.long_force for wheel in shown(place).wheels)
    expected = place.control().mass * 9.81 * math.sin(math.atan(0.1))
    assert pull == pytest.approx(expected, rel=0.01)
