"""What happens when things run into each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.carlite.actors import ActorKind
from harness.carlite.dynamics import collisions
from harness.carlite.dynamics.collisions import CollisionContact
from tests.carlite.proving_ground import LINCOLN, TESLA, Place, scenery

NOTHING = scenery()
WALL = scenery((40.0, 0.0, 2.0, 0.3, 30.0, 2.0, 0.0))


def collide(place: Place) -> list[CollisionContact]:
    """Only the collision step: no tyres, no pedals."""
    table = place.table
    table.position[:, :2] += table.velocity[:, :2] * place.dt
    table.rotation[:, 1] += table.yaw_rate * place.dt
    return collisions.resolve_collisions(table, place.obstacles, place.dt)


def momentum(place: Place) -> np.ndarray:
    table = place.table
    linear = (table.mass[:, None] * table.velocity[:, :2]).sum(0)
    half = table.extent[:, :2]
    spin = 0.8 * table.mass * (half**2).sum(1) / 3.0 * table.yaw_rate
    position, impulse = table.position[:, :2], table.mass[:, None] * table.velocity[:, :2]
    orbit = position[:, 0] * impulse[:, 1] - position[:, 1] * impulse[:, 0]
    return np.array([*linear, float((spin + orbit).sum())])


def corners(place: Place, slot: int) -> np.ndarray:
    table = place.table
    yaw, half = float(table.rotation[slot, 1]), table.extent[slot, :2]
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    centre = table.position[slot, :2] + turn @ table.box_centre[slot, :2]
    placed: np.ndarray = centre + (signs * half) @ turn.T
    return placed


@pytest.mark.parametrize("speed", [1.0, 5.0, 15.0, 30.0, 60.0])
def test_a_car_stops_at_a_wall(speed: float) -> None:
    place = Place(obstacles=WALL)
    place.car(velocity=(speed, 0.0))
    place.table.throttle[0] = 0.5
    contacts = []
    for _ in range(200):
        contacts += place.tick()
        assert corners(place, 0)[:, 0].max() < 39.7 + 0.02
    assert contacts[0].actor == 1
    assert (contacts[0].other, contacts[0].piece) == (-1, 0)
    mass = float(place.table.mass[0])
    assert mass * speed * 0.5 < -contacts[0].impulse[0] < mass * (1.2 * speed + 15.0)


@pytest.mark.thorough
@pytest.mark.parametrize("speed", [1.0, 5.0, 15.0, 30.0, 60.0])
@pytest.mark.parametrize("off_centre", [0.0, 0.3, -0.9])
def test_a_car_never_passes_through_a_pole(speed: float, off_centre: float) -> None:
    place = Place(obstacles=scenery((40.0, off_centre, 1.0, 0.1, 0.1, 1.0, 0.4)))
    place.car(velocity=(speed, 0.0))
    place.table.throttle[0] = 0.5
    contacts = []
    for _ in range(200):
        contacts += place.tick()
        yaw = float(place.table.rotation[0, 1])
        x, y = np.array([40.0, off_centre]) - place.table.position[0, :2]
        ahead, aside = x * math.cos(yaw) + y * math.sin(yaw), y * math.cos(yaw) - x * math.sin(yaw)
        half_length, half_width = place.table.extent[0, :2]
        assert abs(ahead) > half_length or abs(aside) > half_width
    assert contacts
    assert place.table.position[0, 0] < 40.0 or abs(off_centre) > 0.0


def test_a_car_leaning_on_a_wall_stays_outside_and_still() -> None:
    place = Place(obstacles=WALL)
    place.car(velocity=(3.0, 0.0))
    place.table.throttle[0] = 1.0
    place.tick(400)
    front = corners(place, 0)[:, 0].max()
    assert front == pytest.approx(39.7, abs=0.02)
    assert place.speed() < 0.5


def test_a_glancing_car_slides_along_the_wall() -> None:
    wall = scenery((100.0, 3.0, 2.0, 200.0, 0.3, 2.0, 0.0))
    place = Place(obstacles=wall)
    place.car(yaw=0.08, velocity=(15 * math.cos(0.08), 15 * math.sin(0.08)))
    touched = 0
    for _ in range(60):
        touched += len(place.tick())
        assert corners(place, 0)[:, 1].max() < 2.7 + 0.05
    assert touched
    assert place.table.position[0, 0] > 25.0
    assert abs(place.table.rotation[0, 1]) < 0.1


def test_a_head_on_crash_of_equals_stops_both_where_they_meet() -> None:
    place = Place()
    place.car(at=(0.0, 0.0, 0.0), velocity=(15.0, 0.0))
    place.car(at=(30.0, 0.0, 0.0), yaw=math.pi, velocity=(-15.0, 0.0))
    place.physics.rows["pull"] = 0.0
    contacts = [contact for _ in range(40) for contact in place.tick()]
    assert contacts[0].actor == 1
    assert contacts[0].other == 2
    assert place.table.velocity[0, 0] == pytest.approx(-place.table.velocity[1, 0], abs=1e-9)
    assert place.speed() < 2.5
    assert place.table.position[:, 0].sum() == pytest.approx(30.0, abs=1e-6)
    assert abs(place.table.yaw_rate).max() < 1e-9


def test_fast_cars_do_not_pass_through_one_another() -> None:
    place = Place()
    place.car(at=(0.0, 0.0, 0.0), velocity=(50.0, 0.0))
    place.car(LINCOLN, at=(40.0, 0.2, 0.0), yaw=math.pi, velocity=(-50.0, 0.0))
    place.tick(30)
    assert place.table.position[0, 0] < place.table.position[1, 0]


def test_a_standing_car_is_shoved_and_friction_stops_it() -> None:
    place = Place()
    place.car(at=(12.0, 0.0, 0.0))
    place.car(velocity=(8.0, 0.0))
    place.table.brake[0] = 1.0
    place.tick(40)
    assert place.table.position[0, 0] > 12.3
    place.table.brake[1] = 1.0
    place.tick(200)
    assert place.speed(0) == 0.0


def test_a_hit_off_centre_turns_the_car() -> None:
    place = Place()
    place.car(at=(8.0, 0.0, 0.0), yaw=math.pi / 2)
    place.car(at=(0.0, 1.8, 0.0), velocity=(15.0, 0.0))
    place.tick(8)
    assert place.table.velocity[0, 0] > 2.0
    assert place.table.yaw_rate[0] < -0.3


def test_a_heavy_truck_hardly_notices_a_small_car() -> None:
    place = Place()
    place.car("vehicle.carlamotors.firetruck", velocity=(10.0, 0.0))
    place.car("vehicle.micro.microlino", at=(8.0, 0.0, 0.0))
    place.tick(6)
    assert place.table.velocity[0, 0] > 8.5
    assert place.table.velocity[1, 0] > 8.0


def test_a_struck_walker_is_thrown_and_comes_to_rest() -> None:
    place = Place()
    place.car(velocity=(12.0, 0.0))
    walker = place.walker(at=(6.0, 0.3, 0.93))
    place.table.brake[0] = 1.0
    contacts = [contact for _ in range(100) for contact in place.tick()]
    assert {contacts[0].actor, contacts[0].other} == {1, 2}
    assert place.table.position[walker, 0] > 7.0
    assert place.speed(walker) == 0.0
    assert place.table.position[walker, 2] == pytest.approx(place.table.extent[walker, 2])


def test_a_queue_is_pushed_together_without_overlap() -> None:
    place = Place()
    for index in range(5):
        place.car(at=(5.5 * index, 0.0, 0.0))
    place.car(at=(-12.0, 0.0, 0.0), velocity=(15.0, 0.0))
    place.tick(100)
    order = np.sort(place.table.position[:, 0])
    assert np.diff(order).min() > 2 * place.table.extent[0, 0] - 0.02
    assert place.table.position[4, 0] > 22.5


def test_cars_above_one_another_do_not_touch() -> None:
    place = Place()
    place.car(velocity=(10.0, 0.0))
    place.car(at=(8.0, 0.0, 6.0))
    assert [collide(place) for _ in range(20)] == [[]] * 20


def test_what_lies_flat_is_driven_over_and_the_ghostly_passed_through() -> None:
    place = Place(obstacles=scenery((10.0, 0.0, 0.05, 1.0, 1.0, 0.05, 0.0)))
    place.car(velocity=(10.0, 0.0))
    place.car(at=(20.0, 0.0, 0.0))
    place.table.solid[1] = False
    assert place.tick(60) == []


def test_props_stand_fast_and_attached_ones_are_left_out() -> None:
    for parent, stopped in ((0, True), (1, False)):
        place = Place()
        place.car(velocity=(10.0, 0.0))
        place.table.add_actor(
            9, kind=ActorKind.PROP, parent=parent, position=(10.0, 0.0, 0.0), mass=50.0, solid=True,
            extent=(0.5, 0.5, 0.5), box_centre=(0.0, 0.0, 0.5),
        )  # fmt: skip
        contacts = place.tick(60)
        assert bool(contacts) is stopped
        assert place.table.position[1].tolist() == [10.0, 0.0, 0.0]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_two_free_bodies_keep_their_momentum_and_gain_no_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    place = Place()
    place.car(TESLA, at=(0.0, 0.0, 0.0), yaw=rng.uniform(-3, 3), velocity=(10.0, 0.0))
    place.car(LINCOLN, at=(9.0, rng.uniform(-2, 2), 0.0), yaw=rng.uniform(-3, 3))
    place.table.velocity[1, :2] = rng.uniform(-20, 5, 2)
    place.table.yaw_rate[:] = rng.uniform(-2, 2, 2)
    for _ in range(20):
        before, energy = momentum(place), place.kinetic_energy()
        position = place.table.position.copy()
        contacts = collide(place)
        after = momentum(place)
        assert after[:2] == pytest.approx(before[:2], abs=1e-6)
        assert place.kinetic_energy() <= energy * (1 + 1e-12)
        if contacts:
            given = np.array(contacts[0].impulse[:2])
            moved = np.abs(place.table.position - position).max()
            assert moved < 3.0
            assert np.linalg.norm(given) > 0.0


@pytest.mark.parametrize("seed", range(8))
def test_a_melee_never_gains_energy_and_ends_apart(seed: int) -> None:
    """Twenty cars and walkers thrown at each other between walls."""
    rng = np.random.default_rng(100 + seed)
    walls = scenery(
        (-25.0, 0.0, 2.0, 0.5, 26.0, 2.0, 0.0),
        (25.0, 0.0, 2.0, 0.5, 26.0, 2.0, 0.0),
        (0.0, -25.0, 2.0, 26.0, 0.5, 2.0, 0.0),
        (0.0, 25.0, 2.0, 26.0, 0.5, 2.0, 0.0),
        (0.0, 0.0, 2.0, 1.0, 1.0, 2.0, 0.5),
    )
    place = Place(obstacles=walls)
    for index in range(20):
        x, y = -20.0 + 10.0 * (index % 5), -18.0 + 11.0 * (index // 5)
        if index % 4 == 3:
            place.walker(at=(x, y, 0.93))
        else:
            place.car(at=(x, y, 0.0), yaw=float(rng.uniform(-3, 3)))
    place.table.velocity[:, :2] = rng.normal(0.0, 12.0, (20, 2))
    place.table.yaw_rate[:] = np.where(
        place.table.kind == ActorKind.VEHICLE, rng.normal(0, 1, 20), 0.0
    )
    for _ in range(100):
        energy = place.kinetic_energy()
        collide(place)
        assert place.kinetic_energy() <= energy * (1 + 1e-12)
        assert np.abs(place.table.position[:, :2]).max() < 27.0


def test_the_impulse_is_the_change_of_momentum() -> None:
    place = Place()
    place.car(velocity=(10.0, 0.0))
    place.car(LINCOLN, at=(5.0, 0.7, 0.0), yaw=0.4)
    before = place.table.velocity.copy()
    (contact,) = collide(place)
    change = place.table.mass[:, None] * (place.table.velocity - before)
    assert contact.impulse == pytest.approx(change[0].tolist())
    assert contact.impulse == pytest.approx((-change[1]).tolist())
    assert place.table.acceleration[0] == pytest.approx(
        (place.table.velocity - before)[0] / place.dt
    )


def test_contacts_are_reported_once_and_in_order() -> None:
    place = Place()
    place.car(velocity=(10.0, 0.0))
    for aside in (0.7, -0.7, 0.0):
        place.walker(at=(3.0, aside, 0.93))
    contacts = collide(place)
    pairs = [(contact.actor, contact.other) for contact in contacts]
    assert pairs == [(1, 2), (1, 3), (1, 4)]
