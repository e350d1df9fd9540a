"""Routes that clients prescribe, and what is reported of routes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from harness.carlite.traffic.drivers import PLAN
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.records import as_columns

SEARCHED = 400
"""Links looked at, at most, to join two places of a path."""


def find_path_links(
    network: TrafficNetwork, path: Sequence[tuple[float, float, float]], start: int = -1
) -> list[int]:
    """List the links through which a sequence of places leads, gaps filled in.

    Args:
        network: the roads.
        path: places along the way.
        start: the link where the way begins, negative where it begins at the first place.
    """
    links = [start] if start >= 0 else []
    for k, place in enumerate(path):
        heading = None
        if k + 1 < len(path):
            heading = _compute_heading(place, path[k + 1])
        elif k > 0:
            heading = _compute_heading(path[k - 1], place)
        link = find_nearest_link(network, place, heading)
        links += _find_joining_links(network, links[-1], link) if links else [link]
    return links[:PLAN]


def _compute_heading(here: Sequence[float], there: Sequence[float]) -> float:
    return float(np.arctan2(there[1] - here[1], there[0] - here[0]))


def find_nearest_link(
    network: TrafficNetwork, place: Sequence[float], heading: float | None
) -> int:
    """Return the link nearest to a place; one that leads the other way counts as 7 m farther."""
    points, (x, y, z) = as_columns(network.points), place
    away = (points["x"] - x) ** 2 + (points["y"] - y) ** 2 + 4.0 * (points["z"] - z) ** 2
    if heading is not None:
        away = away + 50.0 * (np.cos(points["yaw"] - heading) < 0.0)
    return int(points["link"][int(np.argmin(away))])


def _find_joining_links(network: TrafficNetwork, start: int, goal: int) -> list[int]:
    """Return the links after `start` up to `goal` by the fewest hops; a lane change is one."""
    if start == goal:
        return []
    came_from = {start: start}
    queue = deque([start])
    while queue and goal not in came_from and len(came_from) < SEARCHED:
        link = queue.popleft()
        for neighbour in [*network.list_next_links(link), *_list_neighbouring_links(network, link)]:
            if neighbour not in came_from:
                came_from[neighbour] = link
                queue.append(neighbour)
    if goal not in came_from:
        return [goal]
    way = [goal]
    while came_from[way[-1]] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _list_neighbouring_links(network: TrafficNetwork, link: int) -> list[int]:
    if as_columns(network.links)["junction"][link] >= 0:
        return []
    points = network.get_link_points(link)
    middle = points[len(points) // 2]
    return [
        int(as_columns(network.points)["link"][k])
        for k in (middle["left"], middle["right"])
        if k >= 0
    ]


def set_route_plan(me: np.void, kind: int, steps: Sequence[int]) -> None:
    """Make a driver decide again on everything that it is not yet cleared for."""
    kept = list(steps)[:PLAN]
    me["plan"][: len(kept)] = kept
    me["plan_count"], me["plan_at"], me["plan_kind"] = len(kept), 0, kind
    if me["placed"]:
        me["known"] = min(max(me["at"] + 1, me["cleared"]), me["known"])


def list_turns_ahead(network: TrafficNetwork, me: np.void) -> list[list[object]]:
    """Describe the decided part of a route as pairs of road option and place."""
    turns: list[list[object]] = []
    for link in me["route"][me["at"] : me["known"]] if me["placed"] else []:
        if as_columns(network.links)["junction"][link] >= 0:
            start = network.get_link_points(link)[0]
            place = [float(start["x"]), float(start["y"]), float(start["z"])]
            turns.append([_to_road_option(float(as_columns(network.links)["turn"][link])), place])
    return turns or [["LaneFollow", [float(me["x"]), float(me["y"]), 0.0]]]


def _to_road_option(turn: float) -> str:
    if turn < -0.5:
        return "Left"
    return "Right" if turn > 0.5 else "Straight"
