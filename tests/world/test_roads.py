"""Ways through towns: legal, shortest, measured by the metre."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from xml.etree import ElementTree as ET

import carla
import numpy as np
import pytest

from harness.common.errors import UserError
from harness.types.vocabulary import Route
from harness.world.lane_graph import LaneKey, get_lane_key
from harness.world.maps import find_map
from harness.world.roads import RoadNetwork
from tests.carlite.opendrive_samples import crossing
from tests.world.town_maps import TOWNS, location, roads

Key = tuple[int, int, int]


def random_pairs(network: RoadNetwork, count: int, seed: int) -> list[tuple[int, int]]:
    rng = np.random.default_rng(seed)
    return [tuple(rng.integers(0, len(network.graph.xyz), 2).tolist()) for _ in range(count)]


def folded(angle: np.ndarray) -> np.ndarray:
    return np.abs((angle + np.pi) % (2 * np.pi) - np.pi)


def following_lanes(network: RoadNetwork) -> dict[LaneKey, list[LaneKey]]:
    """Return which lanes each lane leads into."""
    following: dict[LaneKey, list[LaneKey]] = defaultdict(list)
    for entry, ahead in network.map.get_topology():
        if get_lane_key(entry) != get_lane_key(ahead):
            following[get_lane_key(entry)].append(get_lane_key(ahead))
    return following


def trace(network: RoadNetwork, places: list[carla.Location]) -> list[carla.Waypoint]:
    """Return the way's waypoints; the second half of a lane change lies in the new lane."""
    way, graph = network._find_path(places), network.graph
    nodes = list(way.nodes)
    for at, (first, last, side) in way.towards.items():
        if 2 * at >= first + last:
            nodes[at] = int(graph.neighbours[way.nodes[at], side])
    return [graph.waypoints[node] for node in nodes]


def first_change(network: RoadNetwork, side: int, room: int) -> int:
    """Return a waypoint from which changing to the next lane is allowed for `room` metres more."""
    for first, count in network.graph.lanes.values():
        has_neighbour = network.graph.neighbours[first : first + count, side] >= 0
        if count > room and has_neighbour[:room].all():
            return first
    raise AssertionError("no such place")


@pytest.mark.thorough
@pytest.mark.parametrize("town", TOWNS)
def test_a_route_has_a_row_every_metre_on_the_lane_s_centre(town: str) -> None:
    network = roads(town)
    for start, goal in random_pairs(network, 8, seed=3):
        route = network.find_route("r", town, [location(network, start), location(network, goal)])
        steps = np.linalg.norm(np.diff(route.xyz, axis=0), axis=1)
        assert ((steps > 0.85) & (steps < 1.001)).all()
        assert (route.station == np.arange(len(route.station))).all()
        heading = np.arctan2(*np.diff(route.xyz[:, :2], axis=0).T[::-1])
        assert folded(heading - route.yaw[:-1])[steps > 0.99].max() < 0.35
        for row in np.flatnonzero(~route.lane_change)[::7].tolist():
            place = carla.Location(*route.xyz[row].tolist())
            if not route.in_junction[row]:
                lane = network.map.get_waypoint(place)
                aside = lane.transform.get_right_vector().dot(place - lane.transform.location)
                assert abs(aside) < 0.1
                assert folded(np.radians(lane.transform.rotation.yaw) - route.yaw[row]) < 0.2


@pytest.mark.thorough
@pytest.mark.parametrize("town", TOWNS)
def test_a_trace_follows_lanes_and_changes_only_to_permitted_ones(town: str) -> None:
    network = roads(town)
    for start, goal in random_pairs(network, 8, seed=4):
        places = [location(network, start), location(network, goal)]
        for here, ahead in pairwise(trace(network, places)):
            if get_lane_key(here) == get_lane_key(ahead):
                assert here.transform.location.distance(ahead.transform.location) < 1.5
                continue
            onward = {
                get_lane_key(waypoint)
                for step in (0.1, 0.5, 1.0, 1.5)
                for waypoint in here.next(step)
            }
            next_lanes: set[Key] = set()
            for side, neighbour in (
                ("Left", here.get_left_lane()),
                ("Right", here.get_right_lane()),
            ):
                if neighbour and int(here.lane_change) & int(getattr(carla.LaneChange, side)):
                    next_lanes.add(get_lane_key(neighbour))
            beyond = {
                get_lane_key(waypoint) for waypoint in ahead.next(0.5)
            }  # a road may be a hair long
            assert get_lane_key(ahead) in onward | next_lanes or beyond & onward


