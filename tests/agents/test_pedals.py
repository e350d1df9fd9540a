"""The driver's pedals on carlite's MKZ: how well it keeps the speeds that it plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from agents.driving.driver import Driver
from harness.types.vocabulary import Boxes, EgoObservation, Floats, Pose
from tests.agents.little_world import TICK, TICKS_PER_LOOK, straight
from tools.fidelity.driving import FittedValues, SimulatedCar
from tools.fidelity.roads import make_flat_ground

GROUND = make_flat_ground()


def bend(station: Floats) -> Floats:
    return np.where((station > 40.0) & (station < 55.0), 4.0, 8.3)


def open_road(station: Floats) -> Floats:
    return np.full(len(station), 8.3)


def creeping(station: Floats) -> Floats:
    return np.full(len(station), 2.5)


def looked(time: float, station: float, speed: float) -> EgoObservation:
    """Return what an ego without sensors on a straight road knows."""
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=round(time / TICK),
        time=time,
        lidar_in_world=Pose(station, 0.0),
        points_in_lidar=np.zeros((0, 4), np.float32),
        vehicle_in_world=Pose(station, 0.0),
        lidar_in_vehicle=Pose(0.0, 0.0),
        speed=speed,
        lights=(),
    )


def driven(limit: Callable[[Floats], Floats], start: float, seconds: float = 20.0) -> Floats:
    """Return the speeds at each tick on a flat straight road with these limits."""
    route = straight(300.0)
    driver = Driver()
    driver.reset(replace(route, speed_limit=limit(route.station)))
    car = SimulatedCar("vehicle.lincoln.mkz_2020", GROUND, FittedValues(), start)
    station, speeds = 1.0, []
    for tick in range(round(seconds / TICK)):
        if tick % TICKS_PER_LOOK == 0:
            control = driver.step(looked(tick * TICK, station, car.speed), Boxes.none())
        car.set_controls(control.throttle, control.brake, 0.0)
        car.run_tick()
        station += car.speed * TICK
        car.table.position[0, :2] = 50.0, 0.0  # the ground is short
        speeds.append(car.speed)
    return np.array(speeds)


@pytest.mark.thorough
@pytest.mark.parametrize(("limit", "start"), [(open_road, 0.0), (open_road, 6.0), (bend, 0.0)])
def test_the_cruise_speed_is_hardly_exceeded(
    limit: Callable[[Floats], Floats], start: float
) -> None:
    assert driven(limit, start).max() < 8.0 + 0.5


@pytest.mark.thorough
@pytest.mark.parametrize(("limit", "speed"), [(open_road, 8.0), (creeping, 2.5)])
def test_a_constant_speed_is_kept(limit: Callable[[Floats], Floats], speed: float) -> None:
    kept = driven(limit, 0.0)[round(6.0 / TICK) :]
    assert np.abs(kept - speed).max() < 0.1


def test_a_new_speed_is_kept_after_four_seconds() -> None:
    off = np.abs(driven(open_road, 4.0, 12.0) - 8.0)
    assert off[round(4.0 / TICK) :].max() < 0.15
