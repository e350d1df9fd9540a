"""The lights on a route: where they stop one, what they show, who crossed them on red."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.world.lights import RouteLights, set_lights_green
from harness.world.session import open_session
from harness.world.simulators import CarliteSimulator
from tests.world.alone import alone
from tests.world.test_traffic import TOWN, context_in


def watch_lights(host: str, port: int) -> dict[str, Any]:
    """Follow the lights of a route through their phases, then force them green."""
    with open_session(host, port, town=TOWN, tick_seconds=0.05, seed=1) as session:
        context = context_in(session, 1)
        lights = RouteLights(context)
        first = lights.list_lights_ahead(0.0)
        shown: list[list[str]] = []
        crossed = 0
        for _ in range(1200):
            session.world.tick()
            shown.append([light.state for light in lights.list_lights_ahead(0.0)])
            crossed += bool(lights.find_red_crossings(first[0].station - 1, first[0].station + 1))
        set_lights_green(session.world)
        green = set[str]()
        for _ in range(400):
            session.world.tick()
            green |= {light.state for light in lights.list_lights_ahead(0.0)}
        inside = context.route.in_junction
        rows = [round(light.station) for light in first]
        return {
            "stations": [(light.station, light.clear_station) for light in first],
            "inside": [float(inside[min(row + 12, len(inside) - 1)])
                    for row in rows],
            "length": context.route.length,
            "seen": sorted({state for row in shown for state in row}),
            "red": sum(row[0] == "red" for row in shown),
            "crossed": crossed,
            "green": sorted(green),
            "past": len(lights.list_lights_ahead(context.route.length + 1.0)),
        }  # fmt: skip


@pytest.fixture(scope="module")
def watched() -> Iterator[dict[str, Any]]:
    with CarliteSimulator().lease_server(TOWN) as server:
        yield alone(watch_lights, server.host, server.port)


@pytest.mark.thorough
def test_lights_stand_before_junctions(watched: dict[str, Any]) -> None:
    assert watched["stations"]
    for station, clear in watched["stations"]:
        assert 0.0 < station < clear <= watched["length"]
        assert clear - station < 60.0
    assert watched["inside"] == [1.0] * len(watched["stations"])


def test_lights_pass_through_their_phases(watched: dict[str, Any]) -> None:
    assert watched["seen"] == ["green", "red", "yellow"]


def test_a_line_is_crossed_on_red_while_it_is_red(watched: dict[str, Any]) -> None:
    assert watched["crossed"] == watched["red"] > 0


def test_green_by_force_stays(watched: dict[str, Any]) -> None:
    assert watched["green"] == ["green"]


def test_lights_behind_are_forgotten(watched: dict[str, Any]) -> None:
    assert watched["past"] == 0
