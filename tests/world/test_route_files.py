"""Route and hazard files: what is read, what is written, what is refused in one line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import carla
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.common.errors import UserError
from harness.types.vocabulary import Route
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.duplicates import find_duplicate_routes
from harness.world.routes.files import RouteSpec, read_routes, write_routes
from harness.world.routes.hazard_files import read_hazards, read_nested_hazards, write_hazards
from harness.world.routes.resolve import resolve_route, resolve_routes
from tests.world.town_maps import location, roads

BAD = Path(__file__).parent.parent / "bad_inputs"
Item = TypeVar("Item")
KINDS = ("occluded_pedestrian", "hard_braking")
ONE_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SHORTENED = """<?xml version='1.0' encoding='utf-8'?>
<routes>
  <route id="7" town="Town05">
    <waypoint pitch="360.0" roll="0.0" x="33.75" y="-105.5" yaw="270.0" z="1.5" />
    <waypoint pitch="360.0" roll="0.0" x="54.25" y="-193.5" yaw="-0.5" z="0.0" />
    <weather id="HardRainNoon" cloudiness="90.0" precipitation="60.0" sun_altitude_angle="-4" />
  </route>
  <route id="8" town="Town01">
    <waypoint x="1" y="2" z="3"/> <waypoint x="4" y="5" z="6"/> <waypoint x="7" y="8" z="9"/>
  </route>
</routes>
"""
NESTED = """<routes>
  <route id="12" town="Crucible05">
    <weathers>
      <weather route_percentage="100" cloudiness="5"/>
      <weather route_percentage="0" cloudiness="80" wetness="20"/>
    </weathers>
    <waypoints>
      <position x="{x0}" y="{y0}" z="0"/><position x="{x1}" y="{y1}" z="0"/>
    </waypoints>
    <scenarios>
      <scenario name="Crossing_1" type="DynamicObjectCrossing">
        <trigger_point x="{xt}" y="{yt}" z="0.0" yaw="90"/>
        <distance value="12"/> <direction value="right"/> <gap from="15" to="50"/>
      </scenario>
      <scenario name="Priority_1" type="YieldToEmergencyVehicle">
        <trigger_point x="{xt}" y="{yt}" z="0.0" yaw="90"/>
      </scenario>
    </scenarios>
  </route>
