"""Other drivers on the same interface drive, stop for a blocker and for a red light."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from agents.driving.driver import Driver
from agents.driving.path import RoutePath
from agents.driving.proposing.forecast import forecast_boxes
from agents.driving.proposing.idm_driver import IdmDriver
from agents.driving.proposing.proposals import compute_approach, compute_idm_accelerations
from agents.driving.proposing.settings import ProposalSettings
from agents.driving.tracking import RoadUserTracks
from harness.campaign.settings.config import build_part
from harness.types.drivers import RouteDriver
from harness.types.vocabulary import PEDESTRIAN, VEHICLE, Boxes
from tests.agents.little_world import LittleWorld, moves, right_turn, stands, straight
from tests.campaign.tiny import composed

NAMES = ("cautious", "bold", "idm")
LIMIT = 13.9
"""m/s that the road of the little world allows."""
CRUISE = {"cautious": 6.4, "bold": 11.2, "idm": 8.0}


def driver_of(name: str) -> RouteDriver:
    """Return a driver as a campaign makes it."""
    part = composed(f"driver={name}")["driver"][name]
    driver: RouteDriver = build_part(part, f"driver.{name}")
    return driver


@pytest.mark.parametrize("name", NAMES)
def test_drivers_drive_a_clean_route_at_their_speed(name: str) -> None:
    world = LittleWorld(straight(200.0), driver=driver_of(name)).drive(20.0)
    assert world.ego.speed == pytest.approx(CRUISE[name], abs=0.1)
    assert abs(world.ego.y) < 0.05


@pytest.mark.parametrize("factor", [0.5, 1.5])
@pytest.mark.parametrize("name", ["default", *NAMES])
def test_a_sweep_of_speed_changes_the_cruise_speed_alone(name: str, factor: float) -> None:
    drivers = composed(f"driver={name}", f"sweep.speed=[{factor}]")["driver"]
    label = f"speed_{factor:g}" if name == "default" else f"{name}_speed_{factor:g}"
    assert list(drivers) == [label]
    driver: RouteDriver = build_part(drivers[label], f"driver.{label}")
    world = LittleWorld(straight(400.0), driver=driver).drive(25.0)
    speed = min(factor * CRUISE.get(name, 8.0), LIMIT)
    assert world.ego.speed == pytest.approx(speed, abs=0.15)
    # a plan for others: ten places, a step of 0.2 s apart
    assert np.diff(driver.planned_xy[:, 0]) == pytest.approx(0.2 * speed, abs=0.1)
    # it still stops for what stands
    blocked = LittleWorld(straight(), [stands(VEHICLE, 70.0, 0.0)], driver=driver).drive(25.0)
    assert not blocked.touched
    assert blocked.ego.speed == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_drivers_turn_in_their_lane(name: str) -> None:
    world = LittleWorld(right_turn(12.0), driver=driver_of(name)).drive(25.0)
    off = [math.hypot(x - 50.0, y - 12.0) - 12.0 for x, y in world.places if x > 50.0 and y < 12.0]
    assert np.abs(off).max() < 0.5
    assert world.ego.y > 60.0


@pytest.mark.parametrize("name", NAMES)
def test_drivers_stop_for_a_blocker_and_go_on_behind_a_leader(name: str) -> None:
    world = LittleWorld(straight(), [stands(VEHICLE, 70.0, 0.0)], driver=driver_of(name))
    world.drive(25.0)
    assert not world.touched
    assert world.ego.speed == 0.0
    assert 58.0 < world.ego.x < 65.5
    leader = moves(VEHICLE, (30.0, 0.0), 0.0, 4.0)
    world = LittleWorld(straight(), [leader], driver=driver_of(name)).drive(25.0)
    assert not world.touched
    assert world.ego.speed == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize("name", NAMES)
def test_drivers_stop_for_a_red_light_until_it_is_green(name: str) -> None:
    world = LittleWorld(
        straight(),
        driver=driver_of(name),
        light=lambda time: "red" if time < 20.0 else "green",
        light_station=60.0,
    ).drive(19.9)
    assert world.ego.speed < 0.05
    assert 53.0 < world.ego.x < 57.6
    assert world.drive(10.0).ego.x > 80.0


@pytest.mark.parametrize("name", NAMES)
def test_drivers_let_a_pedestrian_cross(name: str) -> None:
    way = moves(PEDESTRIAN, (60.0, -12.0), 0.5 * math.pi, 1.4)
    world = LittleWorld(straight(), [way], driver=driver_of(name)).drive(25.0)
    assert not world.touched
    assert world.ego.x > 100.0


def test_idm_passes_what_leaves_room_aside() -> None:
    parked = stands(VEHICLE, 70.0, 2.2)
    world = LittleWorld(straight(), [parked], driver=IdmDriver()).drive(25.0)
    assert not world.touched
    assert world.ego.x > 120.0
    assert min(y for _, y in world.places) < -0.5


@pytest.mark.parametrize("make", [Driver, IdmDriver])
def test_a_driver_repeats_itself(make: Callable[[], RouteDriver]) -> None:
    others = [moves(VEHICLE, (40.0, 3.5), 3.0, 5.0), stands(VEHICLE, 90.0, 1.8)]
    first, second = (
        LittleWorld(straight(), others, driver=make(), jitter=0.1).drive(10.0) for _ in range(2)
    )
    assert first.places == second.places


def test_accelerations_are_those_of_the_equation() -> None:
    """Computed by hand: v 6, v0 8, gap 12, leader 4 m/s; s* = 1 + 9 + 6 * 2 / (2 sqrt 4.5)."""
    settings = ProposalSettings()
    wanted = 1.0 + 9.0 + 12.0 / (2.0 * math.sqrt(4.5))
    expected = 1.5 * (1.0 - 0.75**10 - (wanted / 12.0) ** 2)
    one = np.ones(1)
    rate = compute_idm_accelerations(
        6.0 * one, 8.0 * one, gap=12.0 * one, leader_speed=4.0 * one, settings=settings
    )
    assert rate[0] == pytest.approx(expected)
    hard = compute_idm_accelerations(
        8.0 * one, 8.0 * one, gap=2.0 * one, leader_speed=0.0 * one, settings=settings
    )
    assert hard[0] == -settings.braking


def test_forecasts_keep_velocity_and_lie_along_the_route() -> None:
    box = np.array([[20.0, -3.0, 0.8, 4.0, 2.0, 1.5, 0.5 * math.pi]])
    tracks = RoadUserTracks.start_tracks(Boxes(box, np.array([VEHICLE]), np.ones(1)))
    tracks.velocity[:] = (0.0, 2.0)
    times = np.array([0.0, 1.0, 2.0])
    seen = forecast_boxes(tracks, RoutePath(straight()), ego_station=0.0, times=times)
    assert seen.rear[0] == pytest.approx([19.0] * 3)
    assert seen.front[0] == pytest.approx([21.0] * 3)
    assert seen.low[0] == pytest.approx([-5.0, -3.0, -1.0])
    assert seen.high[0] == pytest.approx([-1.0, 1.0, 3.0])
    assert seen.along[0] == pytest.approx([0.0] * 3)


def test_the_approach_to_a_parallel_path_begins_where_the_ego_is() -> None:
    aside = compute_approach(np.array([[0.0, 6.0, 60.0]]), np.array([1.0]), -0.5)
    assert aside[0] == pytest.approx([-0.5, 1.0 - 1.5 / math.e, 1.0], abs=1e-4)
