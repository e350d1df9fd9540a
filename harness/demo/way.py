"""The way round a block: right at every junction, until back at the start."""

from __future__ import annotations

from itertools import pairwise

import carla

SHORTEST, LONGEST = 200, 800
TRAFFIC_LIGHT = "1000001"


def turn(before: carla.Waypoint, branch: carla.Waypoint) -> float:
    """Return by how many degrees a way through a junction turns; right is positive."""
    end = branch
    while end.is_junction and (ahead := end.next(1.0)):
        end = ahead[0]
    change = end.transform.rotation.yaw - before.transform.rotation.yaw
    return float((change + 180.0) % 360.0 - 180.0)


def lap(start: carla.Waypoint) -> list[carla.Waypoint]:
    """Return the way round the block, a waypoint a metre, or nothing where none leads back."""
    way = [start]
    while len(way) < LONGEST:
        here = way[-1]
        branches = here.next(1.0)
        if not branches:
            return []
        way.append(max(branches, key=lambda branch: turn(here, branch)))
        home = way[-1].transform.location.distance(start.transform.location)
        if len(way) > SHORTEST and home < 1.0 and way[-1].lane_id == start.lane_id:
            return way
    return []


def lights(way: list[carla.Waypoint]) -> int:
    """Return how many of a way's junctions have traffic lights."""
    entries = (here for here, ahead in pairwise(way) if ahead.is_junction > here.is_junction)
    return sum(bool(entry.get_landmarks_of_type(5.0, TRAFFIC_LIGHT)) for entry in entries)


def choose_lap(world_map: carla.Map) -> list[carla.Waypoint]:
    """Return the lap from a spawn point that meets the most lights, of those the shortest."""
    starts = (world_map.get_waypoint(pose.location) for pose in world_map.get_spawn_points())
    laps = [way for start in starts if (way := lap(start))]
    if not laps:
        raise SystemExit("no block to drive round in this town")
    return min(laps, key=lambda way: (-lights(way), len(way)))
