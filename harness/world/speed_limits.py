"""Which speed limit holds where on a town's lanes.

A map's road records say it, but for maps drawn with RoadRunner, as CARLA's own towns: there the
records hold one number per kind of road, and CARLA goes by the last sign passed.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from xml.etree import ElementTree as ET

import carla
import numpy as np

from harness.vocabulary import Floats
from harness.world.lane_graph import SPACING, LaneGraph, LaneKey

GOES_BY_SIGNS = 'vendor="VectorZero"'
SPEED_SIGN = "274"
UNPOSTED = 50 / 3.6
UNITS = {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1.0}


def speed_limits(carla_map: carla.Map, graph: LaneGraph) -> Floats:
    """Return the limit at each waypoint, m/s."""
    text = carla_map.to_opendrive()
    if GOES_BY_SIGNS in text[:4000]:
        return _posted(carla_map, graph)
    return _recorded(text, graph)


def _recorded(text: str, graph: LaneGraph) -> Floats:
    limits = np.full(len(graph.waypoints), UNPOSTED)
    stations = np.array([waypoint.s for waypoint in graph.waypoints])
    records = {
        int(road.get("id", "-1")): [
            (float(kind.get("s", 0.0)), float(speed.get("max", "nan")) * _unit(speed))
            for kind in road.findall("type")
            for speed in kind.findall("speed")
            if speed.get("max", "").replace(".", "", 1).isdecimal()
        ]
        for road in ET.fromstring(text).iter("road")
    }
    for key, (first, count) in graph.lanes.items():
        for start, limit in sorted(records.get(key[0], [])):
            along = stations[first : first + count] >= start
            limits[first : first + count][along] = limit
    return limits


def _unit(speed: ET.Element) -> float:
    return UNITS.get(speed.get("unit", "m/s"), 1.0)


def _posted(carla_map: carla.Map, graph: LaneGraph) -> Floats:
    """Return what the last sign passed says; CARLA reads it as km/h whatever unit the map gives."""
    limits = np.full(len(graph.waypoints), np.nan)
    waiting = [(0.0, place, limit) for place, limit in _signs(carla_map, graph)]
    heapq.heapify(waiting)
    while waiting:
        distance, index, limit = heapq.heappop(waiting)
        if not np.isnan(limits[index]):
            continue
        limits[index] = limit
        for ahead, cost in graph.edges[index]:
            if np.isnan(limits[ahead]):
                heapq.heappush(waiting, (distance + cost, ahead, limit))
    return np.where(np.isnan(limits), UNPOSTED, limits)


def _signs(carla_map: carla.Map, graph: LaneGraph) -> Iterable[tuple[int, float]]:
    """Yield the waypoint from which each speed sign holds, and its limit in m/s."""
    stations = np.array([waypoint.s for waypoint in graph.waypoints])
    lanes_of_road: dict[int, list[LaneKey]] = defaultdict(list)
    for key in graph.lanes:
        lanes_of_road[key[0]].append(key)
    for sign in carla_map.get_all_landmarks_of_type(SPEED_SIGN):
        if sign.value <= 0.0:
            continue
        for key in lanes_of_road[sign.road_id]:
            if not any(first <= key[2] <= last for first, last in sign.get_lane_validities()):
                continue
            first, count = graph.lanes[key]
            offsets = np.abs(stations[first : first + count] - sign.s)
            if offsets.min() <= 2 * SPACING:
                yield first + int(offsets.argmin()), sign.value / 3.6
