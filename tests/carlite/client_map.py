"""Compares lanes with the client's own `carla.Map` of the same text."""

from __future__ import annotations

import math
import os
from functools import lru_cache

import carla
import numpy as np

from harness.carlite.towns import lanes as sampling
from harness.carlite.towns import list_available_towns, load_town, opendrive
from harness.carlite.towns.model import TownLanes

MAPS = os.environ.get("CRUCIBLE_MAPS")
TOWNS = list_available_towns(None)
Key = tuple[int, int, int]


@lru_cache(maxsize=8)
def loaded(name: str) -> tuple[TownLanes, carla.Map]:
    """Return the lanes of a town and the client's map of it."""
    text = load_town(name, None).opendrive
    return sampling.build_lanes(opendrive.parse_opendrive(text)), carla.Map(name, text)


def key_of(waypoint: carla.Waypoint) -> Key:
    return waypoint.road_id, waypoint.section_id, waypoint.lane_id


def angle_between(a: float, b: float) -> float:
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


def following(lanes: TownLanes, lane: int) -> set[Key]:
    first, count = lanes.next_first[lane], lanes.next_count[lane]
    return {tuple(lanes.key[other].tolist()) for other in lanes.next[first : first + count]}


def check_samples(
    lanes: TownLanes, reference: carla.Map, every: int, tolerance: float = 1e-3
) -> int:
    """Assert that samples equal the client's waypoints; return how many were compared."""
    lane_at = {tuple(key): lane for lane, key in enumerate(lanes.key.tolist())}
    checked = 0
    for lane, (road, section, lane_id) in enumerate(lanes.key.tolist()):
        first, last = lanes.first[lane], lanes.first[lane] + lanes.count[lane] - 1
        ends = lanes.road_s[[first, last]]
        for point in range(first, last + 1, every):
            s = float(lanes.road_s[point])
            if np.abs(ends - s).min() < 2e-3:
                continue
            waypoint = reference.get_waypoint_xodr(road, lane_id, s)
            assert waypoint.section_id == section
            place, turn = waypoint.transform.location, waypoint.transform.rotation
            gap = np.array([place.x, place.y, place.z]) - lanes.points[point]
            assert np.abs(gap).max() < tolerance, (road, lane_id, s)
            assert angle_between(math.radians(turn.yaw), lanes.yaw[point]) < tolerance
            assert abs(waypoint.lane_width - lanes.width[point]) < 1e-5
            assert waypoint.junction_id == lanes.junction[lane]
            change = int(waypoint.lane_change)
            around = lanes.change[point - 1 : point + 2]
            if (around == around[0]).all():
                assert lanes.change[point] == (change >> 1 & 1) | (change & 1) << 1
            for neighbour, other_lane in (
                (lanes.left[lane], waypoint.get_left_lane()),
                (lanes.right[lane], waypoint.get_right_lane()),
            ):
                same = (
                    other_lane is not None
                    and other_lane.lane_type == waypoint.lane_type
                    and (other_lane.lane_id > 0) == (lane_id > 0)
                )
                assert neighbour == (lane_at[key_of(other_lane)] if same else -1)
            checked += 1
    return checked


def check_successors(lanes: TownLanes, reference: carla.Map) -> None:
    """Assert that what follows each lane is what the client finds just beyond its end."""
    inside = 5e-3
    for lane, (road, _, lane_id) in enumerate(lanes.key.tolist()):
        end = lanes.road_s[lanes.first[lane] + lanes.count[lane] - 1]
        s = float(end + (inside if lane_id > 0 else -inside))
        waypoint = reference.get_waypoint_xodr(road, lane_id, s)
        assert following(lanes, lane) == {key_of(ahead) for ahead in waypoint.next(2 * inside)}
