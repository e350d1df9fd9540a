"""Leaderboard scenarios laid on routes of Crucible05."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pytest

from harness.common.errors import UserError
from harness.types.vocabulary import Route
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.files import RouteSpec
from harness.world.routes.hazard_files import read_hazards
from harness.world.routes.kinds import NAMED, NOT_RUN, NUMBERED
from harness.world.routes.resolve import resolve_route
from harness.world.routes.scenarios import Sampling, classify_turn, list_route_junctions
from tests.world.town_maps import roads

KINDS = {meaning.kind for meaning in (*NUMBERED.values(), *NAMED.values())}
Place = tuple[float, float, float, float]


def route_that_turns(way: str) -> tuple[RouteSpec, Route]:
    """Return a route whose first junction lies more than 60 m ahead and is turned at."""
    network = roads("Crucible05")
    rng = np.random.default_rng(2)
    for _ in range(500):
        nodes = rng.integers(0, len(network.graph.xyz), 2)
        points = np.column_stack([network.graph.xyz[nodes], network.graph.yaw[nodes]])
        spec = RouteSpec(
            id="0",
            town="Crucible05",
            keypoints=points,
            weather=None,
            scenarios=(),
            file=Path("memory.xml"),
            line=1,
        )
        route = resolve_route(spec, network)
        if route.length > 60 and (turns := list_route_junctions(route)):
            first, last = turns[0]
            if (
                first > 60
                and last + 40 < len(route.station)
                and classify_turn(route, first, last) == way
            ):
                return spec, route
    raise AssertionError("no such route")


def on(route: Route, row: int, aside: float = 0.0, turned: float = 0.0) -> Place:
    x, y, z = route.xyz[row].tolist()
    yaw = float(route.yaw[row])
    return x - aside * math.sin(yaw), y + aside * math.cos(yaw), z, math.degrees(yaw) + turned


def hazards(
    folder: Path, spec: RouteSpec, *groups: tuple[str, list[Place]], sampling: Sampling = "v2xverse"
) -> list[HazardSpec]:
    """Write a scenario file as the Leaderboard has it, numbers as text too, and read it."""
    scenarios: list[dict[str, Any]] = [
        {
            "scenario_type": kind,
            "available_event_configurations": [
                {"transform": {"x": f"{x}", "y": y, "z": z, "yaw": yaw, "pitch": "0"}}
                for x, y, z, yaw in places
            ],
        }
        for kind, places in groups
    ]
    path = folder / "scenarios.json"
    towns = {"Town09": scenarios, "Crucible05": scenarios}
    path.write_text(json.dumps({"available_scenarios": [towns]}))
    return read_hazards(path, kinds=KINDS, routes={"0": spec}, sampling=sampling)


def run(specs: list[HazardSpec]) -> list[tuple[str, str]]:
    return [(spec.source, spec.kind) for spec in specs if not spec.kind.startswith(NOT_RUN)]


def reasons(specs: list[HazardSpec]) -> dict[str, str]:
    return {
        spec.source: spec.kind.removeprefix(NOT_RUN)
        for spec in specs
        if spec.kind.startswith(NOT_RUN)
    }


def test_scenarios_of_other_towns_only_are_refused(tmp_path: Path) -> None:
    spec, route = route_that_turns("left")
    elsewhere = replace(spec, town="Town01")
    with pytest.raises(UserError, match="no scenarios in Town01; its towns are 'Town09', 'Cruc"):
        hazards(tmp_path, elsewhere, ("Scenario1", [on(route, 20)]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("aside", "turned", "counts"),
    [(0.0, 0.0, True), (1.9, 0.0, True), (2.1, 0.0, False), (0, 9.0, True), (0, -11.0, False)],
)
def test_a_trigger_counts_within_two_metres_and_ten_degrees(
    tmp_path: Path, aside: float, turned: float, counts: bool
) -> None:
    spec, route = route_that_turns("left")
    specs = hazards(tmp_path, spec, ("Scenario1", [on(route, 20, aside, turned)]))
    assert bool(specs) == counts


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["left", "right", "straight"])
def test_every_one_of_ten_types_runs_or_has_a_reason(tmp_path: Path, way: str) -> None:
    spec, route = route_that_turns(way)
    needs = {4: ("left", "right"), 8: ("left",), 9: ("right",)}
    for number in range(1, 11):
        name = f"Scenario{number}"
        specs = hazards(tmp_path, spec, (name, [on(route, 15)]), sampling="leaderboard")
        if way in needs.get(number, (way,)):
            assert run(specs) == [(name, NUMBERED[name].kind)]
        else:
            assert reasons(specs) == {name: f"the route goes {way} at the next junction"}


def test_what_needs_a_junction_meets_the_ego_in_it(tmp_path: Path) -> None:
    spec, route = route_that_turns("left")
    first, last = list_route_junctions(route)[0]
    (met,) = hazards(tmp_path, spec, ("Scenario8", [on(route, 10)]))
    assert first <= met.station <= last
    (inside,) = hazards(tmp_path, spec, ("Scenario8", [on(route, first + 2)]))
    assert inside.station == met.station
    end = len(route.station) - 1
    assert not route.in_junction[end]
    (beyond,) = hazards(tmp_path, spec, ("Scenario7", [on(route, end)]))
    assert reasons([beyond]) == {"Scenario7": "no junction follows on the route"}
    (late,) = hazards(tmp_path, spec, ("Scenario2", [on(route, end)]))
    assert reasons([late]) == {"Scenario2": "the route ends before it"}


@pytest.mark.thorough
def test_the_highest_type_that_the_route_can_run_takes_a_place(tmp_path: Path) -> None:
    spec, route = route_that_turns("straight")
    here = [on(route, 30)]
    groups = (("Scenario1", here), ("Scenario3", here), ("Scenario9", here))
    specs = hazards(tmp_path, spec, *groups, sampling="leaderboard")
    assert run(specs) == [("Scenario3", "occluded_pedestrian")]
    assert set(reasons(specs)) == {"Scenario9"}


def test_only_the_fifth_pedestrian_of_a_dense_file_runs(tmp_path: Path) -> None:
    spec, route = route_that_turns("left")
    places = [on(route, row) for row in range(5, 50, 5)]
    dense = ("Scenario3", places)
    specs = hazards(tmp_path, spec, dense)
    assert [hazard.station for hazard in specs if hazard.kind in KINDS] == [
        pytest.approx(25.0 + NUMBERED["Scenario3"].ahead, abs=2.0)
    ]
    (left_out,) = (hazard for hazard in specs if hazard.kind not in KINDS)
    assert left_out.parameters == {"count": len(places) - 1}
    assert not run(hazards(tmp_path, spec, ("Scenario3", places[:4])))
    every = hazards(tmp_path, spec, dense, sampling="leaderboard")
    stations = [hazard.station for hazard in every if hazard.kind in KINDS]
    assert len(stations) == 2
    assert np.diff(stations).min() >= 30.0


def test_an_unknown_type_and_a_kind_we_lack_are_named(tmp_path: Path) -> None:
    spec, route = route_that_turns("left")
    (unknown,) = hazards(tmp_path, spec, ("Scenario77", [on(route, 20)]))
    assert reasons([unknown]) == {"Scenario77": "no hazard stands for this type"}
    fewer = KINDS - {"control_loss"}
    hazards(tmp_path, spec, ("Scenario1", [on(route, 20)]))
    (lacking,) = read_hazards(tmp_path / "scenarios.json", kinds=fewer, routes={"0": spec})
    assert reasons([lacking]) == {"Scenario1": "no hazard of kind control_loss"}


@pytest.mark.thorough
def test_right_and_left_turns_are_distinguished() -> None:
    for way in ("left", "right", "straight"):
        _, route = route_that_turns(way)
        first, last = list_route_junctions(route)[0]
        before, after = route.xyz[first], route.xyz[min(last + 10, len(route.xyz) - 1)]
        yaw = float(route.yaw[first])
        aside = carla.Vector3D(*(after - before).tolist()).dot(
            carla.Vector3D(-math.sin(yaw), math.cos(yaw), 0.0)
        )
        assert {"left": aside < -4, "right": aside > 4, "straight": abs(aside) < 8}[way]