</routes>
"""


def spec_between(name: str, *nodes: int) -> RouteSpec:
    network = roads("Crucible05")
    points = np.column_stack([network.graph.xyz[list(nodes)], network.graph.yaw[list(nodes)]])
    return RouteSpec(
        id=name,
        town="Crucible05",
        keypoints=points,
        weather=None,
        scenarios=(),
        file=Path("memory.xml"),
        line=1,
    )


def a_route(name: str = "0") -> tuple[RouteSpec, Route]:
    """Return a route of more than 150 m through Crucible05."""
    rng = np.random.default_rng(8)
    network = roads("Crucible05")
    while True:
        start, goal = rng.integers(0, len(network.graph.xyz), 2).tolist()
        spec = spec_between(name, start, goal)
        if 150 < (route := resolve_route(spec, network)).length < 400:
            return spec, route


def unless_refused(path: Path, read: Callable[[], list[Item]]) -> list[Item]:
    """Return what is read, or nothing where one line says why not."""
    problem = ""
    try:
        return read()
    except UserError as caught:
        problem = str(caught)
    assert problem.startswith(str(path))
    assert len(problem.splitlines()) == 1
    return []


def test_leaderboard_1_0(tmp_path: Path) -> None:
    path = tmp_path / "short.xml"
    path.write_text(SHORTENED)
    first, second = read_routes(path)
    assert (first.id, first.town, first.line) == ("7", "Town05", 3)
    assert first.keypoints[0].tolist() == [33.75, -105.5, 1.5, math.radians(270.0)]
    assert first.weather == {
        "cloudiness": 90.0,
        "precipitation": 60.0,
        "sun_altitude_angle": -4.0,
    }
    assert second.weather is None
    assert second.keypoints[:, :3].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert np.isnan(second.keypoints[:, 3]).all()


def test_leaderboard_2(tmp_path: Path) -> None:
    path = tmp_path / "nested.xml"
    path.write_text(NESTED.format(x0=1, y0=2, x1=3, y1=4, xt=5, yt=6))
    (route,) = read_routes(path)
    assert route.keypoints[:, :3].tolist() == [[1, 2, 0], [3, 4, 0]]
    assert route.weather == {"cloudiness": 80.0, "wetness": 20.0}
    crossing, _ = route.scenarios
    assert crossing.trigger == (5.0, 6.0, 0.0, math.pi / 2)
    assert crossing.parameters == {
        "distance": 12.0,
        "direction": "right",
        "gap.from": 15.0,
        "gap.to": 50.0,
    }


def test_folders_and_patterns_are_read_in_order_and_ids_made_unique(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        text = SHORTENED.replace('id="7"', f'id="{number}"')
        (tmp_path / f"short_r{number}.xml").write_text(text)
    (tmp_path / "notes.txt").write_text("not a route file")
    ids = ["1", "short_r1:8", "2", "short_r2:8", "10", "short_r10:8"]
    assert [route.id for route in read_routes(tmp_path)] == ids
    assert read_routes(str(tmp_path / "short_r1*.xml"))[0].id == "1"
    with pytest.raises(UserError, match="holds no route files"):
        read_routes(tmp_path / "*.xodr")


def test_files_of_one_name_with_routes_of_one_id_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_routes(tmp_path / folder / "short.xml", [spec_between("0", 1, 2)])
    with pytest.raises(UserError, match=r"b/short.xml: line 3: route short:0 is in .*a/short.xml"):
        read_routes(tmp_path / "*" / "short.xml")


coordinates = st.floats(-1e5, 1e5)
specs = st.builds(
    RouteSpec,
    id=st.text(
        st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=12
    ),
    town=st.sampled_from(["Town05", "Crucible05"]),
    keypoints=st.lists(
        st.tuples(coordinates, coordinates, coordinates, st.floats(-3.0, 3.0)), min_size=2
    ).map(np.array),
    weather=st.none() | st.dictionaries(st.sampled_from(["wetness", "cloudiness"]), coordinates),
    scenarios=st.just(()),
    file=st.just(Path("x.xml")),
    line=st.just(1),
)


@ONE_FOLDER
@given(st.lists(specs, min_size=1, max_size=5, unique_by=lambda spec: spec.id))
def test_what_is_written_is_read_again(tmp_path: Path, written: list[RouteSpec]) -> None:
    path = tmp_path / "routes.xml"
    write_routes(path, written)
    for before, after in zip(written, read_routes(path), strict=True):
        assert (after.id, after.town, after.weather or None) == (
            before.id,
            before.town,
            before.weather or None,
        )
        assert np.abs(after.keypoints - before.keypoints).max() < 6e-4


@ONE_FOLDER
@given(st.binary() | st.text().map(str.encode) | st.just(SHORTENED.encode()), st.data())
def test_no_bytes_make_the_route_reader_stumble(
    tmp_path: Path, content: bytes, data: st.DataObject
) -> None:
    spoilt = SHORTENED.encode()
    at = data.draw(st.integers(0, len(spoilt)))
    for attempt in (content, spoilt[:at] + content + spoilt[at + len(content) :]):
        path = tmp_path / "routes.xml"
        path.write_bytes(attempt)
        routes = unless_refused(path, lambda: read_routes(path))  # noqa: B023
        assert all(np.isfinite(route.keypoints[:, :3]).all() for route in routes)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.sampled_from(KINDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["version", "hazards", "route", "kind", "station", "parameters", "x", "yaw"]
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@ONE_FOLDER
@given(
    json_values
    | st.builds(lambda v: {"version": 1, "hazards": [v]}, json_values)
    | st.builds(lambda v: {"available_scenarios": [{"Crucible05": [v]}]}, json_values)
)
def test_no_json_makes_the_hazard_reader_stumble(tmp_path: Path, content: object) -> None:
    path = tmp_path / "hazards.json"
    path.write_text(json.dumps(content))
    assert unless_refused(path, lambda: read_hazards(path, kinds=KINDS, routes={})) == []


@ONE_FOLDER
@given(st.binary())
def test_no_bytes_make_the_hazard_reader_stumble(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "hazards.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"hazards\.json: "):
        read_hazards(path, kinds=KINDS, routes={})


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(UserError, match=r"deep\.json"):
        read_hazards(tmp_path / "deep.json", kinds=KINDS, routes={})
    (tmp_path / "deep.xml").write_text("<routes>" * 200_000)
    with pytest.raises(UserError, match=r"deep\.xml"):
        read_routes(tmp_path / "deep.xml")


def test_hazards_written_are_read_again(tmp_path: Path) -> None:
    spec, route = a_route()
    written = [
        HazardSpec(
            route="0",
            kind="occluded_pedestrian",
            station=40.5,
            parameters={"speed": 1.25, "occluder": "van"},
        ),
        HazardSpec(route="0", kind="hard_braking", station=route.length),
        HazardSpec(route="elsewhere", kind="hard_braking", station=9e5),
    ]
    write_hazards(tmp_path / "h.json", written)
    read = read_hazards(tmp_path / "h.json", kinds=KINDS, routes={"0": spec})
    assert read == written[:2]


@pytest.mark.parametrize("path", sorted((BAD / "routes").iterdir()), ids=lambda path: path.name)
def test_bad_route_files_get_one_clear_line(path: Path) -> None:
    with pytest.raises(UserError) as caught:
        resolve_routes(read_routes(path), None)
    line = str(caught.value)
    assert line.startswith(str(path))
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("path", sorted((BAD / "hazards").iterdir()), ids=lambda path: path.name)
def test_bad_hazard_files_get_one_clear_line(path: Path) -> None:
    spec, _ = a_route()
    with pytest.raises(UserError) as caught:
        read_hazards(path, kinds=KINDS, routes={"0": spec})
    line = str(caught.value)
    assert line.startswith(str(path))
    assert len(line.splitlines()) == 1


def test_hazards_inside_a_route_are_read(tmp_path: Path) -> None:
    _, route = a_route()
    (x0, y0, _), (x1, y1, _), (xt, yt, _) = route.xyz[[0, -1, 60]].tolist()
    path = tmp_path / "nested.xml"
    path.write_text(NESTED.format(x0=x0, y0=y0, x1=x1, y1=y1, xt=xt, yt=yt))
    (spec,) = read_routes(path)
    crossing, other = read_nested_hazards(kinds=KINDS, routes={spec.id: spec})
    assert (crossing.kind, crossing.source) == ("occluded_pedestrian", "DynamicObjectCrossing")
    assert 60.0 < crossing.station < 90.0
    assert other.kind == "not_run:no hazard stands for this type"


def test_routes_along_the_same_way_are_recognised_whatever_points_they_name() -> None:
    spec, route = a_route("a")
    network = roads("Crucible05")
    middle = [
        network.find_nearest_node(carla.Location(*xyz)) for xyz in route.xyz[60:90:20].tolist()
    ]
    ends = [
        network.find_nearest_node(spec.locations[0]),
        network.find_nearest_node(spec.locations[1]),
    ]
    again = resolve_route(spec_between("b", ends[0], *middle, ends[1]), network)
    shorter = resolve_route(spec_between("c", middle[0], ends[1]), network)
    other = network.find_route("d", "Crucible05", [location(network, 100), spec.locations[1]])
    assert find_duplicate_routes([route, shorter, other, again]) == [["a", "b"]]
    assert find_duplicate_routes([route, shorter, other]) == []
