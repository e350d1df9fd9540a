"""How a driven vehicle treats others: walkers, a standing or crossing ego, lights, signs."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest

from harness.carlite.traffic.approaches import PrioritySign
from harness.carlite.traffic.lights import TrafficLightState
from harness.carlite.traffic.records import as_columns
from tests.carlite.traffic_runner import FLEET, Scenario, load

CAR = "vehicle.tesla.model3"


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(load("Crucible05"))


def hit(scenario: Scenario, actor: int, other: int) -> bool:
    return any({c.actor, c.other} == {actor, other} for c in scenario.contacts)


def run_watching(scenario: Scenario, actor: int, other: int, seconds: float) -> tuple[bool, float]:
    """Run on; say whether the two touched, and the lowest speed that `actor` had."""
    touched, slowest = False, np.inf
    for _ in range(round(seconds / scenario.dt)):
        scenario.tick()
        touched = touched or hit(scenario, actor, other)
        slowest = min(slowest, scenario.speed(actor))
    return touched, slowest


def up_to_speed(scenario: Scenario, length: float = 110.0, blueprint: str = CAR) -> tuple[int, int]:
    """Drive a vehicle up a long straight link; return it and the link."""
    link = scenario.links_where(length)[0]
    car = scenario.drive(blueprint, scenario.on_link(link, 8.0))
    scenario.manager.set_percentage_speed_difference(car, 0.0)
    scenario.run(6.0)
    assert scenario.speed(car) > 4.0
    return car, link


def stopping_distance(speed: float) -> float:
    """Metres in which a braked car stops, a moment of reaction included."""
    return speed * speed / (2.0 * 5.0) + 0.3 * speed


@pytest.mark.parametrize(("walking", "solid"), [(1.4, True), (2.5, True), (1.4, False)])
def test_brakes_for_a_walker_that_steps_out(
    scenario: Scenario, walking: float, solid: bool
) -> None:
    """Also for one of a client's crowd, which switches collisions off for all of its own."""
    car, link = up_to_speed(scenario)
    ahead = float(scenario.driver(car)["station"]) + 2.4 + stopping_distance(scenario.speed(car))
    x, y, *_, yaw, _ = scenario.on_link(link, ahead + 4.0, 3.5)
    walker = scenario.spawn_walker(x, y)
    scenario.run(0.2)
    slot = scenario.table.find_slot(walker)
    scenario.table.walk_direction[slot] = (sin(yaw), -cos(yaw), 0.0)
    scenario.table.walk_speed[slot] = walking
    scenario.table.solid[slot] = solid
    touched, slowest = run_watching(scenario, car, walker, 4.0)
    assert not touched
    assert slowest < 3.0


def test_a_walker_on_the_pavement_stops_no_one(scenario: Scenario) -> None:
    car, link = up_to_speed(scenario)
    station = float(scenario.driver(car)["station"])
    x, y, *_ = scenario.on_link(link, station + 30.0, 3.5)
    _, slowest = run_watching(scenario, car, scenario.spawn_walker(x, y), 4.0)
    assert slowest > 6.0


def test_walkers_may_be_ignored(scenario: Scenario) -> None:
    car, link = up_to_speed(scenario)
    scenario.manager.set_percentage_ignore_walkers(car, 100.0)
    x, y, *_ = scenario.on_link(link, float(scenario.driver(car)["station"]) + 25.0)
    touched, _ = run_watching(scenario, car, scenario.spawn_walker(x, y), 5.0)
    assert touched


@pytest.mark.parametrize("blueprint", [CAR, "vehicle.carlamotors.carlacola", FLEET[-1]])
def test_stops_behind_a_standing_ego(scenario: Scenario, blueprint: str) -> None:
    car, link = up_to_speed(scenario, 110.0, blueprint)
    ahead = float(scenario.driver(car)["station"]) + stopping_distance(scenario.speed(car)) + 15.0
    ego = scenario.spawn(CAR, scenario.on_link(link, ahead))
    scenario.manager.set_auto_lane_change(car, False)
    touched, slowest = run_watching(scenario, car, ego, 15.0)
    assert not touched
    assert slowest < 0.05
    gap = float(scenario.driver(car)["gap"])
    assert 0.5 < gap < 4.0


def test_keeps_the_given_distance(scenario: Scenario) -> None:
    car, link = up_to_speed(scenario)
    scenario.manager.set_distance_to_leading_vehicle(car, 6.0)
    scenario.manager.set_auto_lane_change(car, False)
    ahead = float(scenario.driver(car)["station"]) + 45.0
    scenario.spawn(CAR, scenario.on_link(link, ahead))
    scenario.run(15.0)
    assert scenario.speed(car) < 0.05
    assert 5.0 < float(scenario.driver(car)["gap"]) < 8.0


@pytest.mark.parametrize("pace", [4.0, 8.0])
def test_brakes_for_an_ego_that_crosses(scenario: Scenario, pace: float) -> None:
    """The ego, without a driver, comes from the side and is there just when they would meet."""
    car, link = up_to_speed(scenario)
    meet = float(scenario.driver(car)["station"]) + 4.0 * scenario.speed(car)
    x, y, z, _, yaw, _ = scenario.on_link(link, meet)
    side = (-sin(yaw), cos(yaw))
    start = 4.0 * pace
    place = (x + side[0] * start, y + side[1] * start, z, 0.0, yaw - np.pi / 2, 0.0)
    ego = scenario.spawn(CAR, place)
    slot = scenario.table.find_slot(ego)
    scenario.table.simulated[slot] = False
    scenario.table.velocity[slot] = (-side[0] * pace, -side[1] * pace, 0.0)
    touched = False
    for _ in range(round(8.0 / scenario.dt)):
        scenario.table.position[slot] += scenario.table.velocity[slot] * scenario.dt
        scenario.tick()
        touched = touched or hit(scenario, car, ego)
    assert not touched


