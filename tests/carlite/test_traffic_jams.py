"""Traffic that does not jam: what drivers once waited for in vain, in small scenes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import SceneryShape, TownScenery
from harness.carlite.traffic.drivers import WaitReason
from harness.carlite.traffic.lights import TrafficLightState
from harness.carlite.traffic.precedence import PATIENCE
from harness.carlite.traffic.records import as_columns
from tests.carlite.jam_watch import JamWatch
from tests.carlite.traffic_runner import Scenario, load

CAR, TRUCK = "vehicle.tesla.model3", "vehicle.mercedes.sprinter"
LORRY = "vehicle.carlamotors.firetruck"
COLA = "vehicle.carlamotors.carlacola"
BUS = "vehicle.mitsubishi.fusorosa"


def standing(scenario: Scenario, blueprint: str, place: np.ndarray) -> int:
    """Put a vehicle with a driver somewhere for good."""
    actor = scenario.drive(blueprint, place)
    scenario.table.simulated[scenario.table.find_slot(actor)] = False
    return actor


def half_size(scenario: Scenario, actor: int) -> tuple[float, float]:
    """Return half the length and half the width of a vehicle, without mirrors."""
    table, slot = scenario.table, scenario.table.find_slot(actor)
    return float(table.extent[slot, 0]), float(table.extent[slot, 1] - table.mirrors[slot])


def walled(scenario: Scenario, link: int, station: float, lateral: float) -> Scenario:
    """Return the same town with nothing but a post, 40 cm wide, next to a link."""
    x, y, z, *_ = scenario.on_link(link, station, lateral)
    post = TownScenery(
        centre=np.array([[x, y, z + 1.0]]),
        extent=np.array([[0.2, 0.2, 1.0]]),
        yaw=np.zeros(1),
        shape=np.array([SceneryShape.BOX], np.uint8),
        body=np.array([-1], np.int32),
        label=np.array([SemanticLabel.POLE], np.uint8),
        solid=np.ones(1, np.bool_),
    )
    return Scenario(replace(scenario.town, scenery=post))


def _following(scenario: Scenario, link: int) -> list[int]:
    """List the links that follow one."""
    return list(scenario.manager.fleet.network.list_next_links(link))


def moved_on(scenario: Scenario, actor: int, seconds: float) -> float:
    """Run on; return how far a vehicle got from where it was."""
    slot = scenario.table.find_slot(actor)
    before = scenario.table.position[slot, :2].copy()
    scenario.run(seconds)
    return float(np.hypot(*(scenario.table.position[slot, :2] - before)))


def test_a_narrow_way_is_passed_at_a_stretch() -> None:
    """Between a car that stands askew and a post a driver does not stop again and again."""
    scenario = Scenario(load("Crucible05"))
    link = scenario.links_where(110.0, neighbour=False)[0]
    long, wide = half_size(scenario, scenario.spawn(CAR, scenario.on_link(link, 70.0)))
    scenario = walled(scenario, link, 40.0, wide + 0.4)
    car = scenario.drive(CAR, scenario.on_link(link, 10.0))
    place = scenario.on_link(link, 40.0, -wide - 0.1 - long * np.sin(0.6) - wide * np.cos(0.6))
    place[4] += 0.6
    standing(scenario, CAR, place)
    assert moved_on(scenario, car, 30.0) > 45.0


def bend(scenario: Scenario, sign: float) -> tuple[int, float]:
    """Return a link outside junctions and the station of its sharpest bend to one side."""
    points = as_columns(scenario.manager.fleet.network.points)
    links = as_columns(scenario.manager.fleet.network.links)
    far_in = np.arange(len(points)) - links["first"][points["link"]]
    inside = (links["junction"][points["link"]] < 0) & (far_in > 20)
    inside &= links["count"][points["link"]] - far_in > 25
    sharpest = int(np.argmax(np.where(inside, sign * points["curvature"], -1.0)))
    return int(points["link"][sharpest]), float(far_in[sharpest])


@pytest.mark.thorough
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_lorry_passes_who_stands_in_the_other_lane_of_a_bend(sign: float) -> None:
    scenario = Scenario(load("CrucibleOld"))
    link, station = bend(scenario, sign)
    lorry = scenario.drive(LORRY, scenario.on_link(link, station - 15.0))
    place = scenario.on_link(link, station, -3.1)
    place[4] += np.pi
    car = standing(scenario, CAR, place)
    far = 0.0
    slot = scenario.table.find_slot(lorry)
    before = scenario.table.position[slot, :2].copy()
    for _ in range(800):
        scenario.tick()
        assert not any({c.actor, c.other} == {lorry, car} for c in scenario.contacts)
        far = max(far, float(np.hypot(*(scenario.table.position[slot, :2] - before))))
    assert far > 25.0


def test_the_verge_is_surveyed() -> None:
    scenario = Scenario(load("Crucible05"))
    link = scenario.links_where(110.0, neighbour=False)[0]
    scenario = walled(scenario, link, 40.0, 2.5)
    room = scenario.manager.fleet.network.get_link_points(link)["room"]
    assert 2.2 <= room.min() <= 2.3 + 1e-6
    assert abs(int(np.argmin(room)) - 40) <= 1
    assert room[10] == room[80] == 4.0


def test_no_one_makes_way_into_a_post() -> None:
    """Something protrudes from the left, a post stands at the right: the driver waits."""
    scenario = Scenario(load("Crucible05"))
    link = scenario.links_where(110.0, neighbour=False)[0]
    scenario = walled(scenario, link, 40.0, 1.6)
    car = scenario.drive(CAR, scenario.on_link(link, 10.0))
    _, wide = half_size(scenario, car)
    standing(scenario, CAR, scenario.on_link(link, 40.0, -2.0 * wide + 0.2))
    for _ in range(500):
        scenario.tick()
        assert not any(contact.piece >= 0 for contact in scenario.contacts)


def test_a_driver_that_pushes_a_post_reverses_and_gets_past() -> None:
    scenario = Scenario(load("Crucible05"))
    link = scenario.links_where(110.0, neighbour=False)[0]
    scenario = walled(scenario, link, 34.0, 1.6)
    car = scenario.drive(CAR, scenario.on_link(link, 30.0, 1.2))
    assert moved_on(scenario, car, 40.0) > 40.0


@pytest.mark.thorough
def test_a_bus_whose_nose_is_caught_in_a_turn_turns_it_while_reversing() -> None:
    """Before a post that its nose meets each time it would else try the same way for ever."""
    scenario = Scenario(load("Crucible05"))
    links = as_columns(scenario.manager.fleet.network.links)
    turn = next(
        k for k in range(len(links)) if links["junction"][k] >= 0 and links["turn"][k] > 1.5
    )
    before = int(np.flatnonzero([turn in _following(scenario, k) for k in range(len(links))])[0])
    scenario = walled(scenario, turn, 0.5 * links["length"][turn], -3.4)
    scenario.lights.state[:] = TrafficLightState.GREEN
    scenario.lights.freeze_cycles(True)
    bus = scenario.drive(BUS, scenario.on_link(before, links["length"][before] - 15.0))
    scenario.manager.set_imported_route(bus, [2], False)
    touched = False
    for _ in range(1200):
        scenario.tick()
        touched = touched or bool(scenario.contacts)
    me = scenario.driver(bus)
    assert touched
    assert me["route"][me["at"]] not in (before, turn)


@pytest.mark.thorough
def test_of_two_stuck_in_a_junction_one_reverses() -> None:
    scenario = Scenario(load("Crucible05"))
    turning = scenario.spawn(TRUCK, (-79.8, 0.7, 0.3, 0.0, np.radians(-15.0), 0.0))
    straight = scenario.spawn(COLA, (-76.7, -5.6, 0.3, 0.0, np.radians(90.0), 0.0))
    scenario.manager.register_vehicle([turning, straight])
    scenario.manager.update_imported_route(turning, [1])
    scenario.manager.update_imported_route(straight, [3])
    touched = False
    before = {
        a: scenario.table.position[scenario.table.find_slot(a), :2].copy()
        for a in (turning, straight)
    }
    for _ in range(900):
        scenario.tick()
        touched = touched or bool(scenario.contacts)
    for actor, place in before.items():
        away = np.hypot(*(scenario.table.position[scenario.table.find_slot(actor), :2] - place))
        assert away > 20.0
    assert not touched


def test_who_waits_to_turn_left_goes_when_the_light_turns_yellow() -> None:
    scenario = Scenario(load("Crucible05"))
    fleet, lights = scenario.manager.fleet, scenario.lights
    links = as_columns(fleet.network.links)
    link = next(
        k
        for k in range(len(links))
        if fleet.approaches["light"][k] >= 0
        and links["length"][k] > 30.0
        and min(links["turn"][way] for way in fleet.network.list_next_links(k)) < -1.0
    )
    light = int(fleet.approaches["light"][link])
    lights.state[:] = TrafficLightState.RED
    lights.freeze_cycles(True)
    car = scenario.drive(CAR, scenario.on_link(link, fleet.approaches["line"][link] - 15.0))
    scenario.manager.set_imported_route(car, [1], False)
    scenario.run(15.0)
    lights.state[light], lights.elapsed[light] = TrafficLightState.YELLOW, 0.9
    scenario.run(1.5)
    lights.state[light] = TrafficLightState.RED
    scenario.run(4.0)
    me = scenario.driver(car)
    assert link not in me["route"][me["at"] : me["known"]]


@pytest.mark.parametrize("on_foot", [True, False])
def test_walkers_keep_a_driver_out_of_a_junction_for_a_while_only(on_foot: bool) -> None:
    """It then drives up to them, and goes on behind them; for a vehicle it stays at the line."""
    scenario = Scenario(load("Crucible05"))
    fleet, lights = scenario.manager.fleet, scenario.lights
    links = as_columns(fleet.network.links)
    lights.state[:] = TrafficLightState.GREEN
    lights.freeze_cycles(True)
    lit = (fleet.approaches["light"] >= 0) & (links["length"] > 30.0)
    link = int(np.flatnonzero(lit)[0])
    way = min(fleet.network.list_next_links(link), key=lambda k: abs(links["turn"][k]))
    place = scenario.on_link(way, 0.3 * links["length"][way])
    other = scenario.spawn_walker(*place[:2]) if on_foot else scenario.spawn(CAR, place)
    car = scenario.drive(CAR, scenario.on_link(link, fleet.approaches["line"][link] - 6.0))
    scenario.manager.set_imported_route(car, [3], False)
    scenario.run(1.0)
    me = scenario.driver(car)
    while scenario.speed(car) > 0.1:
        scenario.tick()
    scenario.run(PATIENCE - 1.0)
    assert scenario.speed(car) < 0.1
    assert me["reason"] == WaitReason.ROOM
    assert me["waits_for"] == other
    scenario.run(10.0)
    assert (me["route"][me["at"]] == way) == on_foot
    scenario.run(10.0)
    assert scenario.speed(car) < 0.1
    assert not scenario.contacts
    scenario.destroy(other)
    assert moved_on(scenario, car, 10.0) > 20.0


@pytest.mark.thorough
def test_an_old_town_full_of_lorries_does_not_jam() -> None:
    """A vehicle at every spawn point of the narrowest town, for five minutes."""
    scenario = Scenario(load("CrucibleOld"), 1)
    actors = scenario.populate(94, 1)
    assert len(actors) > 80
    watch = JamWatch(scenario, scenario.dt)
    for _ in range(6000):
        scenario.tick()
        watch.look()
    assert watch.mutual <= 25
    assert watch.jams.speed > 1.8
