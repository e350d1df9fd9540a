"""Finds ways through a town along its driving lanes."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import carla
import numpy as np

from harness.common.errors import UserError
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Floats, Integers, Mask, Route
from harness.world import lane_graph
from harness.world.speed_limits import compute_speed_limits

OFF_ROAD = 80.0
"""Metres from the nearest lane that a point of a route may lie: V2Xverse has some at 58."""
SAME_PLACE = 1.5
LEAST = 1.0
"""Metres between start and goal without which there is no way between them."""
RUN_UP = 10
"""Metres from a point of the route before a lane change starts, where there is room."""
EASY = 12
"""Metres over which the route of a shorter lane change is rounded."""
AMBIGUOUS = 0.75
"""Lanes in a junction that pass this little further from a point than the nearest may be meant."""
SLACK = 500.0
"""Metres by which a way to such a lane may be longer and still be weighed."""


@dataclass(frozen=True, slots=True)
class _LanePath:
    """Waypoints by index, and which of them lie within a lane change to which side."""

    nodes: list[int]
    towards: dict[int, tuple[int, int, int]]
    """By position in `nodes`: the change's first and last position, and its side."""


@dataclass(frozen=True, slots=True)
class _PathRows:
    """A way before it is measured out by the metre."""

    nodes: Integers
    xyz: Floats
    changing: Mask


