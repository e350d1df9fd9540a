"""Walkers do as their control says and stay on their feet."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.carlite.arrays import Floats
from harness.carlite.dynamics import pushes
from tests.carlite.proving_ground import DT, Place, ground


def test_a_walker_without_orders_stands_exactly_still() -> None:
    place = Place()
    place.walker()
    place.tick()
    before = place.table.position.tobytes() + place.table.rotation.tobytes()
    place.tick(1000)
    assert place.table.position.tobytes() + place.table.rotation.tobytes() == before


@pytest.mark.parametrize("heading", [0.0, 1.0, -2.5, 3.1])
@pytest.mark.parametrize("dt", [0.05, 0.1])
def test_a_walker_goes_where_it_is_sent_and_faces_there(heading: float, dt: float) -> None:
    place = Place(dt=dt)
    place.walker()
    place.table.walk_direction[0] = (math.cos(heading), math.sin(heading), 0.0)
    place.table.walk_speed[0] = 1.5
    place.tick(round(10 / dt))
    way = np.array([math.cos(heading), math.sin(heading)])
    assert place.table.velocity[0, :2] == pytest.approx(1.5 * way)
    assert place.table.position[0, :2] @ way == pytest.approx(15.0, abs=0.3)
    assert place.table.rotation[0, 1] == pytest.approx(heading, abs=1e-9)
    place.table.walk_speed[0] = 0.0
    place.tick(10)
    assert place.speed() == 0.0
    assert place.table.rotation[0, 1] == pytest.approx(heading, abs=1e-9)


def test_a_direction_of_any_length_and_a_backward_speed_will_do() -> None:
    place = Place()
    place.walker()
    place.table.walk_direction[0] = (0.0, 5.0, 2.0)
    place.table.walk_speed[0] = -1.0
    place.tick(20)
    assert place.table.velocity[0].tolist() == pytest.approx([0.0, -1.0, 0.0])


def test_feet_stay_on_the_ground_uphill() -> None:
    place = Place(ground(lambda x, y: 0.2 * x))
    place.walker()
    place.table.walk_direction[0] = (1.0, 0.0, 0.0)
    place.table.walk_speed[0] = 2.0
    place.tick(100)
    x, _, z = place.table.position[0]
    assert x > 9.0
    assert z - place.table.extent[0, 2] == pytest.approx(0.2 * x, abs=1e-4)
    assert place.table.velocity[0, 2] == pytest.approx(0.4, abs=1e-3)


def test_a_walker_falls_and_lands() -> None:
    place = Place()
    place.walker(at=(0.0, 0.0, 3.0))
    place.tick(5)
    assert place.table.velocity[0, 2] < -2.0
    place.tick(40)
    assert place.table.position[0, 2] == pytest.approx(place.table.extent[0, 2])
    assert not place.table.velocity.any()


def test_a_walker_steps_up_a_kerb_and_walks_off_a_ledge() -> None:
    def shape(x: Floats, y: Floats) -> Floats:
        kerb = np.where(x >= 3.0, 0.15, 0.0)
        return np.where(x >= 8.0, -2.0, kerb)

    place = Place(ground(shape))
    place.walker()
    place.table.walk_direction[0] = (1.0, 0.0, 0.0)
    place.table.walk_speed[0] = 1.5
    heights = []
    for _ in range(160):
        place.tick()
        heights.append(float(place.table.position[0, 2] - place.table.extent[0, 2]))
    assert place.table.position[0, 0] > 10.0
    assert max(heights) == pytest.approx(0.15, abs=1e-3)
    assert heights[-1] == pytest.approx(-2.0)
    assert np.diff(heights).min() > -0.6


def test_a_jump_goes_up_and_comes_down_once() -> None:
    place = Place()
    place.walker()
    place.tick()
    place.table.jump[0] = True
    heights = []
    for _ in range(60):
        place.tick()
        heights.append(float(place.table.position[0, 2] - place.table.extent[0, 2]))
    assert 0.5 < max(heights) < 1.2
    assert heights[-1] == 0.0
    landed = heights.index(0.0)
    assert not any(heights[landed:])


def test_velocity_and_acceleration_are_those_of_the_motion() -> None:
    place = Place()
    place.walker()
    place.table.walk_speed[0] = 3.0
    for tick in range(100):
        place.table.walk_direction[0] = (math.cos(0.2 * tick), math.sin(0.2 * tick), 0.0)
        before, velocity = place.table.position.copy(), place.table.velocity.copy()
        place.tick()
        assert place.table.velocity == pytest.approx((place.table.position - before) / DT, abs=1e-9)
        change = (place.table.velocity - velocity) / DT
        assert place.table.acceleration == pytest.approx(change, abs=1e-9)


def test_a_pushed_walker_staggers_and_recovers() -> None:
    place = Place()
    place.walker()
    place.table.walk_direction[0] = (1.0, 0.0, 0.0)
    place.table.walk_speed[0] = 1.0
    place.tick(20)
    pushes.apply_impulse(place.table, 0, (0.0, 4.0 * float(place.table.mass[0]), 0.0))
    place.tick(4)
    assert place.table.velocity[0, 1] > 1.0
    place.tick(20)
    assert place.table.velocity[0].tolist() == pytest.approx([1.0, 0.0, 0.0])


def test_an_unsimulated_walker_stays() -> None:
    place = Place()
    place.walker(at=(0.0, 0.0, 5.0))
    place.table.simulated[0] = False
    place.table.walk_speed[0] = 2.0
    place.tick(20)
    assert place.table.position[0].tolist() == [0.0, 0.0, 5.0]
