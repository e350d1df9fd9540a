"""Every vehicle sets off when the Traffic Manager drives it, and none stays where a lane ends."""

from __future__ import annotations

import numpy as np
import pytest

from harness.carlite.traffic.records import as_columns
from tests.carlite.traffic_runner import FLEET, Scenario, load

FASTER = 4.0
"""Metres per second that the slowest of them has after six seconds on a level road."""


@pytest.mark.thorough
def test_every_vehicle_sets_off() -> None:
    scenario = Scenario(load("Crucible05"))
    scenario.lights.state[:] = 2
    scenario.lights.freeze_cycles(True)
    link = scenario.links_where(110.0)[0]
    slow = {}
    for kind in FLEET:
        car = scenario.drive(kind, scenario.on_link(link, 8.0))
        scenario.run(6.0)
        if scenario.speed(car) < FASTER:
            slow[kind] = scenario.speed(car)
        scenario.destroy(car)
        scenario.tick()
    assert not slow


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["vehicle.mitsubishi.fusorosa", "vehicle.audi.tt"])
def test_no_vehicle_stays_at_the_end_of_a_lane(kind: str) -> None:
    """In Town06 lanes taper to nothing: vehicles change to the lane that goes on."""
    scenario = Scenario(load("Town06"))
    scenario.lights.state[:] = 2
    scenario.lights.freeze_cycles(True)
    links = as_columns(scenario.manager.fleet.network.links)
    ending = [k for k in np.flatnonzero(links["dead_end"] & (links["junction"] < 0))
              if links["length"][k] > 100.0]  # fmt: skip
    assert ending
    stuck = []
    for link in ending:
        car = scenario.drive(kind, scenario.on_link(int(link), 20.0))
        scenario.run(60.0)
        if scenario.speed(car) < 0.5:
            stuck.append(int(link))
        scenario.destroy(car)
        scenario.tick()
    assert not stuck
