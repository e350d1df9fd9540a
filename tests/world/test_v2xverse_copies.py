"""Crucible's copies of V2Xverse's routes and triggers: the same bytes, and hazards by its rules."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.common.files import find_file
from harness.types.vocabulary import Route
from harness.world.hazards.catalogue import KINDS
from harness.world.routes.checkout import PARAMETERS_COPY, ROUTES_COPY, SCENARIOS_COPY
from harness.world.routes.checkout import read_traffic_parameters as read_parameters
from harness.world.routes.documents import read_json
from harness.world.routes.files import RouteSpec, read_routes
from harness.world.routes.hazard_files import read_hazards
from harness.world.routes.kinds import NOT_RUN
from harness.world.routes.resolve import resolve_routes
from harness.world.routes.trigger_grid import MOST_GRID_TRIGGERS, expand_trigger_grid

SCENARIO_BLOB = "a2da224f4b92259bcab4243f1bef6b492075433c"
"""Git's name of `town05_all_scenarios_2.json` in V2Xverse at aeac718."""
ROUTE_BLOBS = (
    "3ce9ade1d6bb 5f211f43fd9a 1cb65f02bb74 c66c5f3520fb a176fedbbb23 eec9b59d1f5c "
    "6b18cc0dfbed 07ed365bb5b1 63ba3b8f2054 629288afe2c0 d8b6b6011f7f 27ad4720991d "
    "2ee0a2bf75dd 944b88945952 51f33833a22d 6db125aaf72d 4c0d9808bc06 86d232f11a78 "
    "060934eced34 de7eec34d4e0 e6005c423fa3 1e5313c78ee7 51f7f9273b2e 8e0dde214667 "
    "0d4993da1658 f02c73a8e21d 69a9e614dea4 08574327a818 90d1a5c045f3 ded3e13ca1be "
    "b7ddbb6ff89c 0f96a79ea321"
)
"""The first twelve digits of Git's names of `town05_short_r0.xml` to `r31.xml` there."""
HEAD = "<?xml version='1.0' encoding='utf-8'?>\n<routes>\n"


def name_blob(text: str) -> str:
    """Return Git's name of a file with that text."""
    content = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    path = find_file(SCENARIOS_COPY, "triggers")
    return expand_trigger_grid(read_json(path), path)


@pytest.fixture(scope="module")
def specs() -> dict[str, RouteSpec]:
    return {spec.id: spec for spec in read_routes(find_file(ROUTES_COPY, "routes"))}


@pytest.fixture(scope="module")
def ways(specs: dict[str, RouteSpec]) -> dict[str, Route]:
    return resolve_routes(specs.values(), None)


def test_the_triggers_are_those_of_v2xverses_file(content: dict[str, Any]) -> None:
    assert name_blob(json.dumps(content, indent=2)) == SCENARIO_BLOB


def test_the_routes_are_those_of_v2xverses_files(specs: dict[str, RouteSpec]) -> None:
    names = []
    for spec in specs.values():
        points = [
            f'    <waypoint pitch="0.0" roll="0.0" x="{x:.6f}" y="{y:.6f}"'
            f' yaw="{math.degrees(yaw):.6f}" z="{z:.1f}" />\n'
            for x, y, z, yaw in spec.keypoints.tolist()
        ]
        route = f'  <route id="{spec.id}" town="{spec.town}">\n{"".join(points)}  </route>\n'
        # V2Xverse indents the end of all files but the last
        end = "</routes>" if spec.id == "31" else "  </routes>"
        names.append(name_blob(f"{HEAD}{route}{end}")[:12])
    assert " ".join(names) == ROUTE_BLOBS


def test_the_traffic_is_that_of_v2xverses_first_parameters() -> None:
    traffic = read_parameters(find_file(PARAMETERS_COPY, "traffic"))
    assert (traffic["vehicles"], traffic["walkers"], traffic["bicycles"]) == (60, 60, 60)
    assert (traffic["crazy_level"], traffic["crazy_proportion"]) == (3, 50.0)


def test_every_route_can_be_laid(ways: dict[str, Route]) -> None:
    assert list(ways) == [str(number) for number in range(32)]
    assert all(45.0 < way.length < 1500.0 for way in ways.values())


@pytest.mark.thorough
def test_hazards_stand_where_the_published_rules_put_them(
    content: dict[str, Any], specs: dict[str, RouteSpec], ways: dict[str, Route]
) -> None:
    hazards = read_hazards(find_file(SCENARIOS_COPY, "hazards"), kinds=KINDS, routes=specs)
    (town,) = content["available_scenarios"]
    triggers = [
        (int(group["scenario_type"].removeprefix("Scenario")), event["transform"])
        for group in town["Town05"]
        for event in group["available_event_configurations"]
    ]
    for name, way in ways.items():
        placed = [
            (hazard.kind, round(hazard.station, 3))
            for hazard in hazards
            if hazard.route == name and not hazard.kind.startswith(NOT_RUN)
        ]
        assert placed == place_by_the_rules(way, triggers), name
    kinds = Counter(hazard.kind for hazard in hazards if not hazard.kind.startswith(NOT_RUN))
    assert kinds == {"occluded_cyclist": 71, "occluded_pedestrian": 17}


