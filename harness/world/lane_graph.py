"""The driving lanes of a town as a graph of waypoints a metre apart."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import carla
import numpy as np

from harness.types.vocabulary import Floats, Integers, Mask

LaneKey = tuple[int, int, int]
SPACING = 1.0
LANE_CHANGE_COSTS = {12: 6.0, 6: 20.0, 3: 60.0}
"""How many metres a lane change takes, and its additional cost: short ones are a last resort."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LaneGraph:
    """Waypoints by index; `lanes` gives each lane's first index and its count."""

    waypoints: list[carla.Waypoint]
    lanes: dict[LaneKey, tuple[int, int]]
    xyz: Floats  # (N, 3)
    yaw: Floats  # (N,)
    width: Floats  # (N,)
    in_junction: Mask  # (N,)
    neighbours: Integers  # (N, 2) the waypoint left and right that may be changed to, or -1
    edges: list[list[tuple[int, float]]]
    changes: dict[tuple[int, int], tuple[int, int]]
    """Edges that change lanes, as (start, landing): how many waypoints on, and to which side."""


def get_lane_key(waypoint: carla.Waypoint) -> LaneKey:
    """Return which lane a waypoint is on."""
    return waypoint.road_id, waypoint.section_id, waypoint.lane_id


def build_lane_graph(carla_map: carla.Map) -> LaneGraph:
    """Sample all driving lanes of a town and join them.

    Args:
        carla_map: of the town.

    Returns:
        Waypoints a metre apart, and where each leads.
    """
    # lanes by their first waypoint, and which lane follows which
    entries: dict[LaneKey, carla.Waypoint] = {}
    following: dict[LaneKey, list[LaneKey]] = defaultdict(list)
    for entry, ahead in carla_map.get_topology():
        for waypoint in (entry, ahead):
            entries.setdefault(get_lane_key(waypoint), waypoint)
        if get_lane_key(entry) != get_lane_key(ahead):
            following[get_lane_key(entry)].append(get_lane_key(ahead))
    waypoints: list[carla.Waypoint] = []
    lanes: dict[LaneKey, tuple[int, int]] = {}
    # sorted keys: equal maps give equal indices
    for key in sorted(entries):
        sampled = _sample_lane(entries[key])
        lanes[key] = (len(waypoints), len(sampled))
        waypoints += sampled
    transforms = [waypoint.transform for waypoint in waypoints]
    # (N, 3) metres
    xyz = np.array(
        [
            (transform.location.x, transform.location.y, transform.location.z)
            for transform in transforms
        ]
    )
    neighbours = _find_change_neighbours(waypoints, lanes)
    edges = _build_graph_edges(xyz, lanes, following)
    changes = _find_lane_changes(lanes, neighbours)
    # a lane change is an edge with an additional cost
    for (start, landing), (length, _) in changes.items():
        edges[start].append((landing, length * SPACING + LANE_CHANGE_COSTS[length]))
    return LaneGraph(
        waypoints=waypoints,
        lanes=lanes,
        xyz=xyz,
        yaw=np.radians([transform.rotation.yaw for transform in transforms]),
        width=np.array([waypoint.lane_width for waypoint in waypoints]),
        in_junction=np.array([waypoint.is_junction for waypoint in waypoints]),
        neighbours=neighbours,
        edges=edges,
        changes=changes,
    )


def _sample_lane(entry: carla.Waypoint) -> list[carla.Waypoint]:
    """Return a lane's waypoints from its entry to less than a step before its end."""
    lane, sampled = get_lane_key(entry), [entry]
    while True:
        ahead = [
            waypoint for waypoint in sampled[-1].next(SPACING) if get_lane_key(waypoint) == lane
        ]
        if not ahead or (ahead[0].s - sampled[-1].s) * (sampled[-1].s - entry.s) < 0.0:
            return sampled
        sampled.append(ahead[0])


def _find_change_neighbours(
    waypoints: list[carla.Waypoint], lanes: dict[LaneKey, tuple[int, int]]
) -> Integers:
    """Return each waypoint's left and right neighbour, where the markings allow a change."""
    # (waypoints, 2) left and right; -1 for none
    neighbours = np.full((len(waypoints), 2), -1)
    stations = np.array([waypoint.s for waypoint in waypoints])
    for index, waypoint in enumerate(waypoints):
        allowed = int(waypoint.lane_change)
        if not allowed or waypoint.is_junction:
            continue
        for side, flag, neighbour in (
            (0, carla.LaneChange.Left, waypoint.get_left_lane),
            (1, carla.LaneChange.Right, waypoint.get_right_lane),
        ):
            if not allowed & int(flag):
                continue
            # of that lane the waypoint with the nearest station
            other = neighbour()
            if other is None or other.lane_id * waypoint.lane_id < 0:
                continue
            if (lane := lanes.get(get_lane_key(other))) is not None:
                of_lane = stations[lane[0] : lane[0] + lane[1]]
                neighbours[index, side] = lane[0] + int(np.abs(of_lane - other.s).argmin())
    return neighbours


def _build_graph_edges(
    xyz: Floats,
    lanes: dict[LaneKey, tuple[int, int]],
    following: dict[LaneKey, list[LaneKey]],
) -> list[list[tuple[int, float]]]:
    """Return where each waypoint leads and what that costs, in metres."""
    edges: list[list[tuple[int, float]]] = [[] for _ in xyz]
    for key, (first, count) in lanes.items():
        last = first + count - 1
        for index in range(first, last):
            edges[index].append((index + 1, math.dist(xyz[index], xyz[index + 1])))
        for ahead in following.get(key, []):
            landing = lanes[ahead][0]
            edges[last].append((landing, math.dist(xyz[last], xyz[landing])))
    return edges


def _find_lane_changes(
    lanes: dict[LaneKey, tuple[int, int]], neighbours: Integers
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the lane changes that the markings allow all along."""
    changes: dict[tuple[int, int], tuple[int, int]] = {}
    for first, count in lanes.values():
        for side in (0, 1):
            on_side = neighbours[first : first + count, side]
            allowed = np.concatenate([[0], np.cumsum(on_side >= 0)])
            for length in LANE_CHANGE_COSTS:
                # a change of so many metres must be allowed at each of them
                windows = allowed[length + 1 :] - allowed[: -length - 1]
                for start in np.flatnonzero(windows == length + 1).tolist():
                    landing = int(on_side[start + length])
                    changes.setdefault((first + start, landing), (length, side))
    return changes
