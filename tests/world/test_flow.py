"""Traffic that flows and traffic that does not, on the embedded server."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import carla
import pytest

from harness.world import flow
from harness.world.attempt_context import AttemptContext, make_empty_route
from harness.world.session import open_session
from harness.world.traffic import Traffic
from tests.conftest import Carlite
from tests.world.alone import alone

TOWN = "CrucibleOld"


def watch(host: str, port: int, jammed: bool) -> dict[str, Any]:
    """Watch a few vehicles drive, or stand, with a stand of 15 s taken for a jam."""
    with (
        patch.object(flow, "JAM", 15.0),
        open_session(host, port, town=TOWN, tick_seconds=0.05, seed=3) as session,
    ):
        context = AttemptContext(
            client=session.client,
            world=session.world,
            map=session.map,
            traffic_manager=session.traffic_manager,
            route=make_empty_route(TOWN),
            seed=3,
            tick_seconds=0.05,
        )
        population = Traffic(vehicles=8, walkers=0).spawn_population(context, [])
        session.world.tick()
        for light in session.world.get_actors().filter("traffic.traffic_light"):
            light.set_state(carla.TrafficLightState.Green)
            light.freeze(True)
        if jammed:
            for vehicle in population.vehicles:
                vehicle.set_autopilot(False, session.traffic_manager.get_port())
                vehicle.apply_control(carla.VehicleControl(brake=1.0))
        seen = flow.record_standing_vehicles(session, population.vehicles, 0.5)
        population.destroy_population()
        return {
            "vehicles": len(population.vehicles),
            "jams": len(seen.jams),
            "summary": seen.summary,
        }


@pytest.mark.thorough
@pytest.mark.parametrize("jammed", [False, True])
def test_vehicles_that_stand_for_long_are_jams(carlite: Carlite, jammed: bool) -> None:
    seen = alone(watch, carlite.host, carlite.port, jammed)
    assert seen["vehicles"] == 8
    assert bool(seen["jams"]) == jammed, seen
    assert seen["summary"].startswith("8 vehicles, ")


def test_those_who_stand_together_are_one_jam() -> None:
    places = [(0.0, 0.0), (30.0, 0.0), (100.0, 0.0), (10.0, 10.0)]
    seen = [flow.StandingVehicle(seconds=200.0 + k, x=x, y=y) for k, (x, y) in enumerate(places)]
    groups = flow.group_into_jams(seen)
    assert [len(group) for group in groups] == [3, 1]
    assert flow.describe_jam(groups[0]) == (
        "jam at (0, 0): 3 vehicles stood 120 s, the first from 80 s on"
    )
