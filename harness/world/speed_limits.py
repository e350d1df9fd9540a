"""Which speed limit holds where on a town's lanes.

A map's road records hold it, but for maps made with RoadRunner, as CARLA's own towns: there the
records hold one number per kind of road, and CARLA goes by the last sign passed.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import carla
import numpy as np

from harness.types.vocabulary import Floats
from harness.world.lane_graph import SPACING, LaneGraph, LaneKey
from harness.world.routes.documents import XmlElement, parse_finite, parse_xml

GOES_BY_SIGNS = 'vendor="VectorZero"'
SPEED_SIGN = "274"
UNPOSTED = 50 / 3.6
UNITS = {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1.0}


def compute_speed_limits(carla_map: carla.Map, graph: LaneGraph) -> Floats:
    """Return the limit at each waypoint, m/s.

    Args:
        carla_map: of the town.
        graph: its waypoints.

    Returns:
        (waypoints,)
    """
    text = carla_map.to_opendrive()
    if GOES_BY_SIGNS in text[:4000]:
        return _propagate_sign_limits(carla_map, graph)
    return _read_recorded_limits(parse_xml(text, Path(f"{Path(carla_map.name).name}.xodr")), graph)


def _read_recorded_limits(document: XmlElement, graph: LaneGraph) -> Floats:
    limits = np.full(len(graph.waypoints), UNPOSTED)
    stations = np.array([waypoint.s for waypoint in graph.waypoints])
    records = {
        _parse_road_number(road): sorted(_iter_road_limits(road))
        for road in document.find_children("road")
    }
    for key, (first, count) in graph.lanes.items():
        for start, limit in records.get(key[0], []):
            along = stations[first : first + count] >= start
            limits[first : first + count][along] = limit
    return limits


def _parse_road_number(road: XmlElement) -> int:
    text = road.read_text("id")
    if not text.isdecimal():
        road.raise_error(f"has id={text[:40]!r}; write a whole number, as CARLA reads no other")
    return int(text)


def _iter_road_limits(road: XmlElement) -> Iterable[tuple[float, float]]:
    """Yield from which station of a road each limit holds; one may be a word: none."""
    for kind in road.find_children("type"):
        for speed in kind.find_children("speed"):
            limit = parse_finite(speed.attributes.get("max"))
            if limit is not None and limit >= 0.0:
                unit = UNITS.get(speed.attributes.get("unit", "m/s"), 1.0)
                yield kind.read_number("s") if "s" in kind.attributes else 0.0, limit * unit


def _propagate_sign_limits(carla_map: carla.Map, graph: LaneGraph) -> Floats:
    """Return the limit of the last sign passed; CARLA reads km/h whatever unit the map gives."""
    # (waypoints,) NaN: no sign has reached it
    limits = np.full(len(graph.waypoints), np.nan)
    waiting = [(0.0, place, limit) for place, limit in _iter_speed_signs(carla_map, graph)]
    heapq.heapify(waiting)
    # from all signs at once: each waypoint gets the limit of the nearest sign behind it
    while waiting:
        distance, index, limit = heapq.heappop(waiting)
        if not np.isnan(limits[index]):
            continue
        limits[index] = limit
        for ahead, cost in graph.edges[index]:
            if np.isnan(limits[ahead]):
                heapq.heappush(waiting, (distance + cost, ahead, limit))
    return np.where(np.isnan(limits), UNPOSTED, limits)


def _iter_speed_signs(carla_map: carla.Map, graph: LaneGraph) -> Iterable[tuple[int, float]]:
    """Yield the waypoint from which each speed sign holds, and its limit in m/s."""
    # (waypoints,) m along their road
    stations = np.array([waypoint.s for waypoint in graph.waypoints])
    lanes_of_road: dict[int, list[LaneKey]] = defaultdict(list)
    for key in graph.lanes:
        lanes_of_road[key[0]].append(key)
    for sign in carla_map.get_all_landmarks_of_type(SPEED_SIGN):
        if sign.value <= 0.0:
            continue
        # the lanes that a sign is for, and the waypoint nearest to it
        for key in lanes_of_road[sign.road_id]:
            if not any(first <= key[2] <= last for first, last in sign.get_lane_validities()):
                continue
            first, count = graph.lanes[key]
            offsets = np.abs(stations[first : first + count] - sign.s)
            if offsets.min() <= 2 * SPACING:
                yield first + int(offsets.argmin()), sign.value / 3.6
