"""Eighty vehicles in town: none stuck, next to no collisions, all on the road, none at red.

`python -m tests.benchmarks bench_traffic` runs more seeds and lists every event with its cause.
"""

from __future__ import annotations

import numpy as np
import pytest

from harness.carlite.traffic.lights import TrafficLightState
from tests.carlite.traffic_runner import Scenario, load
from tests.carlite.traffic_watch import Watch
from tests.profiles import ONLY_WITH_ALL


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("town", "seed", "minutes"),
    [("Crucible05", 4, 3), pytest.param("Town05", 3, 3, marks=ONLY_WITH_ALL)],
)
def test_eighty_vehicles(town: str, seed: int, minutes: int) -> None:
    scenario = Scenario(load(town), seed)
    actors = scenario.populate(80, seed)
    assert len(actors) == 80
    record = Watch(scenario, actors).run(60.0 * minutes)
    assert len(record.collisions) <= 1, str(record)
    assert not record.stuck, str(record)
    assert not record.off_road, str(record)
    assert not record.ran_red, str(record)
    assert record.metres / 80 / minutes > 150.0


@pytest.mark.thorough
def test_the_watch_sees_what_goes_wrong() -> None:
    """Blind drivers that run lights: the watch must find collisions and red lights run."""
    scenario = Scenario(load("Crucible05"), 1)
    actors = scenario.populate(80, 1)
    for actor in actors:
        scenario.manager.set_percentage_ignore_vehicles(actor, 100.0)
        scenario.manager.set_percentage_running_light(actor, 100.0)
        scenario.manager.set_percentage_speed_difference(actor, -40.0)
    record = Watch(scenario, actors).run(60.0)
    assert len(record.collisions) > 5
    assert len(record.ran_red) > 5


@pytest.mark.thorough
def test_the_watch_sees_the_stuck_and_the_lost() -> None:
    scenario = Scenario(load("Crucible05"), 1)
    scenario.lights.state[:] = TrafficLightState.GREEN
    scenario.lights.freeze_cycles(True)
    standing, lost, *_ = actors = scenario.populate(3, 1)
    scenario.tick()
    table = scenario.table
    for actor in (standing, lost):
        table.simulated[table.find_slot(actor)] = False
        table.velocity[table.find_slot(actor)] = 0.0
    slot = table.find_slot(lost)
    yaw = table.rotation[slot, 1]
    table.position[slot, :2] += 30.0 * np.array((-np.sin(yaw), np.cos(yaw)))
    record = Watch(scenario, actors).run(75.0)
    assert standing in {actor for event in record.stuck for actor in event.actors}
    assert lost in {actor for event in record.off_road for actor in event.actors}