@pytest.mark.thorough
@pytest.mark.parametrize("town", TOWNS)
def test_no_detour_is_shorter(town: str) -> None:
    network = roads(town)
    for start, goal in random_pairs(network, 6, seed=5):
        direct = network.find_route("r", town, [location(network, start), location(network, goal)])
        by_way = direct.xyz[len(direct.xyz) // 2]
        middle = network.find_nearest_node(carla.Location(*by_way.tolist()))
        for via in (middle, *random_pairs(network, 1, seed=start)[0]):
            places = [location(network, node) for node in (start, via, goal)]
            detour = network.find_route("r", town, places)
            # a lane change costs 6 m in addition to its length
            penalty = 6.0 / 12.0 * float(detour.lane_change.sum())
            assert detour.length + penalty + 5.0 >= direct.length


def test_a_lane_change_is_blended_from_one_lane_into_the_other() -> None:
    network = roads("Crucible05")
    start = first_change(network, side=1, room=45)
    goal = int(network.graph.neighbours[start + 40, 1])
    route = network.find_route(
        "r", "Crucible05", [location(network, start), location(network, goal)]
    )
    rows = np.flatnonzero(route.lane_change)
    assert (np.diff(rows) == 1).all()
    assert 10 <= len(rows) <= 14
    left = network.graph.xyz[start : start + 41, :2]
    aside = np.array([np.linalg.norm(left - xy, axis=1).min() for xy in route.xyz[:, :2]])
    assert aside[: rows[0]].max() < 0.1
    assert aside[rows[-1] + 1 :].min() > 3.0
    assert (np.diff(aside[rows]) > -0.1).all()
    assert np.degrees(folded(route.yaw - route.yaw[0]).max()) < 35.0


def test_a_lane_change_with_little_room_is_rounded() -> None:
    network = roads("Crucible05")
    start = first_change(network, side=1, room=45)
    goal = int(network.graph.neighbours[start + 10, 1])
    places = [location(network, start), location(network, goal)]
    route = network.find_route("r", "Crucible05", places)
    assert route.length < 13.0
    assert route.lane_change.any()
    bends = folded(np.diff(np.arctan2(*np.diff(route.xyz[:, :2], axis=0).T[::-1])))
    assert np.degrees(bends.max()) < 25.0


@pytest.mark.thorough
def test_a_point_within_a_junction_means_any_of_its_lanes() -> None:
    network = roads("Crucible05")
    graph = network.graph
    checked = 0
    following = following_lanes(network)
    for lane, ahead in following.items():
        if len(ahead) < 2 or graph.in_junction[graph.lanes[lane][0]]:
            continue
        for branch in ahead:
            first, count = graph.lanes[branch]
            (beyond,) = following[branch]
            goal = location(network, graph.lanes[beyond][0] + 3)
            begin = location(network, graph.lanes[lane][0])
            plain = network.find_route("r", "Crucible05", [begin, goal])
            fork = location(network, first)
            assert (
                network.find_route("r", "Crucible05", [begin, fork, goal]).length
                <= plain.length + 2
            )
            checked += count > 1
    assert checked > 10


@pytest.mark.parametrize("town", ["Crucible05", "CrucibleOld"])
def test_speed_limits_agree_with_the_map_s_road_records(town: str) -> None:
    network = roads(town)
    path = find_map(town, None)
    assert path is not None
    recorded = {
        int(road.get("id", "")): float(speed.get("max", "")) / 3.6
        for road in ET.parse(path).iter("road")
        for speed in road.iter("speed")
        if road.get("junction") == "-1" and speed.get("unit") == "km/h"
    }
    assert len(set(recorded.values())) > 1
    off = sum(
        abs(network.speed_limits[first + count - 1] - recorded[key[0]]) > 0.01
        for key, (first, count) in network.graph.lanes.items()
        if key[0] in recorded
    )
    assert off == 0


def test_limits_are_those_of_the_last_sign_passed() -> None:
    network = roads("Town05")
    limits = np.unique(np.round(network.speed_limits * 3.6))
    assert limits.tolist() == [30.0, 40.0, 60.0, 90.0]
    sign = next(
        waypoint
        for waypoint in network.map.get_all_landmarks_of_type("274")
        if waypoint.value == 90.0 and waypoint.road_id == 34
    )
    beyond = network.map.get_waypoint_xodr(34, -3, sign.s + 20.0)
    node = network.find_nearest_node(beyond.transform.location)
    assert network.speed_limits[node] == pytest.approx(25.0)


def test_what_cannot_be_driven_is_said() -> None:
    network = RoadNetwork(carla.Map("crossing", crossing()))
    graph = network.graph
    following = following_lanes(network)
    inward = next(lane for lane, ahead in following.items() if len(ahead) > 1)
    (outward,) = following[following[inward][0]]
    near, far = (location(network, graph.lanes[lane][0] + 3) for lane in (inward, outward))
    assert network.find_route("r", "crossing", [near, far]).length > 20.0
    with pytest.raises(UserError, match=r"route r: point 2 .* cannot be reached from point 1"):
        network.find_route("r", "crossing", [far, near])
    with pytest.raises(UserError, match="two different points"):
        network.find_route("r", "crossing", [near, near])
    lane = graph.waypoints[graph.lanes[inward][0] + 3].transform
    off_road = lane.location + 3.0 * lane.get_right_vector()
    further = lane.location + 6.0 * lane.get_right_vector()
    with pytest.raises(UserError, match="at one and the same place"):
        network.find_route("r", "crossing", [carla.Location(off_road), carla.Location(further)])
    away = carla.Location(1000.0, 1000.0, 0.0)
    with pytest.raises(UserError, match=r"route r: point 1 .* m from the nearest driving lane"):
        network.find_route("r", "crossing", [away, far])


def test_a_way_without_a_metre_is_none() -> None:
    """Where one lane ends and the next begins, two waypoints may be a hand's breadth apart."""
    network = roads("CrucibleRing")
    xyz, yaw = network.graph.xyz, network.graph.yaw
    node, ahead = next(
        (node, ahead)
        for node, leads in enumerate(network.graph.edges)
        for ahead, cost in leads
        if 0.0 < cost < 0.1
        and network.find_nearest_node(carla.Location(*xyz[node].tolist())) == node
    )
    aside = np.array([-np.sin(yaw[node]), np.cos(yaw[node]), 0.0])
    start, goal = (xyz[node] - aside).tolist(), (xyz[ahead] + aside).tolist()
    with pytest.raises(UserError, match="at one and the same place"):
        network.find_route("r", "CrucibleRing", [carla.Location(*start), carla.Location(*goal)])


def test_equal_requests_give_equal_routes() -> None:
    network = roads("Crucible05")
    ((start, goal),) = random_pairs(network, 1, seed=9)
    places = [location(network, start), location(network, goal)]
    first, second = (network.find_route("r", "Crucible05", places) for _ in range(2))
    for name in Route.__slots__:
        assert np.array_equal(getattr(first, name), getattr(second, name))
