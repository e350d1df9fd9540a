"""Every vehicle of the library sets off when the Traffic Manager drives it."""

from __future__ import annotations

import pytest

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