def test_vehicles_may_be_ignored(scenario: Scenario) -> None:
    car, link = up_to_speed(scenario)
    ahead = float(scenario.driver(car)["station"]) + 40.0
    ego = scenario.spawn(CAR, scenario.on_link(link, ahead))
    scenario.manager.set_collision_detection(car, ego, False)
    scenario.manager.set_auto_lane_change(car, False)
    touched, _ = run_watching(scenario, car, ego, 8.0)
    assert touched


def signalised(scenario: Scenario) -> tuple[int, int]:
    """Return a straight link that ends at a light, and the light's actor."""
    fleet, lights = scenario.manager.fleet, scenario.lights
    lengths = as_columns(fleet.network.links)["length"]
    links = [
        k for k in range(len(lengths)) if fleet.approaches["light"][k] >= 0 and lengths[k] > 60
    ]
    return links[0], int(lights.actor_id[fleet.approaches["light"][links[0]]])


def at_light(scenario: Scenario, state: TrafficLightState) -> tuple[int, int, float]:
    """Send a car to a light that stays as it is; return car, link, station of the line."""
    link, light = signalised(scenario)
    for actor in scenario.lights.list_group_lights(light):
        scenario.lights.set_state(actor, TrafficLightState.RED)
    scenario.lights.set_state(light, state)
    scenario.lights.freeze_cycles(True)
    line = float(scenario.manager.fleet.approaches["line"][link])
    return scenario.drive(CAR, scenario.on_link(link, line - 40.0)), link, line


def test_waits_at_a_red_light_and_goes_at_green(scenario: Scenario) -> None:
    car, link, line = at_light(scenario, TrafficLightState.RED)
    scenario.run(20.0)
    me = scenario.driver(car)
    front = float(me["station"]) + 2.4
    assert me["route"][me["at"]] == link
    assert line - 2.5 < front < line
    assert scenario.speed(car) < 0.01
    slot = scenario.table.find_slot(car)
    assert scenario.table.has_light[slot]
    assert scenario.table.light_state[slot] == TrafficLightState.RED
    scenario.lights.set_state(signalised(scenario)[1], TrafficLightState.GREEN)
    scenario.run(6.0)
    me = scenario.driver(car)
    assert link not in me["route"][me["at"] : me["known"]]


def test_runs_a_red_light_when_asked_to(scenario: Scenario) -> None:
    car, link, _ = at_light(scenario, TrafficLightState.RED)
    scenario.manager.set_percentage_running_light(car, 100.0)
    scenario.run(12.0)
    me = scenario.driver(car)
    assert link not in me["route"][me["at"] : me["known"]]


def test_a_share_of_vehicles_runs_lights(scenario: Scenario) -> None:
    """Half of many vehicles sent to a frozen red light one after another pass it."""
    passed = 0
    for _ in range(16):
        car, link, _ = at_light(scenario, TrafficLightState.RED)
        scenario.manager.set_percentage_running_light(car, 50.0)
        scenario.run(9.0)
        me = scenario.driver(car)
        passed += link not in me["route"][me["at"] : me["known"]]
        scenario.destroy(car)
        scenario.tick()
    assert 3 <= passed <= 13


def test_halts_at_a_stop_sign_then_goes(scenario: Scenario) -> None:
    fleet = scenario.manager.fleet
    signs = np.flatnonzero(fleet.approaches["sign"] == PrioritySign.STOP)
    assert len(signs)
    link = int(signs[0])
    line = float(fleet.approaches["line"][link])
    car = scenario.drive(CAR, scenario.on_link(link, line - 25.0))
    halted = gone = False
    for _ in range(round(20.0 / scenario.dt)):
        scenario.tick()
        me = scenario.driver(car)
        here = link in me["route"][me["at"] : me["known"]]
        front = float(me["station"]) + 2.4
        halted = halted or (here and scenario.speed(car) < 0.2 and line - 3.0 < front < line)
        gone = gone or not here
        assert halted or not gone
    assert gone


def test_runs_a_stop_sign_when_asked_to(scenario: Scenario) -> None:
    fleet = scenario.manager.fleet
    link = int(np.flatnonzero(fleet.approaches["sign"] == PrioritySign.STOP)[0])
    line = float(fleet.approaches["line"][link])
    car = scenario.drive(CAR, scenario.on_link(link, line - 30.0))
    scenario.manager.set_percentage_running_sign(car, 100.0)
    scenario.run(3.0)
    slowest = np.inf
    for _ in range(round(4.0 / scenario.dt)):
        scenario.tick()
        slowest = min(slowest, scenario.speed(car))
    assert slowest > 1.5


@pytest.mark.parametrize("prop", ["streetbarrier", "trafficcone01", "dirtdebris01"])
def test_props_are_no_obstacles_to_drivers(scenario: Scenario, prop: str) -> None:
    """CARLA's Traffic Manager minds vehicles and walkers alone: it drives into what else stands."""
    car, link = up_to_speed(scenario)
    ahead = float(scenario.driver(car)["station"]) + 40.0
    scenario.spawn(f"static.prop.{prop}", scenario.on_link(link, ahead))
    for _ in range(100):
        scenario.decide()
        assert scenario.driver(car)["gap"] == np.inf
        scenario.tick()
        if scenario.contacts:
            break
    assert scenario.driver(car)["station"] > ahead - 4.0
