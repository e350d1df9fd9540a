"""Whether a town can be driven: what its file gives, checked without a simulator."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import carla
import numpy as np

from harness.authoring.surfaces import find_surface_overlaps
from harness.carlite import towns
from harness.carlite.angles import wrap_to_pi
from harness.carlite.arrays import Floats
from harness.carlite.towns.model import LaneKind, Town
from harness.carlite.towns.spawn import LIFT

LaneKey = tuple[int, int, int]
"""Road, lane section, lane."""
STEP = 0.5
"""Metres between waypoints that follow each other."""
TIGHTEST = 5.5
"""Metres, the radius that cars can follow."""
GAP, KINK = 0.1, 1.0
"""Metres and degrees that lanes may be apart where they meet."""
VAN, CAR = (3.0, 1.2), (2.3, 0.95)
"""Half the length and width, in metres, of what fits at every spawn point, and at all at once."""
LOW, HIGH = 0.4, 2.3
"""Metres above the road between which scenery is in a van's way."""
LIGHT = "traffic.traffic_light"
SIGNS = ("traffic.stop", "traffic.yield")


@dataclass(frozen=True, kw_only=True)
class TownSubject:
    """A town as the client reads it and as carlite builds it."""

    map: carla.Map
    town: Town


Check = Callable[[TownSubject], Iterator[str]]


def load_subject(name: str, text: str) -> TownSubject:
    """Read a town as the client and as carlite; ValueError if one of them cannot.

    Args:
        name: of the town.
        text: OpenDRIVE.
    """
    try:
        return TownSubject(map=carla.Map(name, text), town=towns.from_opendrive(name, text))
    except RuntimeError as problem:
        raise ValueError(f"the client cannot read it: {problem}") from None


def list_faults(subject: TownSubject, checks: Iterable[Check]) -> list[str]:
    """Return what is wrong with a town, one line for each kind of fault; none if it is sound.

    Args:
        subject: the town, read twice.
        checks: functions that yield faults.
    """
    return [fault for check in checks for fault in list(check(subject))[:1]]


def summarize_subject(subject: TownSubject) -> str:
    """Return what a town has, on a line."""
    town = subject.town
    outside = town.lanes.junction < 0
    lights = {signal.group for signal in town.signals if signal.type_id == LIGHT}
    signs = sum(signal.type_id in SIGNS for signal in town.signals)
    width, depth = np.ptp(town.lanes.points[:, :2], axis=0)
    return (
        f"{width:.0f} by {depth:.0f} m, {len(np.unique(town.lanes.key[outside, 0]))} streets,"
        f" {len(list_junction_arms(town))} junctions ({len(lights)} with lights), {signs} stop"
        " and yield"
        f" signs, {len(town.crosswalks)} crosswalks, {len(town.spawn_points)} spawn points"
    )


def find_dead_ends(subject: TownSubject) -> Iterator[str]:
    """Yield the driving lanes after which there is none."""
    for waypoint in subject.map.generate_waypoints(2.0):
        if not waypoint.next(3.0):
            yield f"dead end at {_format_waypoint(waypoint)}"


def find_unreachable_lanes(subject: TownSubject) -> Iterator[str]:
    """Yield the lanes that cannot be reached from a lane, or from which it cannot be reached."""
    # ways on: along the topology, and by changes of lane
    onward: dict[LaneKey, set[LaneKey]] = defaultdict(set)
    for start, end in subject.map.get_topology():
        onward[_get_waypoint_lane(start)].add(_get_waypoint_lane(end))
    for waypoint in subject.map.generate_waypoints(2.0):
        here = _get_waypoint_lane(waypoint)
        for side, other in (
            ("Left", waypoint.get_left_lane()),
            ("Right", waypoint.get_right_lane()),
        ):
            if other is not None and str(waypoint.lane_change) in {side, "Both"}:
                onward[here].add(_get_waypoint_lane(other))
    # the same the other way round
    backward: dict[LaneKey, set[LaneKey]] = defaultdict(set)
    for here, others in onward.items():
        for other in others:
            backward[other].add(here)
    # if the first lane reaches all and is reached from all, every lane does
    every = set(onward) | set(backward)
    first = min(every)
    for word, graph in (("from", onward), ("to", backward)):
        for lane in sorted(every - _find_reached_lanes(first, graph)):
            yield f"no way {word} lane {first} {'to' if word == 'from' else 'from'} lane {lane}"


def _find_reached_lanes(first: LaneKey, graph: dict[LaneKey, set[LaneKey]]) -> set[LaneKey]:
    reached, ahead = {first}, [first]
    while ahead:
        new = graph[ahead.pop()] - reached
        reached |= new
        ahead += new
    return reached


def find_tight_bends(subject: TownSubject) -> Iterator[str]:
    """Yield where a lane's centre turns more sharply than a car can."""
    for waypoint in subject.map.generate_waypoints(STEP):
        for following in waypoint.next(STEP):
            run = _measure_waypoint_distance(waypoint, following)
            turn = math.radians(_measure_waypoint_turn(waypoint, following))
            if not 0.7 * STEP < run < 1.3 * STEP or turn > run / TIGHTEST + 1e-3:
                yield (
                    f"tight bend at {_format_waypoint(waypoint)}: {math.degrees(turn):.1f}° in"
                    f" {run:.2f} m"
                )


def find_lane_jumps(subject: TownSubject) -> Iterator[str]:
    """Yield where lanes that follow each other do not meet."""
    for waypoint, following in subject.map.get_topology():
        ends = waypoint.next_until_lane_end(0.05)
        last = min(ends or [waypoint], key=lambda end: _measure_waypoint_distance(end, following))
        step = _measure_waypoint_distance(last, following)
        wider = abs(last.lane_width - following.lane_width)
        if step > GAP or _measure_waypoint_turn(last, following) > KINK or wider > 0.02:
            yield f"lanes do not meet at {_format_waypoint(following)}: {step:.2f} m apart"


