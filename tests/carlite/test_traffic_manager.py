"""Vehicles come and go under the Traffic Manager; equal seeds drive alike."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness.carlite.traffic import conflicts, network
from harness.carlite.traffic.records import as_columns
from tests.carlite.traffic_runner import Scenario, load

CAR = "vehicle.tesla.model3"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(load("Crucible05"))


def digest(seed: int, reseed: int | None = None) -> str:
    """Drive a while with all that depends on chance and hash everything that moves."""
    scenario = Scenario(load("Crucible05"), seed)
    actors = scenario.populate(40, 7)
    if reseed is not None:
        scenario.manager.set_random_device_seed(reseed)
    for actor in actors[::3]:
        scenario.manager.random_left_lanechange_percentage(actor, 30.0)
        scenario.manager.set_percentage_running_light(actor, 50.0)
    total = hashlib.sha256()
    for _ in range(400):
        scenario.tick()
        for column in ("position", "rotation", "velocity", "throttle", "steer", "brake"):
            total.update(np.ascontiguousarray(getattr(scenario.table, column)).tobytes())
    return total.hexdigest()


@pytest.mark.thorough
def test_equal_seeds_drive_alike_in_another_process() -> None:
    command = "from tests.carlite.test_traffic_manager import digest; print(digest(3))"
    other = subprocess.run(
        [sys.executable, "-c", command],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == digest(3)


@pytest.mark.thorough
def test_the_seed_matters_and_a_client_can_set_it() -> None:
    assert digest(3) != digest(4)
    assert digest(3, reseed=9) == digest(4, reseed=9)


def test_vehicles_come_and_go_while_all_others_drive_on(scenario: Scenario) -> None:
    actors = scenario.populate(30, 1)
    rng = np.random.default_rng(5)
    for round_ in range(40):
        scenario.run(0.5)
        gone = actors.pop(int(rng.integers(len(actors))))
        if round_ % 2:
            scenario.manager.unregister_vehicle([gone])
        scenario.destroy(gone)
        actors += scenario.populate(1, 100 + round_)
        assert set(scenario.manager.vehicles) - {gone} == set(actors)
    scenario.tick()
    drivers = scenario.manager.fleet.drivers
    assert [int(actor) for actor in drivers["actor"]] == list(scenario.manager.vehicles)
    for me in drivers:
        place = scenario.table.position[scenario.table.find_slot(int(me["actor"]))]
        assert np.hypot(place[0] - me["x"], place[1] - me["y"]) < 1.5


def test_what_is_let_go_keeps_its_controls(scenario: Scenario) -> None:
    car = scenario.populate(1, 1)[0]
    scenario.run(3.0)
    slot = scenario.table.find_slot(car)
    scenario.manager.unregister_vehicle([car])
    scenario.table.throttle[slot], scenario.table.steer[slot] = 0.123, 0.01
    scenario.run(0.5)
    assert scenario.table.throttle[slot] == 0.123
    assert scenario.table.steer[slot] == 0.01


def test_a_moved_vehicle_drives_on_from_there(scenario: Scenario) -> None:
    car = scenario.populate(1, 1)[0]
    scenario.run(3.0)
    for link in scenario.links_where(85.0)[:6]:
        slot = scenario.table.find_slot(car)
        place = scenario.on_link(link, 20.0, 0.8)
        scenario.table.position[slot], scenario.table.rotation[slot] = place[:3], place[3:]
        scenario.table.velocity[slot] = 0.0
        scenario.run(4.0)
        me = scenario.driver(car)
        assert me["route"][me["at"]] == link
        assert abs(float(me["lateral"])) < 0.3
        assert scenario.speed(car) > 2.0


def test_a_vehicle_dropped_from_above_lands_and_drives(scenario: Scenario) -> None:
    place = scenario.on_link(scenario.links_where(85.0)[0], 20.0)
    place[2] += 0.5
    car = scenario.drive(CAR, place)
    scenario.run(5.0)
    assert scenario.speed(car) > 3.0


def test_nonsense_is_left_alone(scenario: Scenario) -> None:
    walker = scenario.spawn_walker(*scenario.on_link(0, 5.0)[:2])
    scenario.manager.register_vehicle([walker, 999_999])
    scenario.manager.unregister_vehicle([walker, 888_888])
    scenario.manager.set_desired_speed(777_777, 30.0)
    scenario.manager.set_path(777_777, [(0.0, 0.0, 0.0)], True)
    scenario.run(0.2)
    assert not scenario.manager.vehicles


@pytest.mark.parametrize("town", ["Crucible05", "Town05"])
def test_links_are_whole(town: str) -> None:
    """Every driving lane lies in one link; links meet end to start; sides point at each other."""
    lanes = load(town).lanes
    net, placement = network.build_traffic_network(lanes)
    links, points = as_columns(net.links), as_columns(net.points)
    assert (placement.link[lanes.kind == 1] >= 0).all()
    assert (placement.link[lanes.kind != 1] == -1).all()
    for link in range(len(links)):
        end = net.get_link_points(link)[-1]
        for follower in net.list_next_links(link):
            start = net.get_link_points(follower)[0]
            assert np.hypot(end["x"] - start["x"], end["y"] - start["y"]) < 0.5
            assert np.cos(end["yaw"] - start["yaw"]) > 0.9
    with_right = points[points["right"] >= 0]
    other = points[with_right["right"]]
    aside = (other["y"] - with_right["y"]) * np.cos(with_right["yaw"])
    aside -= (other["x"] - with_right["x"]) * np.sin(with_right["yaw"])
    assert (aside > 1.5).all()
    assert (aside < 5.0).all()


def test_conflicts_are_mutual() -> None:
    net, _ = network.build_traffic_network(load("Crucible05").lanes)
    pairs = conflicts.find_conflict_zones(net)
    zones, owner = (
        as_columns(pairs.zones),
        np.repeat(np.arange(len(net.links)), np.diff(pairs.first)),
    )
    rows = {
        (int(a), int(z["other"]), float(z["enter"]), float(z["other_enter"]))
        for a, z in zip(owner, zones, strict=True)
    }
    assert rows
    assert all((b, a, t, s) in rows for a, b, s, t in rows)
