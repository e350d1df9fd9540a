"""Places next to the road, where roadside units stand."""

from __future__ import annotations

import math

import carla
import numpy as np

from harness.types.vocabulary import Pose, Route

STEP = 1.0
WIDEST = 12
"""Lanes to look through for the edge of the road."""


def find_roadside_pose(town: carla.Map, ego: Pose, distance: float, height: float) -> Pose:
    """Return a place on the right edge of the ego's road, so far ahead and so high.

    Args:
        town: its map.
        ego: its pose in the world.
        distance: metres along the road.
        height: metres above the road.

    Returns:
        It looks along the road.
    """
    waypoint = town.get_waypoint(carla.Location(ego.x, ego.y, ego.z))
    edge = waypoint
    # the rightmost lane of the ego's direction
    for _ in range(WIDEST):
        lane = edge.get_right_lane()
        if lane is None or lane.lane_id * waypoint.lane_id <= 0:
            break
        edge = lane
    # along that lane, as far as it goes
    walked = 0.0
    while walked < distance:
        following = edge.next(STEP)
        if not following:
            break
        edge = following[0]
        walked += STEP
    place = edge.transform.location
    yaw = math.radians(edge.transform.rotation.yaw)
    return Pose(place.x, place.y, place.z + height, yaw=yaw)


def measure_distance_ahead(place: Pose, ego: Pose) -> float:
    """Return how far ahead of the ego a place is."""
    return (place.x - ego.x) * math.cos(ego.yaw) + (place.y - ego.y) * math.sin(ego.yaw)


def list_junction_entries(route: Route) -> list[int]:
    """Return the rows of a route after which it enters a junction."""
    entries: list[int] = np.flatnonzero(route.in_junction[1:] & ~route.in_junction[:-1]).tolist()
    return entries