def find_road_overlaps(subject: TownSubject) -> Iterator[str]:
    """Yield roads and junctions that cover the same ground without being joined there."""
    for (one, other), (x, y, area) in find_surface_overlaps(subject.town.lanes).items():
        yield f"{one} lies on {other} at ({x:.0f}, {y:.0f}): {area:.0f} m²"


def find_incomplete_lights(subject: TownSubject) -> Iterator[str]:
    """Yield lights that hold no lane, and groups of lights with one phase only."""
    lights = [signal for signal in subject.town.signals if signal.type_id == LIGHT]
    for light in lights:
        if light.group < 0 or not light.stop_lines:
            yield f"light {light.id} has no group or holds no lane"
    for group in {light.group for light in lights}:
        if len({light.phase for light in lights if light.group == group}) < 2:
            yield f"the lights of group {group} have one phase"


def find_missing_crosswalks(subject: TownSubject) -> Iterator[str]:
    """Yield junctions whose arms are more than their crosswalks."""
    arms = sum(len(roads) for roads in list_junction_arms(subject.town).values())
    there = len(subject.town.crosswalks)
    clients = len(subject.map.get_crosswalks()) // 5
    if not arms == there == clients:
        yield f"{there} crosswalks at {arms} arms of junctions; the client has {clients}"


def list_junction_arms(town: Town) -> dict[int, set[int]]:
    """Return the roads that lead into each junction."""
    lanes = town.lanes
    arms: dict[int, set[int]] = defaultdict(set)
    for lane in np.flatnonzero((lanes.kind == LaneKind.DRIVING) & (lanes.junction < 0)).tolist():
        first, count = int(lanes.next_first[lane]), int(lanes.next_count[lane])
        for ahead in lanes.next[first : first + count].tolist():
            if lanes.junction[ahead] >= 0:
                arms[int(lanes.junction[ahead])].add(int(lanes.key[lane, 0]))
    return dict(arms)


def find_taken_spawn_points(subject: TownSubject) -> Iterator[str]:
    """Yield spawn points where a van would stand in scenery, or two cars in each other."""
    points, pieces = subject.town.spawn_points, subject.town.scenery
    # (points,) heights between which a car stands
    low, high = points[:, 2] - LIFT + LOW, points[:, 2] - LIFT + HIGH
    for index, (x, y, _, _, yaw, _) in enumerate(points.tolist()):
        # (points,) m to the other points
        far = np.linalg.norm(points[:, :3] - points[index, :3], axis=1)
        for other in np.flatnonzero(far < 2 * math.hypot(*CAR)).tolist():
            one, two = (np.array([*points[k, :2], points[k, 4], *CAR]) for k in (index, other))
            if other > index and _has_shared_ground(one, two):
                yield f"two spawn points overlap at ({x:.1f}, {y:.1f})"
        # (pieces,) those near enough, and as high as the car
        reach = np.hypot(*pieces.extent[:, :2].T) + math.hypot(*VAN)
        near = np.hypot(pieces.centre[:, 0] - x, pieces.centre[:, 1] - y) < reach
        top, bottom = (pieces.centre[:, 2] + sign * pieces.extent[:, 2] for sign in (1, -1))
        in_way = near & pieces.solid & (top > low[index]) & (bottom < high[index])
        for k in np.flatnonzero(in_way).tolist():
            piece = np.array([*pieces.centre[k, :2], pieces.yaw[k], *pieces.extent[k, :2]])
            if _has_shared_ground(np.array([x, y, yaw, *VAN]), piece):
                yield f"scenery stands at the spawn point ({x:.1f}, {y:.1f})"


def _has_shared_ground(a: Floats, b: Floats) -> bool:
    """Return whether two rectangles (x, y, yaw, half length, half width) share ground."""
    delta = b[:2] - a[:2]
    for yaw in (a[2], b[2]):
        for axis in (
            np.array([math.cos(yaw), math.sin(yaw)]),
            np.array([-math.sin(yaw), math.cos(yaw)]),
        ):
            if abs(delta @ axis) >= _compute_half_extent(a, axis) + _compute_half_extent(b, axis):
                return False
    return True


def _compute_half_extent(box: Floats, axis: Floats) -> float:
    """Return half of what a rectangle covers of an axis."""
    cos, sin = math.cos(box[2]), math.sin(box[2])
    return float(abs(axis @ (cos, sin)) * box[3] + abs(axis @ (-sin, cos)) * box[4])


DRIVABLE: tuple[Check, ...] = (
    find_dead_ends,
    find_unreachable_lanes,
    find_tight_bends,
    find_lane_jumps,
    find_road_overlaps,
    find_incomplete_lights,
    find_missing_crosswalks,
    find_taken_spawn_points,
)
"""What holds for every town of our own."""


def _get_waypoint_lane(waypoint: carla.Waypoint) -> LaneKey:
    return waypoint.road_id, waypoint.section_id, waypoint.lane_id


def _format_waypoint(waypoint: carla.Waypoint) -> str:
    place = waypoint.transform.location
    return f"({place.x:.1f}, {place.y:.1f})"


def _measure_waypoint_distance(a: carla.Waypoint, b: carla.Waypoint) -> float:
    return float(a.transform.location.distance(b.transform.location))


def _measure_waypoint_turn(a: carla.Waypoint, b: carla.Waypoint) -> float:
    turn = b.transform.rotation.yaw - a.transform.rotation.yaw
    return abs(math.degrees(wrap_to_pi(math.radians(turn))))
