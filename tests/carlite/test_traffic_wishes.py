"""What clients may ask of the Traffic Manager, and what comes of it."""

from __future__ import annotations

import numpy as np
import pytest

from harness.carlite.towns.lookup import LaneFinder
from harness.carlite.traffic.driving import BRAKE_LIGHT, LEFT_BLINKER, RIGHT_BLINKER
from harness.carlite.traffic.records import as_columns
from tests.carlite.traffic_runner import Scenario, load

CAR = "vehicle.tesla.model3"


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(load("Crucible05"))


def green(scenario: Scenario) -> None:
    """Turn every light green and leave it so: these tests are about one car alone."""
    scenario.lights.state[:] = 2
    scenario.lights.freeze_cycles(True)


def cruising(scenario: Scenario, neighbour: bool | None = None) -> tuple[int, int]:
    link = scenario.links_where(110.0, neighbour)[0]
    return scenario.drive(CAR, scenario.on_link(link, 8.0)), link


def top_speed(scenario: Scenario, car: int, seconds: float = 9.0) -> float:
    speeds = []
    for _ in range(round(seconds / scenario.dt)):
        scenario.tick()
        speeds.append(scenario.speed(car))
    return max(speeds)


@pytest.mark.parametrize("percentage", [40.0, 60.0, 80.0])
def test_speed_below_the_limit(scenario: Scenario, percentage: float) -> None:
    green(scenario)
    car, link = cruising(scenario)
    limit = float(scenario.manager.fleet.network.get_link_points(link)["speed_limit"][0])
    scenario.manager.set_percentage_speed_difference(car, percentage)
    assert top_speed(scenario, car) == pytest.approx(limit * (1 - percentage / 100), rel=0.06)


@pytest.mark.parametrize("nothing", ["percentage", "speed"])
def test_nothing_of_the_limit_is_a_standstill(scenario: Scenario, nothing: str) -> None:
    green(scenario)
    car, _ = cruising(scenario)
    top_speed(scenario, car, seconds=4.0)
    if nothing == "percentage":
        scenario.manager.set_percentage_speed_difference(car, 100.0)
    else:
        scenario.manager.set_desired_speed(car, 0.0)
    top_speed(scenario, car, seconds=6.0)
    assert top_speed(scenario, car) < 0.001


def test_the_global_difference_holds_for_all_without_one(scenario: Scenario) -> None:
    green(scenario)
    car, link = cruising(scenario)
    limit = float(scenario.manager.fleet.network.get_link_points(link)["speed_limit"][0])
    scenario.manager.set_global_percentage_speed_difference(50.0)
    assert top_speed(scenario, car) == pytest.approx(limit / 2, rel=0.06)
    scenario.manager.set_percentage_speed_difference(car, 30.0)
    assert top_speed(scenario, car) > limit * 0.6


def test_desired_speed(scenario: Scenario) -> None:
    green(scenario)
    car, _ = cruising(scenario)
    scenario.manager.set_desired_speed(car, 18.0)
    assert top_speed(scenario, car) == pytest.approx(5.0, rel=0.06)


@pytest.mark.parametrize("offset", [-0.4, 0.4])
def test_lane_offset(scenario: Scenario, offset: float) -> None:
    green(scenario)
    car, _ = cruising(scenario)
    scenario.manager.set_lane_offset(car, offset)
    scenario.run(6.0)
    assert float(scenario.driver(car)["lateral"]) == pytest.approx(offset, abs=0.08)


def lane_under(scenario: Scenario, car: int) -> int:
    x, y, z = scenario.table.position[scenario.table.find_slot(car)]
    return LaneFinder(scenario.town.lanes).find_nearest_lane(x, y, z)[0]


@pytest.mark.parametrize("to_the_left", [True, False])
def test_forced_lane_change(scenario: Scenario, to_the_left: bool) -> None:
    green(scenario)
    right_has_lane = scenario.links_where(110.0, True)[0]
    fleet = scenario.manager.fleet
    point = fleet.network.get_link_points(right_has_lane)[0]
    outer = int(as_columns(fleet.network.points)["link"][point["right"]])
    start, goal = (outer, right_has_lane) if to_the_left else (right_has_lane, outer)
    car = scenario.drive(CAR, scenario.on_link(start, 8.0))
    scenario.manager.set_auto_lane_change(car, False)
    scenario.manager.set_force_lane_change(car, not to_the_left)
    scenario.run(7.0)
    me = scenario.driver(car)
    assert me["route"][me["at"]] == goal
    assert abs(float(me["lateral"])) < 0.3
    assert lane_under(scenario, car) in set(fleet.network.get_link_points(goal)["lane"].tolist())


