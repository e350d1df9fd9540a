"""Where on a map hazards of a kind could be: places along lanes, ways through junctions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import carla
import numpy as np

from harness.types.geometry import wrap_angle
from harness.world.roads import RoadNetwork

LIGHT, STOP, YIELD = "1000001", "206", "205"
SIGHT = 25.0
"""Metres before a junction from which its signs are looked for."""

STRAIGHT = 30.0
"""Degrees between two headings, at most, that count as one."""

CROSSING = ("crossing_vehicle", "red_light_runner", "oncoming_turn")
EMERGING = ("occluded_pedestrian", "occluded_cyclist", "cut_in")
SWERVING = ("hard_braking", "stopped_vehicle")


@dataclass(frozen=True, slots=True)
class HazardSite:
    """A stretch that a route must include, and where on it ego and hazard would meet."""

    first: carla.Waypoint
    last: carla.Waypoint
    meeting: carla.Waypoint
    length: float


def iter_hazard_sites(
    network: RoadNetwork, kind: str, random: np.random.Generator
) -> Iterator[HazardSite]:
    """Yield sites for a kind of hazard in random order, again and again, for other ways to them.

    Args:
        network: the town's roads.
        kind: of the hazard.
        random: the stream of this kind.
    """
    # at junctions: ways that another vehicle can cross
    if kind in CROSSING:
        passes = list(_iter_junction_passes(network.map))
        sites = [
            site
            for site in passes
            if _is_fitting_pass(kind, site)
            and (kind == "oncoming_turn" or any(_is_crossing_pass(other, site) for other in passes))
        ]
    else:
        graph = network.graph
        sites = [
            HazardSite(waypoint, waypoint, waypoint, 0.0)
            for waypoint, inside in zip(graph.waypoints, graph.in_junction, strict=True)
            if not inside
        ]
    # elsewhere: what the road must offer for the kind
    room = (
        _has_room_to_swerve
        if kind in SWERVING
        else _is_kerb_site
        if kind in EMERGING
        else _accept_anywhere
    )
    offered = True
    while offered:
        offered = False
        for index in random.permutation(len(sites)).tolist():
            if room(sites[index].meeting):
                offered = True
                yield sites[index]


def _iter_junction_passes(carla_map: carla.Map) -> Iterator[HazardSite]:
    """Yield every lane through a junction, in a fixed order."""
    junctions = {
        waypoint.junction_id: waypoint.get_junction()
        for pair in carla_map.get_topology()
        for waypoint in pair
        if waypoint.is_junction
    }
    for _, junction in sorted(junctions.items()):
        pairs = junction.get_waypoints(carla.LaneType.Driving)
        for entry, leaving in sorted(pairs, key=lambda pair: (pair[0].road_id, pair[0].lane_id)):
            lane = entry.next_until_lane_end(1.0)
            middle = lane[len(lane) // 2] if lane else entry
            yield HazardSite(entry, leaving, middle, float(len(lane)))


def _compute_turn_degrees(first: carla.Waypoint, last: carla.Waypoint) -> float:
    """Return the degrees from one heading to another."""
    turned = math.radians(last.transform.rotation.yaw - first.transform.rotation.yaw)
    return math.degrees(wrap_angle(turned))


def _is_crossing_pass(other: HazardSite, site: HazardSite) -> bool:
    """Return whether another way leads straight across a junction, from the side."""
    here = other.meeting.junction_id == site.meeting.junction_id
    straight = abs(_compute_turn_degrees(other.first, other.last)) < STRAIGHT
    aside = abs(_compute_turn_degrees(site.first, other.first))
    return here and straight and STRAIGHT < aside < 180.0 - STRAIGHT


def _is_fitting_pass(kind: str, site: HazardSite) -> bool:
    turn = _compute_turn_degrees(site.first, site.last)
    before = site.first.previous(5.0)
    if not before:
        return False
    marks = {mark.type for mark in before[0].get_landmarks(SIGHT)}
    if kind == "oncoming_turn":
        return turn < -60.0 and not marks & {STOP, YIELD}
    if kind == "red_light_runner":
        return abs(turn) < STRAIGHT and LIGHT in marks
    return abs(turn) < STRAIGHT and not marks & {LIGHT, STOP, YIELD}


def _accept_anywhere(place: carla.Waypoint) -> bool:
    return True


def _is_kerb_site(place: carla.Waypoint) -> bool:
    """Return whether no lane lies to the right, and the way there leads through no junction."""
    right_lane = place.get_right_lane()
    kerb = right_lane is None or not right_lane.lane_type & carla.LaneType.Driving
    return kerb and _is_open_road(place, before=32.0, after=25.0)


def _has_room_to_swerve(place: carla.Waypoint) -> bool:
    """Return whether an adjacent lane leads the same way for long enough."""
    lanes = [place.get_left_lane(), place.get_right_lane()]
    double = any(
        lane is not None
        and lane.lane_type & carla.LaneType.Driving
        and lane.lane_id * place.lane_id > 0
        for lane in lanes
    )
    return double and _is_open_road(place, before=42.0, after=14.0)


def _is_open_road(place: carla.Waypoint, before: float, after: float) -> bool:
    way = [
        *(place.previous(distance) for distance in np.arange(before, 0.0, -8.0).tolist()),
        *(place.next(distance) for distance in np.arange(after, 0.0, -8.0).tolist()),
    ]
    return all(step and not step[0].is_junction for step in way)
