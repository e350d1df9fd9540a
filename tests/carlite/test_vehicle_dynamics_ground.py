"""How vehicles ride on the ground: falling, hills, slopes, decks, no gravity."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.carlite.towns.model import TownGround
from tests.carlite.proving_ground import FLAT, LINCOLN, TESLA, Place, ground


def ramp(grade: float) -> TownGround:
    return ground(lambda x, y: grade * x)


@pytest.mark.parametrize("height", [0.1, 0.3, 0.5, 1.0])
def test_a_dropped_car_lands_without_a_bounce(height: float) -> None:
    place = Place(dt=0.01)
    place.car(at=(0.0, 0.0, height))
    place.tick(3)
    assert place.table.velocity[0, 2] == pytest.approx(-0.03 * 9.81)
    heights = []
    for _ in range(200):
        place.tick()
        heights.append(float(place.table.position[0, 2]))
    landed = next(i for i, z in enumerate(heights) if z < 0.0)
    assert landed * place.dt == pytest.approx(math.sqrt(2 * height / 9.81), abs=0.1)
    assert min(heights) > -0.05
    assert max(heights[landed:]) < 0.005
    assert abs(heights[min(landed + 50, 199)]) < 0.001
    assert heights[-1] == 0.0


@pytest.mark.thorough
@pytest.mark.parametrize("car", [TESLA, LINCOLN, "vehicle.carlamotors.firetruck"])
@pytest.mark.parametrize("grade", [-0.3, -0.1, 0.02, 0.2])
@pytest.mark.parametrize("yaw", [0.0, 1.0])
def test_a_braked_car_stands_on_a_slope(car: str, grade: float, yaw: float) -> None:
    place = Place(ramp(grade))
    place.car(car, at=(0.0, 0.0, 0.3), yaw=yaw)
    place.table.brake[0] = 1.0
    place.tick(100)
    before = place.table.position.tobytes()
    place.tick(500)
    assert place.table.position.tobytes() == before
    assert not place.table.velocity.any()


def test_the_handbrake_holds_a_car_on_a_slope() -> None:
    place = Place(ramp(0.15))
    place.car()
    place.table.hand_brake[0] = True
    place.tick(100)
    before = place.table.position.tobytes()
    place.tick(500)
    assert place.table.position.tobytes() == before


def test_a_free_car_rolls_down_a_slope() -> None:
    place = Place(ramp(-0.05))
    place.car(LINCOLN)
    place.tick(40)
    slope = math.atan(0.05)
    expected = 9.81 * math.sin(slope) * 2.0
    assert place.table.velocity[0, 0] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("grade", [0.1, -0.1])
def test_a_slope_across_pulls_a_car_aside_where_nothing_holds_it(grade: float) -> None:
    place = Place(ground(lambda x, y: grade * y))
    place.car()
    control = place.control()
    wheels = tuple(replace(wheel, tire_friction=0.0) for wheel in control.wheels)
    place.physics.set_control(place.table, 1, replace(control, wheels=wheels))
    place.tick(20)
    expected = -9.81 * math.sin(math.atan(grade))
    assert place.table.velocity[0, 1] == pytest.approx(expected, rel=0.05)


def test_climbing_costs_speed() -> None:
    speeds = []
    for grade in (0.0, 0.1):
        place = Place(ramp(grade))
        place.car(LINCOLN)
        place.table.throttle[0] = 1.0
        place.tick(160)
        speeds.append(place.speed())
    assert speeds[1] < speeds[0] - 3.0


def test_pitch_and_roll_are_those_of_the_ground() -> None:
    place = Place(ground(lambda x, y: 0.1 * x + 0.05 * y))
    place.car(at=(0.0, 0.0, 0.0))
    place.table.brake[0] = 1.0
    place.tick(60)
    assert place.table.position[0, 2] == pytest.approx(0.0, abs=1e-3)
    assert place.table.rotation[0, 0] == pytest.approx(math.atan(0.1), abs=1e-3)
    assert place.table.rotation[0, 2] == pytest.approx(-math.atan(0.05), abs=1e-3)


def test_over_hills_the_body_stays_within_its_springs() -> None:
    place = Place(ground(lambda x, y: 3.0 * np.sin(x / 20.0)))
    place.car(velocity=(10.0, 0.0))
    place.table.throttle[0] = 0.4
    for _ in range(300):
        place.tick()
        x, _, z = place.table.position[0]
        assert abs(z - 3.0 * math.sin(x / 20.0)) < 0.08
    assert place.table.position[0, 0] > 100.0


def test_a_fast_car_leaves_the_ground_over_a_sharp_crest() -> None:
    place = Place(ground(lambda x, y: np.where(x < 50.0, 0.0, -4.0)))
    place.car(velocity=(20.0, 0.0))
    flights = 0
    for _ in range(100):
        place.tick()
        x, _, z = place.table.position[0]
        flights += bool(x > 54.0 and z > -3.5)
    assert flights >= 3
    assert place.table.position[0, 2] == pytest.approx(-4.0, abs=1e-3)


def test_two_wheelers_stay_upright() -> None:
    place = Place(ground(lambda x, y: 0.1 * y))
    place.car("vehicle.yamaha.yzf", velocity=(10.0, 0.0))
    place.table.steer[0] = 0.3
    for _ in range(60):
        place.tick()
        assert place.table.rotation[0, 2] == 0.0


def test_cars_drive_over_and_under_a_deck() -> None:
    upper = np.full_like(FLAT.lower, np.nan)
    upper[:, 240:280] = 6.0
    place = Place(replace(FLAT, upper=upper))
    place.car(at=(45.0, 0.0, 6.0), velocity=(5.0, 0.0))
    place.car(at=(45.0, 20.0, 0.0), velocity=(5.0, 0.0))
    place.tick(60)
    assert place.table.position[:, 0].min() > 55.0
    assert place.table.position[0, 2] == pytest.approx(6.0, abs=1e-3)
    assert place.table.position[1, 2] == pytest.approx(0.0, abs=1e-3)


def test_without_gravity_a_car_floats_and_keeps_its_velocity() -> None:
    place = Place()
    place.car(at=(0.0, 0.0, 0.7), velocity=(20.0, 0.0))
    place.table.gravity[0] = False
    place.table.brake[0] = 1.0
    place.tick(40)
    assert place.table.position[0, 2] == 0.7
    assert place.speed() == pytest.approx(20.0, abs=0.5)


def test_a_car_that_spins_in_the_air_gains_no_speed() -> None:
    place = Place()
    place.car(at=(0.0, 0.0, 60.0), velocity=(20.0, 0.0))
    place.physics.set_control(
        place.table, 1, replace(place.control(), center_of_mass=(0.0, 0.0, 0.0))
    )
    place.table.yaw_rate[0] = 10.0
    place.tick(40)
    assert place.table.position[0, 2] > 10.0
    assert math.hypot(*place.table.velocity[0, :2]) == pytest.approx(20.0, abs=0.5)


def test_a_car_put_far_below_the_ground_is_not_thrown_into_the_sky() -> None:
    place = Place()
    place.car(at=(0.0, 0.0, -500.0))
    place.tick(20)
    assert place.table.position[0, 2] < 1.0


def test_an_unsimulated_car_stays_where_it_is_put() -> None:
    place = Place(ramp(-0.2))
    place.car(at=(0.0, 0.0, 3.0))
    place.table.simulated[0] = False
    place.table.throttle[0] = 1.0
    place.tick(20)
    assert place.table.position[0].tolist() == [0.0, 0.0, 3.0]


def test_a_held_velocity_is_held_in_the_body_frame() -> None:
    place = Place()
    place.car(yaw=0.5)
    place.table.held_velocity[0] = (6.0, 0.0, 0.0)
    place.table.brake[0] = 1.0
    place.tick(20)
    assert place.table.velocity[0, :2] == pytest.approx([6 * math.cos(0.5), 6 * math.sin(0.5)])
    place.table.steer[0] = 0.4
    place.tick(20)
    yaw = float(place.table.rotation[0, 1])
    assert yaw > 0.6
    assert place.table.velocity[0, :2] == pytest.approx([6 * math.cos(yaw), 6 * math.sin(yaw)])