def place_by_the_rules(
    way: Route, triggers: list[tuple[int, dict[str, float]]]
) -> list[tuple[str, float]]:
    """Return the hazards of a route by the rules as published, without the house's code.

    A trigger counts within 2 m and 10 degrees. Scenario4 counts before a turn. Of several types at
    one place the highest number counts. Of Scenario3, the fifth place counts. One kind keeps 30 m.
    """
    places: list[tuple[float, float, float, dict[int, int]]] = []
    degrees = np.degrees(way.yaw)
    # squares of 2 m around the rows: only triggers in them are compared
    squares = {
        (int(x // 2) + i, int(y // 2) + j)
        for x, y, _ in way.xyz.tolist()
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
    }
    for number, pose in triggers:
        x, y, z, yaw = (pose[key] for key in ("x", "y", "z", "yaw"))
        if (int(x // 2), int(y // 2)) not in squares:
            continue
        gaps = np.sqrt(((way.xyz - (x, y, z)) ** 2).sum(axis=1))
        rows = np.flatnonzero((gaps < 2.0) & is_within_ten_degrees(degrees, yaw))
        if not len(rows) or (number == 4 and find_turn(way, int(rows[0])) is None):
            continue
        for x0, y0, yaw0, types in places:
            if math.hypot(x - x0, y - y0) < 2.0 and is_within_ten_degrees(yaw, yaw0):
                types[number] = int(rows[0])
                break
        else:
            places.append((x, y, yaw, {number: int(rows[0])}))
    chosen = [(max(types), types[max(types)]) for *_, types in places]
    thirds = [row for number, row in chosen if number == 3]
    # metres from the trigger to the meeting: 14 for Scenario3, a junction for Scenario4
    wanted = [("occluded_cyclist", find_turn(way, row)) for number, row in chosen if number == 4]
    wanted += [("occluded_pedestrian", float(way.station[row]) + 14.0) for row in thirds[4:5]]
    assert not [number for number, _ in chosen if number == 1]
    kept: list[tuple[str, float]] = []
    for kind, station in sorted(wanted, key=lambda item: item[1] or 0.0):
        assert station is not None
        last = max((s for k, s in kept if k == kind), default=-math.inf)
        if station <= way.length and station - last >= 30.0:
            kept.append((kind, station))
    return [(kind, round(station, 3)) for kind, station in kept]


def is_within_ten_degrees(first: Any, second: Any) -> Any:
    """Return whether headings in degrees differ by less than 10."""
    return np.abs((first - second + 180.0) % 360.0 - 180.0) < 10.0


def find_turn(way: Route, row: int) -> float | None:
    """Return the station in the middle of the next junction, if the route turns there."""
    inside = way.in_junction
    rows = [at for at in range(row, len(inside)) if inside[at]]
    if not rows:
        return None
    first = last = rows[0]
    while first > 0 and inside[first - 1]:
        first -= 1
    while last + 1 < len(inside) and inside[last + 1]:
        last += 1
    turned = (math.degrees(way.yaw[last] - way.yaw[first]) + 180.0) % 360.0 - 180.0
    return float(way.station[(first + last) // 2]) if abs(turned) >= 35.0 else None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"town": 5}, '"town" is no text'),
        ({"scenario_types": "Scenario1"}, "scenario_types: is no list"),
        ({"grid_seeds": {}}, "grid_seeds: is no list"),
        ({"grid_seeds": [3]}, r"grid_seeds\[0\]: is no object"),
        ({"grid_seeds": [{"pitch": 0, "x": 0, "y": 0}]}, r'grid_seeds\[0\]: has no "yaw"'),
        ({"grid_seeds": [{"pitch": 0, "x": "far", "y": 0, "yaw": 0}]}, '"x" is not a finite'),
        ({"grid_seeds": [{}] * (MOST_GRID_TRIGGERS // 36 + 1)}, "200,016 triggers; a file has"),
        ({"scenario_types": [7]}, '"scenario_type" is no text'),
    ],
)
def test_a_grid_that_is_none_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    seed = {"pitch": 0.0, "x": 0.0, "y": 0.0, "yaw": 0.0}
    grid = {"town": "Town05", "scenario_types": ["Scenario1"], "grid_seeds": [seed], **change}
    file = tmp_path / "grid.json"
    file.write_text(json.dumps(grid))
    with pytest.raises(UserError, match=said):
        read_hazards(file, kinds=KINDS, routes={})
