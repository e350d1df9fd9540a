"""Probes of what is written on roads and at them, against the map's file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import carla

from tests.carlite.contract_compare import Comparisons
from tests.carlite.surface.stage import Stage

COLOURS = {
    "standard": carla.LaneMarkingColor.Standard,
    "white": carla.LaneMarkingColor.White,
    "yellow": carla.LaneMarkingColor.Yellow,
}
CHANGES = {"both": carla.LaneChange.Both, "none": carla.LaneChange.NONE}
LIGHT_TYPE = "1000001"
EDGE = 0.5
"""Metres around the end of a marking where it is not compared."""


def find_road_mark(section: Any, lane: int, s: float) -> Any:
    """Return the marking at the outer edge of a lane; None near where it changes."""
    marks = next(one for one in section.iter("lane") if one.get("id") == str(lane))
    along = s - float(section.get("s"))
    starts = [float(mark.get("sOffset")) for mark in marks.iter("roadMark")]
    if any(abs(along - start) < EDGE for start in starts) or not starts or along < starts[0]:
        return None
    return [mark for mark in marks.iter("roadMark") if float(mark.get("sOffset")) <= along][-1]


def list_marked_points(stage: Stage) -> Iterator[tuple[Any, Any, Any]]:
    """Yield waypoints with the markings right and left of them, as the file has them."""
    roads: Any = ElementTree.fromstring(stage.map.to_opendrive())
    sections = {road.get("id"): list(road.iter("laneSection")) for road in roads.iter("road")}
    for point in stage.map.generate_waypoints(15.0):
        along = [part for part in sections[str(point.road_id)] if float(part.get("s")) <= point.s]
        outer = find_road_mark(along[-1], point.lane_id, point.s)
        inwards = -1 if point.lane_id > 0 else 1
        inner = find_road_mark(along[-1], point.lane_id + inwards, point.s)
        if outer is not None and inner is not None:
            yield point, outer, inner


def read_markings(stage: Stage) -> Comparisons:
    """Compare the markings right and left of lanes with the file: colour, width, lane changes."""
    seen: set[str] = set()
    for point, outer, inner in list_marked_points(stage):
        allowed = carla.LaneChange.NONE
        for name, mark, side in (
            ("right_lane_marking", outer, carla.LaneChange.Right),
            ("left_lane_marking", inner, carla.LaneChange.Left),
        ):
            marking, change = getattr(point, name), mark.get("laneChange")
            names = f"Waypoint.{name} LaneMarking."
            yield f"{names}color", marking.color, COLOURS[mark.get("color")], 0
            yield f"{names}width", marking.width, float(mark.get("width")), 1e-6
            yield f"{names}lane_change", marking.lane_change, CHANGES[change], 0
            seen |= {mark.get("color"), mark.get("width"), change}
            allowed = carla.LaneChange(allowed | side) if change == "both" else allowed
        yield "Waypoint.lane_change", point.lane_change, allowed, 0
    yield "LaneMarking.color", {"white", "yellow", "0.12", "0.15", "both", "none"} <= seen, True, 0


def place_on_line(road: Any, s: float, t: float) -> tuple[float, float] | None:
    """Return where a place at the straight start of a road is, CARLA's x and y in metres."""
    first = next(road.iter("geometry"))
    if first.find("line") is None or s > float(first.get("length")):
        return None
    heading = float(first.get("hdg"))
    x = float(first.get("x")) + s * math.cos(heading) - t * math.sin(heading)
    y = float(first.get("y")) + s * math.sin(heading) + t * math.cos(heading)
    return x, -y


def place_landmarks(stage: Stage) -> Comparisons:
    """Compare places of landmarks with the geometry of straight roads, and lanes they hold for."""
    roads: Any = ElementTree.fromstring(stage.map.to_opendrive())
    by_id = {road.get("id"): road for road in roads.iter("road")}
    homes = {one.get("id"): home for home in by_id.values() for one in home.iter("signal")}
    signals = {signal.get("id"): signal for signal in roads.iter("signal")}
    placed = 0
    for mark in stage.map.get_all_landmarks():
        road, signal = by_id[str(mark.road_id)], signals[mark.id]
        if homes[mark.id] is not road:
            continue
        place = place_on_line(road, float(signal.get("s")), float(signal.get("t")))
        if place is not None and signal.find("positionInertial") is None:
            seen, placed = mark.transform, placed + 1
            away = math.hypot(seen.location.x - place[0], seen.location.y - place[1])
            # the client library moves lights by 0.25 m
            shift = 0.25 if mark.type == LIGHT_TYPE else 0.0
            yield "Landmark.transform", away, shift, 0.01
            # radians against the road, counted to the left
            yaw = float(next(road.iter("geometry")).get("hdg")) + float(signal.get("hOffset"))
            turn = math.cos(math.radians(seen.rotation.yaw) + yaw)
            yield "Landmark.transform", abs(turn), 1.0, 1e-4
        lanes = sorted(
            (int(one.get("fromLane")), int(one.get("toLane"))) for one in signal.iter("validity")
        )
        if lanes:
            yield "Landmark.get_lane_validities", sorted(mark.get_lane_validities()), lanes, 0
    yield "Landmark.transform", placed > 3, True, 0


def compare_lights(stage: Stage) -> Comparisons:
    """A light's lanes are those of the map's file; its boxes are at its head, its volume ahead."""
    roads: Any = ElementTree.fromstring(stage.map.to_opendrive())
    held: dict[str, set[tuple[int, int]]] = {}
    for road in roads.iter("road"):
        for one in (*road.iter("signal"), *road.iter("signalReference")):
            for part in one.iter("validity"):
                low, high = sorted((int(part.get("fromLane")), int(part.get("toLane"))))
                lanes = {(int(road.get("id")), lane) for lane in range(low, high + 1) if lane}
                held.setdefault(one.get("id"), set()).update(lanes)
    for light in stage.world.get_actors().filter("traffic.traffic_light"):
        seen = {(way.road_id, way.lane_id) for way in light.get_affected_lane_waypoints()}
        yield (
            "TrafficLight.get_affected_lane_waypoints",
            (bool(seen) and seen <= held[light.get_opendrive_id()]),
            True,
            0,
        )
        near = [box.location.distance(light.get_location()) for box in light.get_light_boxes()]
        yield "TrafficLight.get_light_boxes", bool(near) and max(near) < 20.0, True, 0
        volume, place = light.trigger_volume, light.get_transform()
        # metres: a box in the light's frame, over the lanes before the line
        middle = place.transform(carla.Vector3D(volume.location))
        for stop in light.get_stop_waypoints():
            way = stop.transform.location
            way.z = middle.z
            yield "TrafficSign.trigger_volume", volume.contains(way, place), True, 0


MARK_PROBES = (read_markings, place_landmarks, compare_lights)
