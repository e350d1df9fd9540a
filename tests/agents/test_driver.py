"""The driver in a world without a simulator: how it reacts to other road users."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agents.driving.footprint import compute_footprint_corners
from agents.driving.path import RoutePath
from agents.driving.settings import EgoVehicleModel
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, LightState
from tests.agents.little_world import (
    Ego,
    LittleWorld,
    Other,
    gets_away,
    moves,
    right_turn,
    route_along,
    stands,
    straight,
)

LEFTWARDS = -0.5 * math.pi
RIGHTWARDS = 0.5 * math.pi


def test_an_empty_road_is_driven_at_cruising_speed_in_the_middle() -> None:
    world = LittleWorld(straight()).drive(15)
    assert max(world.speeds) < 8.6
    assert world.speeds[-1] == pytest.approx(8.0, abs=0.3)
    assert max(abs(y) for _, y in world.places) < 0.1


@pytest.mark.thorough
@pytest.mark.parametrize("radius", [6.0, 9.0, 15.0, 30.0])
def test_turns_are_driven_on_the_line_and_slowly(radius: float) -> None:
    route = right_turn(radius)
    world = LittleWorld(route).drive(22)
    offsets = RoutePath(route).locate_points(np.array(world.places))[1]
    assert np.abs(offsets).max() < 0.5
    assert world.ego.yaw == pytest.approx(0.5 * math.pi, abs=0.05)
    slowest = min(world.speeds[100:])
    assert slowest**2 / radius < 3.5


@pytest.mark.thorough
@pytest.mark.parametrize("speed", [1.4, 3.0])
@pytest.mark.parametrize("begin", [2.0, 3.0, 4.0, 5.0])
def test_who_crosses_on_foot_is_not_touched(speed: float, begin: float) -> None:
    walker = moves(PEDESTRIAN, (45.0, 5.0), LEFTWARDS, speed, begin)
    world = LittleWorld(straight(), [walker]).drive(20)
    assert not world.touched
    assert world.ego.x > 60.0


def test_a_cyclist_from_the_side_is_not_touched() -> None:
    cyclist = moves(CYCLIST, (50.0, -30.0), RIGHTWARDS, 5.0)
    assert not LittleWorld(straight(), [cyclist]).drive(20).touched


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("speed", "away", "begin"),
    [(0.0, 24.0, 2.2), (3.0, 28.0, 2.0), (4.7, 28.0, 1.8), (6.0, 32.0, 2.2), (8.0, 36.0, 2.6)],
)
def test_a_cyclist_who_sets_off_is_not_raced(speed: float, away: float, begin: float) -> None:
    """At the speed of the first moments the cyclist would arrive behind us, and does not."""
    cyclist = gets_away(CYCLIST, (away, -6.3), RIGHTWARDS, 4.1, 4.0, begin)
    world = LittleWorld(straight(), [cyclist], ego=Ego(speed=speed)).drive(12)
    assert not world.touched
    assert world.ego.x > away + 10.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("aside", "over", "clear", "away"),
    [(0.8, 4, 1.9, 0.5), (1.2, 6, 1.9, 0.5), (1.6, 8, 2.2, 0.5), (2.0, 4, 2.2, 2.5)],
)
def test_a_parked_vehicle_close_to_a_lane_that_shifts_is_not_waited_for(
    aside: float, over: int, clear: float, away: float
) -> None:
    """Where the ego looks towards it there is less room than for comfort; it never drives off."""
    x = np.arange(0.0, 150.5)
    share = np.clip((x - 42.0) / over, 0.0, 1.0)
    route = route_along(np.column_stack([x, aside * share**2 * (3 - 2 * share)]))
    van = stands(VEHICLE, 42.0 + over + away + 2.3, aside + clear + 0.95)
    world = LittleWorld(route, [van]).drive(40)
    assert not world.touched
    assert world.ego.x > 80.0


@pytest.mark.thorough
def test_a_slow_leader_is_followed_at_its_pace() -> None:
    leader = moves(VEHICLE, (25.0, 0.0), 0.0, 4.0)
    world = LittleWorld(straight(), [leader]).drive(20)
    assert not world.touched
    assert world.speeds[-1] == pytest.approx(4.0, abs=0.4)
    gap = 25.0 + 4.0 * world.time - world.ego.x - 4.75
    assert 5.0 < gap < 14.0


def test_a_leader_that_brakes_hard_is_not_hit() -> None:
    def pose(time: float) -> tuple[float, float, float]:
        braking = min(max(time - 6.0, 0.0), 8.0 / 7.0)
        return 20.0 + 8.0 * min(time, 6.0) + 8.0 * braking - 3.5 * braking**2, 0.0, 0.0

    world = LittleWorld(straight(), [Other(VEHICLE, pose)]).drive(15)
    assert not world.touched
    assert world.speeds[-1] == 0.0


@pytest.mark.thorough
def test_who_stands_in_the_lane_is_waited_for() -> None:
    world = LittleWorld(straight(), [stands(VEHICLE, 60.0, 0.0)]).drive(20)
    assert not world.touched
    assert world.speeds[-1] == 0.0
    assert 1.5 < 60.0 - world.ego.x - 4.75 < 4.5


def test_parked_cars_next_to_the_lane_are_passed() -> None:
    parked = [stands(VEHICLE, x, 2.6) for x in (30.0, 37.0, 44.0)]
    world = LittleWorld(straight(), parked).drive(20)
    assert not world.touched
    assert world.ego.x > 80.0


@pytest.mark.thorough
def test_a_pedestrian_standing_half_in_the_lane_is_passed_slowly() -> None:
    world = LittleWorld(straight(), [stands(PEDESTRIAN, 50.0, 0.9)]).drive(22)
    assert not world.touched
    assert world.ego.x > 70.0
    next_to = [v for v, (x, _) in zip(world.speeds, world.places, strict=True) if 47 < x < 53]
    assert max(next_to) < 5.5
    assert min(y for _, y in world.places) > -1.0


@pytest.mark.thorough
@pytest.mark.parametrize("inward", [0.5, 0.0, -0.5])
def test_in_a_tight_bend_the_nose_is_where_the_body_points(inward: float) -> None:
    """A pedestrian who walks outward, across the nose of a car that stands in a bend of 6 m."""
    angle, radius = 0.3, 6.0
    slip = math.asin(0.5 * EgoVehicleModel().wheelbase / radius)
    x, y = on_the_bend(angle, radius)
    ahead = angle + 4.5 / radius
    walker = moves(PEDESTRIAN, on_the_bend(ahead, radius, inward), ahead + LEFTWARDS, 0.5)
    route, ego = right_turn(radius, 20.0, 40.0), Ego(x=x, y=y, yaw=angle - slip)
    assert not LittleWorld(route, [walker], ego=ego).drive(12).touched


def on_the_bend(angle: float, radius: float, inward: float = 0.0) -> tuple[float, float]:
    """Return a place on a right turn that begins at x = 20."""
    away = radius - inward
    return 20.0 + away * math.sin(angle), radius - away * math.cos(angle)


@pytest.mark.thorough
def test_traffic_in_the_other_lane_does_not_slow_the_ego() -> None:
    oncoming = [moves(VEHICLE, (60.0 + 25.0 * k, -3.5), math.pi, 8.0) for k in range(5)]
    world = LittleWorld(straight(), oncoming).drive(15)
    assert not world.touched
    assert min(world.speeds[100:]) > 7.5


def test_a_red_light_is_stopped_for_and_left_at_green() -> None:
    def light(time: float) -> LightState:
        return "red" if time < 15.0 else "green"

    world = LittleWorld(straight(), light=light, light_station=60.0)
    world.drive(14)
    assert world.speeds[-1] == 0.0
    assert 0.5 < 60.0 - world.ego.x - 2.45 < 2.5
    world.drive(8)
    assert world.ego.x > 75.0


@pytest.mark.thorough
def test_a_light_that_turns_yellow_too_late_is_passed() -> None:
    def light(time: float) -> LightState:
        return "green" if time < 8.0 else "yellow"

    station = 60.0
    before = LittleWorld(straight(), light=lambda _: "green", light_station=station).drive(8)
    late = LittleWorld(straight(), light=light, light_station=before.ego.x + 6.0).drive(14)
    assert min(late.speeds[160:]) > 7.0
    soon = LittleWorld(straight(), light=light, light_station=before.ego.x + 18.0).drive(14)
    assert soon.speeds[-1] == 0.0


@pytest.mark.thorough
def test_cross_traffic_at_a_junction_is_given_way() -> None:
    crossing = [moves(VEHICLE, (50.0, -45.0 - 12.0 * k), RIGHTWARDS, 8.0) for k in range(3)]
    world = LittleWorld(straight(junction=(40.0, 60.0)), crossing).drive(25)
    assert not world.touched
    assert world.ego.x > 70.0


@pytest.mark.thorough
def test_turning_across_an_oncoming_car_waits() -> None:
    route = right_turn(9.0, before=40.0)
    route.xyz[:, 1] *= -1.0
    route.yaw[:] *= -1.0
    oncoming = [moves(VEHICLE, (110.0 + 14.0 * k, -3.5), math.pi, 9.0) for k in range(3)]
    world = LittleWorld(route, oncoming).drive(25)
    assert not world.touched
    assert world.ego.y < -30.0


def test_the_ego_stops_for_an_oncoming_car_that_creeps() -> None:
    creeping = moves(VEHICLE, (70.0, 0.0), math.pi, 1.0, 6.0)
    world = LittleWorld(straight(), [creeping])
    while not world.touched:
        world.drive(0.2)
    assert world.speeds[-1] < 0.1


@pytest.mark.thorough
def test_a_junction_is_kept_clear_but_not_for_ever() -> None:
    queue = stands(VEHICLE, 66.0, 0.0)
    world = LittleWorld(straight(junction=(45.0, 61.0)), [queue]).drive(14)
    assert world.speeds[-1] == 0.0
    assert world.ego.x < 43.0
    world.drive(12)
    assert world.speeds[-1] == 0.0
    assert 56.0 < world.ego.x < 61.0


@pytest.mark.thorough
def test_boxes_that_tremble_do_not_stop_the_car() -> None:
    parked = [stands(VEHICLE, x, 3.2) for x in range(20, 100, 7)]
    people = [stands(PEDESTRIAN, x, -4.0) for x in range(20, 100, 9)]
    world = LittleWorld(straight(), [*parked, *people], jitter=0.15).drive(18)
    assert world.ego.x > 85.0


def test_a_box_far_inside_a_bend_lies_in_one_place() -> None:
    quarter = np.linspace(0.0, 0.5 * np.pi, 16)[1:]
    bend = 10.0 * np.stack([np.sin(quarter), 1.0 - np.cos(quarter)], axis=1)
    straight = np.stack([np.arange(-40.0, 0.0), np.zeros(40)], axis=1)
    on = bend[-1] + np.stack([np.zeros(40), np.arange(1.0, 41.0)], axis=1)
    path = RoutePath(route_along(np.concatenate([straight, bend, on])))
    box = compute_footprint_corners(
        np.array([[-15.0, 25.0]]), np.array([0.8]), np.array([9.0]), np.array([2.5])
    )
    stations, offsets = path.locate_boxes(box, 0.0, path.length)
    assert np.ptp(stations) < 10.0
    assert (offsets > 15.0).all()
