"""Who goes first where planned paths conflict: analytic cases, and drives of several cars."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from agents.driving.driver import Driver
from agents.driving.intended_motion import extend_motion
from agents.driving.right_of_way import (
    FRONT,
    HELD_SECONDS,
    REAR,
    SIDE,
    RightOfWay,
    decide_precedence,
    find_conflict,
    find_number,
)
from agents.driving.settings import DrivingSettings
from harness.types.intentions import place_motion
from harness.types.vocabulary import Boxes, Intention, PlannedMotion
from tests.agents.crossing_world import CrossingWorld, left_turn, straight_way
from tests.agents.little_world import LittleWorld, straight

SETTINGS = DrivingSettings()
TIMES = np.linspace(0.0, 4.8, 25)
LENGTH, WIDTH = 5.0, 2.0
EAST, SOUTH, WEST = 0.0, 0.5 * math.pi, math.pi


def drives(
    start: tuple[float, float], yaw: float, speed: float, braking: float = 0.0
) -> PlannedMotion:
    """Return the plan of a car that drives straight on, or brakes until it stands."""
    moving = np.minimum(TIMES, speed / braking) if braking else TIMES
    way = speed * moving - 0.5 * braking * moving**2
    ahead = np.array([math.cos(yaw), math.sin(yaw)])
    return PlannedMotion(
        times=TIMES,
        centre=np.array(start) + way[:, None] * ahead,
        yaw=np.full(len(TIMES), yaw),
        speed=speed - braking * moving,
        length=LENGTH,
        width=WIDTH,
    )


def decide(
    name: str, wish: PlannedMotion, *others: Intention, by: RightOfWay | None = None
) -> tuple[float | None, list[tuple[str, bool, str]]]:
    """Return where a car stops, and its decisions; its stations are metres from its start."""
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(wish.centre, axis=0).T))])
    ruling = (by or RightOfWay(SETTINGS)).decide_step(name, wish, way, others)
    stop = None if ruling.stop is None else ruling.stop.station
    return stop, [(one.other, one.ego_first, one.reason) for one in ruling.precedences]


def test_two_paths_at_a_right_angle_have_the_arrivals_of_geometry() -> None:
    speed, near, far = 8.0, 20.0, 26.0
    claims = find_conflict(drives((-near, 0.0), EAST, speed), drives((0.0, -far), SOUTH, speed))
    assert claims is not None
    # the front reaches the other's side; the rear leaves it
    body, side = 0.5 * LENGTH, 0.5 * WIDTH + SIDE
    for claim, metres in zip(claims, (near, far), strict=True):
        enters = (metres - body - FRONT - side) / speed
        assert enters <= claim.arrival <= enters + 0.2
        leaves = (metres + body + REAR + side) / speed
        assert leaves <= claim.leaving <= leaves + 0.2
        # the last time before it is less than a step before
        assert enters - 0.2 <= TIMES[claim.place] <= enters
        assert claim.braking == pytest.approx(speed / (2.0 * enters), rel=0.1)


def test_the_later_one_yields_and_stops_before_the_shared_place() -> None:
    one, other = drives((-20.0, 0.0), EAST, 8.0), drives((0.0, -26.0), SOUTH, 8.0)
    assert decide("ego-1", one, Intention("ego-0", other)) == (None, [("ego-0", True, "earlier")])
    stop, decided = decide("ego-0", other, Intention("ego-1", one))
    assert decided == [("ego-1", False, "earlier")]
    room = 26.0 - 0.5 * LENGTH - FRONT - 0.5 * WIDTH - SIDE
    assert stop is not None
    assert room - 1.6 <= stop <= room


def test_of_equal_arrivals_the_smaller_number_goes_first() -> None:
    one, other = drives((-20.0, 0.0), EAST, 8.0), drives((0.0, -20.0), SOUTH, 8.0)
    assert decide("ego-0", one, Intention("ego-1", other)) == (None, [("ego-1", True, "number")])
    stop, decided = decide("ego-1", other, Intention("ego-0", one))
    assert decided == [("ego-0", False, "number")]
    assert stop is not None
    # numbers are compared as numbers
    assert decide("ego-2", one, Intention("ego-10", other))[1] == [("ego-10", True, "number")]
    assert [find_number(name) for name in ("ego-12", "vehicle-3", "ego")] == [12, 3, 0]


def test_one_that_cannot_stop_goes_first_however_late() -> None:
    # 15 m before the shared place at 12 m/s; 0.3 m before it at 1 m/s, there 0.9 s earlier
    fast, slow = drives((-20.9, 0.0), EAST, 12.0), drives((0.0, -6.2), SOUTH, 1.0)
    assert decide("ego-5", fast, Intention("ego-0", slow))[1] == [("ego-0", True, "cannot_stop")]
    assert decide("ego-0", slow, Intention("ego-5", fast))[1] == [("ego-5", False, "cannot_stop")]


@pytest.mark.parametrize(
    "other",
    [
        drives((5.0, -20.0), WEST, 8.0),  # oncoming, far aside
        drives((0.0, 3.5), EAST, 8.0),  # in the next lane
        drives((30.0, 3.5), WEST, 8.0),  # oncoming in the next lane
        drives((10.0, 0.0), EAST, 6.0),  # ahead in the lane: followed, not crossed
        drives((-15.0, 0.0), EAST, 9.0),  # behind in the lane
        drives((30.0, -24.0), SOUTH, 8.0, braking=2.0),  # stops before
        drives((20.0, -2.0), SOUTH, 0.0),  # stands in the way: an obstacle
        drives((10.0, -60.0), SOUTH, 12.0),  # comes when the ego has left
    ],
)
def test_a_path_that_does_not_conflict_changes_nothing(other: PlannedMotion) -> None:
    assert decide("ego-1", drives((0.0, 0.0), EAST, 8.0), Intention("ego-0", other)) == (None, [])


def test_both_sides_of_a_conflict_agree() -> None:
    random, met = np.random.default_rng(1), 0
    for _ in range(300):
        first, second = (
            drives(
                (-d * math.cos(yaw), -d * math.sin(yaw)),
                yaw,
                float(random.uniform(0.5, 12.0)),
                braking=float(random.choice([0.0, 0.5, 2.0])),
            )
            for d, yaw in zip(
                random.uniform(5.0, 30.0, 2), random.uniform(-math.pi, math.pi, 2), strict=True
            )
        )
        ones = decide("ego-0", first, Intention("ego-1", second))[1]
        others = decide("ego-1", second, Intention("ego-0", first))[1]
        # both see a conflict or neither does, for one reason, and exactly one yields
        assert [one[2] for one in ones] == [other[2] for other in others]
        assert all(one[1] != other[1] for one, other in zip(ones, others, strict=True))
        met += len(ones)
    assert met > 60


def test_the_larger_number_waits_for_one_that_stops_as_well() -> None:
    ways, wish = RightOfWay(SETTINGS), drives((-20.0, 0.0), EAST, 8.0)
    crosses = Intention("ego-0", drives((0.0, -20.0), SOUTH, 8.0))
    stops = Intention("ego-0", drives((0.0, -20.0), SOUTH, 8.0, braking=4.0))
    stop, decided = decide("ego-1", wish, crosses, by=ways)
    assert decided == [("ego-0", False, "number")]
    held = round(HELD_SECONDS / SETTINGS.step)
    for _ in range(held - 1):
        assert decide("ego-1", wish, stops, by=ways) == (stop, [("ego-0", False, "waits")])
    assert decide("ego-1", wish, stops, by=ways) == (None, [])
    # the smaller number sets off at once
    ways = RightOfWay(SETTINGS)
    wish = drives((-22.0, 0.0), EAST, 8.0)
    earlier = Intention("ego-1", drives((0.0, -16.5), SOUTH, 8.0))
    assert decide("ego-0", wish, earlier, by=ways)[1] == [("ego-1", False, "earlier")]
    stops = Intention("ego-1", drives((0.0, -20.0), SOUTH, 8.0, braking=4.0))
    assert decide("ego-0", wish, stops, by=ways) == (None, [])


def test_of_two_that_stand_abreast_the_smaller_number_sets_off_first() -> None:
    wish = drives((0.0, 0.0), EAST, 8.0)
    sets_off = replace(wish, speed=np.minimum(3.0 * TIMES, 8.0))
    abreast = drives((1.0, 2.5), EAST, 0.0)
    ways = RightOfWay(SETTINGS)
    for _ in range(round(HELD_SECONDS / SETTINGS.step) - 1):
        waits = decide("ego-1", sets_off, Intention("ego-0", abreast), by=ways)
        assert waits == (0.0, [("ego-0", False, "waits")])
    # one that stays is an obstacle
    for _ in range(3):
        assert decide("ego-1", sets_off, Intention("ego-0", abreast), by=ways) == (None, [])
    # neither the smaller number waits, nor one that drives
    assert decide("ego-0", sets_off, Intention("ego-1", abreast)) == (None, [])
    assert decide("ego-1", wish, Intention("ego-0", abreast)) == (None, [])


def test_arrivals_half_a_second_apart_are_equal() -> None:
    near, claims = drives((-20.0, 0.0), EAST, 10.0), []
    for metres in (24.0, 27.0):
        both = find_conflict(near, drives((0.0, -metres), SOUTH, 10.0))
        assert both is not None
        claims.append(decide_precedence(*both, numbers=(7, 3), most_braking=4.0))
    assert claims == [(False, "number"), (True, "earlier")]


def test_a_vehicle_that_yields_is_expected_to_brake_along_its_way() -> None:
    plan = drives((0.0, 0.0), SOUTH, 8.0)
    later = np.array([0.0, 1.0, 4.0, 6.0])
    assert extend_motion(plan, later)[0][:, 1] == pytest.approx(8.0 * later)
    # 2.5 m/s²: it stands after 3.2 s and 12.8 m
    braked = extend_motion(plan, later, braking=2.5)[0][:, 1]
    assert braked == pytest.approx([0.0, 8.0 - 1.25, 12.8, 12.8])
    # one that plans to brake harder does
    stops = drives((0.0, 0.0), SOUTH, 8.0, braking=4.0)
    assert extend_motion(stops, later, braking=2.5)[0][:, 1] == pytest.approx([0, 6, 8, 8], abs=0.1)


def test_without_intentions_drivers_collide_and_with_them_one_yields() -> None:
    ways = [straight_way((-25.0, 0.0), EAST), straight_way((0.0, -25.0), SOUTH)]
    assert CrossingWorld(ways, intends=False).drive(10.0).touched
    world = CrossingWorld(ways).drive(25.0)
    assert (world.touched, world.arrived) == (False, True)
    assert (world.yielded(0), world.yielded(1)) == (set(), {"ego-0"})


def test_side_by_side_one_sets_off_first() -> None:
    # the way of the second one crosses that of the first at a small angle, right ahead of it
    ways = [straight_way((0.0, 0.0), WEST), straight_way((-1.0, -3.4), WEST - 0.3)]
    world = CrossingWorld(ways).drive(30.0)
    assert (world.touched, world.arrived) == (False, True)
    assert (world.yielded(0), world.yielded(1)) == (set(), {"ego-0"})


@pytest.mark.thorough
@pytest.mark.parametrize("late", [0, 2, 4])
def test_late_intentions_are_enough(late: int) -> None:
    for ways in (
        [straight_way((-25.0, 0.0), EAST), straight_way((0.0, -28.0), SOUTH)],
        [left_turn((-40.0, 0.0), EAST, 42.0, 8.0), straight_way((41.0, -3.5), WEST)],
    ):
        world = CrossingWorld(ways, speeds=[6.0, 6.0], late=late).drive(30.0)
        assert (world.touched, world.arrived) == (False, True)
        assert any(not one.ego_first for _, _, one in world.log)


@pytest.mark.thorough
def test_four_from_four_sides_pass_one_after_another() -> None:
    ways = [
        straight_way((-30.0, 1.75), EAST),
        straight_way((30.0, -1.75), WEST),
        straight_way((-1.75, -30.0), SOUTH),
        straight_way((1.75, 30.0), -SOUTH),
    ]
    assert not CrossingWorld(ways, intends=False).drive(40.0).arrived
    world = CrossingWorld(ways).drive(40.0)
    assert (world.touched, world.arrived) == (False, True)


def test_an_intention_without_conflict_leaves_a_drive_as_it_was() -> None:
    controls = []
    for intends in (False, True):
        ways = [straight_way((-30.0, 0.0), EAST), straight_way((40.0, -3.5), WEST)]
        world = CrossingWorld(ways, intends=intends).drive(8.0)
        controls.append([(ego.x, ego.y, ego.speed) for ego in world.egos])
        assert world.log == []
    assert controls[0] == controls[1]


def test_a_driver_says_what_it_plans() -> None:
    driver = Driver()
    assert driver.planned is None
    world = LittleWorld(straight(200.0), driver=driver).drive(10.05)
    plan = driver.planned
    assert plan is not None
    # its times are those of observations, the first that of the last step
    assert plan.times == pytest.approx(10.0 + TIMES)
    assert plan.speed == pytest.approx(SETTINGS.cruise_speed, abs=0.1)
    assert plan.centre[0] == pytest.approx([world.ego.x - 0.05 * world.ego.speed, 0.0], abs=0.05)
    assert np.diff(plan.centre[:, 0]) == pytest.approx(0.2 * plan.speed[1:], abs=0.05)
    assert (plan.length, plan.width) == (SETTINGS.car.length, SETTINGS.car.width)
    driver.reset(straight())
    assert (driver.planned, driver.precedences) == (None, ())


def test_a_driver_meets_what_is_not_detected_by_its_intention_alone() -> None:
    # nothing is detected; the plan of a crossing car is heard at every step
    driver, world = Driver(), LittleWorld(straight(150.0))
    driver.reset(world.route)
    observation, _ = world._look()
    crosses = Intention(
        "ego-0",
        place_motion(
            drives((20.0, -20.0), SOUTH, 8.0),
            observation.vehicle_in_world,
            observation.lidar_in_world,
        ),
    )
    heard = replace(observation, sender="ego-1", speed=8.0, intentions=(crosses,))
    driver.step(heard, Boxes.none())
    assert [one.ego_first for one in driver.precedences] == [False]
    assert driver.planned is not None
    assert driver.planned.speed[-1] < 4.0