class RoadNetwork:
    """The driving lanes of a town, joined, with lane changes where the markings allow them."""

    def __init__(self, carla_map: carla.Map) -> None:
        self.map = carla_map
        self.graph = lane_graph.build_lane_graph(carla_map)
        self.speed_limits = compute_speed_limits(carla_map, self.graph)  # at each waypoint, m/s

    def find_route(self, name: str, town: str, locations: Sequence[carla.Location]) -> Route:
        """Return the shortest way past all locations, one row a metre, lane changes blended.

        Args:
            name: of the route.
            town: its name.
            locations: points that the way passes, in order.

        Returns:
            A row for each metre.

        Raises:
            UserError: a point lies off the road, or cannot be reached.
        """
        graph = self.graph
        try:
            way = self._find_path(locations)
        except UserError as problem:
            raise UserError(f"route {name}: {problem}") from None
        # (N,) waypoints of the way and (N, 3) their places
        nodes = np.array(way.nodes)
        xyz, changing = graph.xyz[nodes].copy(), np.zeros(len(nodes), np.bool_)
        short: list[tuple[int, int]] = []
        for at, (first, last, side) in way.towards.items():
            # lane changes: a smooth step from one lane's centre to the other's
            share = (at - first) / (last - first)
            weight = share * share * (3.0 - 2.0 * share)
            other = graph.xyz[graph.neighbours[nodes[at], side]]
            xyz[at] = (1.0 - weight) * xyz[at] + weight * other
            changing[at] = True
            if at == first and last - first < EASY:
                short.append((first, last))
        # short changes would be sharp bends: rounded beyond their ends
        for first, last in short:
            reach = (EASY - (last - first)) // 2
            around = slice(max(first - reach, 0), last + reach + 1)
            xyz[around] = _smooth_stretch(xyz, around, reach)
            changing[around] = True
        return self._resample_route(name, town, _PathRows(nodes, xyz, changing))

    def find_nearest_node(self, location: carla.Location) -> int:
        """Return the index of the graph's waypoint nearest to a location on the road."""
        projected = self.map.get_waypoint(location, lane_type=carla.LaneType.Driving)
        place = projected.transform.location
        everywhere = (0, len(self.graph.waypoints))  # for lanes that lead nowhere
        first, count = self.graph.lanes.get(lane_graph.get_lane_key(projected), everywhere)
        gaps = self.graph.xyz[first : first + count] - (place.x, place.y, place.z)
        return first + int(np.einsum("ij,ij->i", gaps, gaps).argmin())

    def _resample_route(self, name: str, town: str, rows: _PathRows) -> Route:
        # stations a metre apart, and the waypoint nearest to each
        along = _compute_arc_length(rows.xyz)
        station = np.arange(np.floor(along[-1] + 1e-6) + 1.0)
        closest = np.clip(np.searchsorted(along, station - 0.5), 0, len(along) - 1)
        points = np.stack([np.interp(station, along, column) for column in rows.xyz.T], axis=1)
        nodes, changing = rows.nodes[closest], rows.changing[closest]
        yaw = np.interp(station, along, np.unwrap(self.graph.yaw[rows.nodes]))
        # within a lane change the heading is that of the way, not of the lane
        if changing.any():
            forward = np.gradient(points[:, :2], axis=0)
            yaw = np.where(changing, np.arctan2(forward[:, 1], forward[:, 0]), yaw)
        return Route(
            name=name,
            town=town,
            xyz=points,
            yaw=wrap_angle(yaw),
            station=station,
            lane_width=self.graph.width[nodes],
            speed_limit=self.speed_limits[nodes],
            in_junction=self.graph.in_junction[nodes],
            lane_change=changing,
        )

    def _find_path(self, locations: Sequence[carla.Location]) -> _LanePath:
        chain = self._find_shortest_chain(locations)
        nodes, towards = [chain[0]], dict[int, tuple[int, int, int]]()
        for before, after in pairwise(chain):
            if change := self.graph.changes.get((before, after)):
                length, side = change
                first = len(nodes) - 1
                nodes += range(before + 1, before + length)
                towards |= dict.fromkeys(range(first, len(nodes)), (first, first + length, side))
            nodes.append(after)
        return _LanePath(nodes, towards)

    def _find_shortest_chain(self, locations: Sequence[carla.Location]) -> list[int]:
        """Return the chain of graph nodes that passes the locations at the least cost."""
        # the same place twice is one point
        points = [
            location
            for at, location in enumerate(locations)
            if at == 0 or location.distance(locations[at - 1]) > SAME_PLACE
        ]
        if len(points) < 2:
            raise UserError("a route needs two different points at least; add its goal")
        reached = dict.fromkeys(self._find_candidate_nodes(1, points[0]), 0.0)
        legs: list[dict[int, list[int]]] = []
        # every candidate of a point, with the least cost of reaching it
        for number, point in enumerate(points[1:], 2):
            targets = self._find_candidate_nodes(number, point)
            paths = self._search_paths(reached, targets)
            if not paths:
                raise UserError(
                    f"point {number} {_format_location(point)} cannot be reached from point"
                    f" {number - 1}"
                    f" {_format_location(points[number - 2])} along driving lanes; move one of them"
                )
            reached = {target: cost for target, (cost, _) in paths.items()}
            legs.append({target: path for target, (_, path) in paths.items()})
        # from the goal back: each leg ends where the next one begins
        path = legs[-1][min(reached, key=lambda node: (reached[node], node))]
        chain = self._advance_lane_changes(path)
        for leg in reversed(legs[:-1]):
            path = leg[path[0]]
            chain = self._advance_lane_changes(path)[:-1] + chain
        if _compute_arc_length(self.graph.xyz[chain])[-1] < LEAST:
            raise UserError("its points lie at one and the same place of the road; move its goal")
        return chain

    def _advance_lane_changes(self, path: list[int]) -> list[int]:
        """Return the same path with each lane change as soon as the markings allow it.

        The search finds all places for a change equally good; drivers do not leave it to the last.
        """
        path, at = list(path), 0
        while at + 1 < len(path):
            before, here, landing = path[max(at - 1, 0)], path[at], path[at + 1]
            change = self.graph.changes.get((here, landing))
            if change and at > RUN_UP and before == here - 1:
                sooner = int(self.graph.neighbours[before + change[0], change[1]])
                if self.graph.changes.get((before, sooner)) == change and sooner < landing:
                    path[at : at + 1] = range(sooner, landing)
                    at -= 1
                    continue
            at += 1
        return path

    def _find_candidate_nodes(self, number: int, location: carla.Location) -> list[int]:
        """Return the graph nodes that a point of a route may mean, the nearest one first."""
        nearest = self.find_nearest_node(location)
        xyz = self.graph.xyz
        place = np.array([location.x, location.y])
        off = float(np.linalg.norm(xyz[nearest, :2] - place))
        if not off <= OFF_ROAD:
            raise UserError(
                f"point {number} {_format_location(location)} lies {off:.1f} m from the nearest"
                " driving lane"
                f" of this town; move it onto the road (within {OFF_ROAD:g} m)"
            )
        # in a junction lanes cross: the nearest may not be the one that is meant
        if not self.graph.in_junction[nearest]:
            return [nearest]
        distance = np.linalg.norm(xyz[:, :2] - place, axis=1)
        near = np.flatnonzero(
            (distance <= off + AMBIGUOUS)
            & self.graph.in_junction
            & (np.abs(xyz[:, 2] - xyz[nearest, 2]) < 3.0)
        )
        best: dict[lane_graph.LaneKey, int] = {}
        for node in near.tolist():
            lane = lane_graph.get_lane_key(self.graph.waypoints[node])
            if lane not in best or distance[node] < distance[best[lane]]:
                best[lane] = node
        return sorted({nearest, *best.values()}, key=lambda node: (distance[node], node))

    def _search_paths(
        self, sources: dict[int, float], targets: list[int]
    ) -> dict[int, tuple[float, list[int]]]:
        """Return the cheapest way to each target that is hardly dearer than the best (A*).

        Args:
            sources: waypoints, with the cost so far.
            targets: waypoints, the likeliest first.

        Returns:
            By target that is reached: its cost and the way.
        """
        # a bound from below: the straight distance to the nearest target
        goal = self.graph.xyz[targets[0]]
        radius = float(np.linalg.norm(self.graph.xyz[targets] - goal, axis=1).max())
        least = np.maximum(np.linalg.norm(self.graph.xyz - goal, axis=1) - radius, 0.0).tolist()
        cost = dict(sources)
        origin = dict.fromkeys(sources, -1)
        waiting = [(cost[node] + least[node], node) for node in sources]
        heapq.heapify(waiting)
        settled: set[int] = set()
        missing, limit = set(targets), np.inf
        # A*: the lowest estimate first; it ends when all other targets are much dearer
        while waiting and missing:
            estimate, node = heapq.heappop(waiting)
            if estimate > limit:
                break
            if node in settled:
                continue
            settled.add(node)
            if node in missing:
                missing.remove(node)
                limit = min(limit, cost[node] + SLACK)
            for ahead, step in self.graph.edges[node]:
                dearer = cost[node] + step
                if dearer < cost.get(ahead, np.inf):
                    cost[ahead], origin[ahead] = dearer, node
                    heapq.heappush(waiting, (dearer + least[ahead], ahead))
        return {
            target: (cost[target], _trace_path(origin, target))
            for target in targets
            if target in settled
        }


def _compute_arc_length(xyz: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(xyz, axis=0), axis=1))])


def _smooth_stretch(xyz: Floats, around: slice, reach: int) -> Floats:
    """Return a stretch of points, each the mean of its neighbours up to `reach` either side."""
    at = np.arange(len(xyz))[around]
    span = np.minimum(np.minimum(at, len(xyz) - 1 - at), reach)
    return np.array([xyz[i - n : i + n + 1].mean(axis=0) for i, n in zip(at, span, strict=True)])


def _trace_path(origin: dict[int, int], node: int) -> list[int]:
    chain = [node]
    while origin[chain[-1]] >= 0:
        chain.append(origin[chain[-1]])
    return chain[::-1]


def _format_location(location: carla.Location) -> str:
    return f"({location.x:.1f}, {location.y:.1f})"