def test_no_lane_change_into_another_vehicle(scenario: Scenario) -> None:
    green(scenario)
    link = scenario.links_where(110.0, True)[0]
    car = scenario.drive(CAR, scenario.on_link(link, 20.0))
    scenario.spawn(CAR, scenario.on_link(link, 20.0, 3.5))
    scenario.manager.set_desired_speed(car, 0.5)
    scenario.manager.set_force_lane_change(car, True)
    for _ in range(100):
        scenario.tick()
        assert not scenario.contacts
    me = scenario.driver(car)
    assert me["route"][me["at"]] == link


def test_passes_a_slow_vehicle_only_if_it_may(scenario: Scenario) -> None:
    green(scenario)
    link = scenario.links_where(110.0, True)[0]
    changed = {}
    for may in (True, False):
        car = scenario.drive(CAR, scenario.on_link(link, 8.0))
        slow = scenario.drive(CAR, scenario.on_link(link, 22.0))
        scenario.manager.set_desired_speed(slow, 6.0)
        scenario.manager.set_auto_lane_change(slow, False)
        scenario.manager.set_auto_lane_change(car, may)
        scenario.run(10.0)
        me = scenario.driver(car)
        changed[may] = me["route"][me["at"]] != link
        scenario.destroy(car)
        scenario.destroy(slow)
        scenario.tick()
    assert changed == {True: True, False: False}


@pytest.mark.parametrize("wish", ["random_right_lanechange_percentage",
                                  "keep_slow_lane_rule_percentage"])  # fmt: skip
def test_lane_changes_by_chance(scenario: Scenario, wish: str) -> None:
    green(scenario)
    link = scenario.links_where(110.0, True)[0]
    car = scenario.drive(CAR, scenario.on_link(link, 8.0))
    getattr(scenario.manager, wish)(car, 100.0)
    scenario.run(6.0)
    me = scenario.driver(car)
    assert me["route"][me["at"]] != link


def test_follows_a_path(scenario: Scenario) -> None:
    """From each of several starts, a prescribed way through two junctions is the way taken."""
    green(scenario)
    network = scenario.manager.fleet.network
    for start in scenario.links_where(85.0)[:4]:
        way = [start]
        for turn in (-1, 0, -1, 0, 0):
            way.append(network.list_next_links(way[-1])[turn])
        places = [tuple(network.get_link_points(k)[["x", "y", "z"]][-2]) for k in way]
        car = scenario.drive(CAR, scenario.on_link(start, 8.0))
        scenario.manager.set_path(car, [(float(x), float(y), float(z)) for x, y, z in places], True)
        passed = [start]
        for _ in range(900):
            scenario.tick()
            me = scenario.driver(car)
            here = int(me["route"][me["at"]])
            if here != passed[-1]:
                passed.append(here)
        assert passed[: len(way) - 1] == way[: len(passed)][: len(way) - 1]
        assert len(passed) > 2
        scenario.destroy(car)


@pytest.mark.parametrize(("option", "sign"), [(1, -1), (2, 1), (3, 0)])
def test_follows_a_route_of_turns(scenario: Scenario, option: int, sign: int) -> None:
    green(scenario)
    network = scenario.manager.fleet.network
    turns = as_columns(network.links)["turn"]
    start = next(
        k for k in scenario.links_where(60.0)
        if any(np.sign(round(float(turns[n]))) == sign for n in network.list_next_links(k))
        and len(network.list_next_links(k)) > 1
    )  # fmt: skip
    car = scenario.drive(CAR, scenario.on_link(start, 8.0))
    scenario.manager.set_imported_route(car, [option], True)
    scenario.tick()
    me = scenario.driver(car)
    assert np.sign(round(float(turns[me["route"][1]]))) == sign


def test_lamps_follow_the_driving_only_when_asked(scenario: Scenario) -> None:
    green(scenario)
    link = scenario.links_where(110.0, True)[0]
    car = scenario.drive(CAR, scenario.on_link(link, 8.0))
    scenario.run(2.0)
    assert scenario.table.lamps[scenario.table.find_slot(car)] == 0
    scenario.manager.update_vehicle_lights(car, True)
    scenario.table.lamps[scenario.table.find_slot(car)] = 0x2
    scenario.manager.set_force_lane_change(car, True)
    scenario.run(1.0)
    lit = scenario.table.lamps[scenario.table.find_slot(car)]
    assert lit & RIGHT_BLINKER
    assert not lit & LEFT_BLINKER
    assert lit & 0x2
    scenario.manager.set_desired_speed(car, 0.0)
    scenario.run(0.5)
    assert scenario.table.lamps[scenario.table.find_slot(car)] & BRAKE_LIGHT


def test_next_actions_name_the_turns_ahead(scenario: Scenario) -> None:
    car, _ = cruising(scenario)
    scenario.run(1.0)
    actions = scenario.manager.get_all_actions(car)
    assert scenario.manager.get_next_action(car) == actions[0]
    assert {str(action[0]) for action in actions} <= {"Left", "Right", "Straight"}
