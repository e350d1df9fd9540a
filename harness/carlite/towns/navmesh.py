"""Where walkers may go: sidewalks, crosswalks and roads as one navigation mesh.

Sidewalks become strips of quads cut only where they bend, so that a path over a whole town has
few polygons (the client's search stops at 256). Where strips of neighbouring roads meet, their
ends are merged; where a crosswalk meets a sidewalk, both are cut to share an edge.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns import cache, crossings, detour, footways
from harness.carlite.towns.crossings import WalkerCrossing
from harness.carlite.towns.detour import NavigationArea, NavigationMesh
from harness.carlite.towns.footways import FootwayStrip
from harness.carlite.towns.model import Town

CLOSEST = 0.4
SMALLEST = 0.02
JOINT = 1.5
"""How far apart the ends of two strips may be and still be one place."""

Edge = tuple[int, int]


def load_navigation_mesh(town: Town) -> bytes:
    """Return a town's navigation mesh as it was kept, or build it and keep it."""
    kept = cache.read_cached_mesh(town)
    if kept is None:
        kept = build_navigation_mesh(town)
        cache.write_cached_mesh(town, kept)
    return kept


def build_navigation_mesh(town: Town) -> bytes:
    """Return the navigation mesh of a town in the client's format; empty without sidewalks."""
    walkable = build_walkable_mesh(town)
    return detour.encode_navigation_mesh(walkable) if walkable.polygons else b""


def build_walkable_mesh(town: Town) -> NavigationMesh:
    """Return the polygons of a town's sidewalks, crosswalks and roads."""
    strips = footways.find_footway_strips(town.lanes, town.scenery)
    roads = _pair_opposite_strips(strips)
    marked = crossings.attach_crosswalks(strips, town.crosswalks)
    ways_across = marked or crossings.make_junction_crossings(town.lanes, roads)
    paired = {strip for road in roads for strip in road}
    groups = [*roads, *((strip,) for strip in strips if strip not in paired)]
    builder = _PolygonBuilder(
        {strip: cuts for group in groups for strip, cuts in _cut_strips(group)}
    )
    for strip in strips:
        builder.add_strip(strip)
    for crossing in ways_across:
        builder.add_crossing(crossing)
    for right, left in roads:
        builder.add_road(right, left)
    return builder.finish_mesh()


def _pair_opposite_strips(strips: list[FootwayStrip]) -> list[tuple[FootwayStrip, FootwayStrip]]:
    """Pair the sidewalks on both sides of a road; inside junctions no one crosses at will."""
    by_place = {
        (strip.road, strip.section, strip.side): strip for strip in strips if strip.junction < 0
    }
    return [
        (strip, by_place[strip.road, strip.section, -1])
        for strip in by_place.values()
        if strip.side > 0 and (strip.road, strip.section, -1) in by_place
    ]


def _cut_strips(group: tuple[FootwayStrip, ...]) -> list[tuple[FootwayStrip, list[float]]]:
    """Cut strips that run side by side at the same stations, where they bend or are crossed."""
    shared = sorted({t for strip in group for t in _find_forced_cuts(strip)})
    cuts = [shared[0]]
    for start, end in pairwise(shared):
        middle = (start + end) / 2
        if not any(low < middle < high for strip in group for low, high in strip.taken):
            cuts += _find_bends(group, start, end)
        cuts.append(end)
    return [(strip, _select_cuts(strip, cuts)) for strip in group]


def _find_forced_cuts(strip: FootwayStrip) -> set[float]:
    return {*strip.t[[0, -1]].tolist(), *(t for taken in strip.taken for t in taken)}


def _select_cuts(strip: FootwayStrip, cuts: list[float]) -> list[float]:
    """Return a strip's forced cuts and those of its neighbour that fall in free places of it."""
    forced = sorted(_find_forced_cuts(strip))
    kept = list(forced)
    for t in cuts:
        free = all(not start < t < end for start, end in strip.taken)
        if free and forced[0] < t < forced[-1] and min(abs(t - cut) for cut in forced) > CLOSEST:
            kept.append(t)
    return sorted(kept)


def _find_bends(group: tuple[FootwayStrip, ...], start: float, end: float) -> list[float]:
    """Return the fewest samples between two cuts that keep all edges straight between them."""
    samples = group[0].t
    inside = samples[(samples > start + CLOSEST) & (samples < end - CLOSEST)]
    # (samples,) with the cuts, and (samples, points, 3) edges there
    t = np.array([start, *inside, end])
    edges = np.concatenate([strip.interpolate_edges(t) for strip in group], axis=1)
    bends, last = [], 0
    # as far as all edges stay straight, then a bend
    while last < len(t) - 1:
        reach = last + 1
        while reach + 1 < len(t) and footways.is_straight_stretch(edges[last : reach + 2]):
            reach += 1
        if reach < len(t) - 1:
            bends.append(float(t[reach]))
        last = reach
    return bends


class _PolygonBuilder:
    """Collects polygons; vertices are numbered by strip, cut and edge, then merged at joints."""

    def __init__(self, cuts: dict[FootwayStrip, list[float]]) -> None:
        self._cuts = cuts
        self._points: list[Floats] = []
        self._inner: dict[tuple[FootwayStrip, float], int] = {}
        self._outer: dict[tuple[FootwayStrip, float], int] = {}
        self._polygons: list[tuple[int, ...]] = []
        self._areas: list[NavigationArea] = []
        self._edges: set[Edge] = set()
        # a rung of two vertices at each cut
        for strip, places in cuts.items():
            for t, (inner, outer) in zip(
                places, strip.interpolate_edges(np.array(places)), strict=True
            ):
                self._inner[strip, t] = self._add_vertex(inner)
                self._outer[strip, t] = self._add_vertex(outer)
        self._merge_strip_ends(list(cuts))

    def add_strip(self, strip: FootwayStrip) -> None:
        """Add a sidewalk's quads."""
        for a, b in pairwise(self._cuts[strip]):
            (i, o), (j, p) = self._find_rung(strip, a), self._find_rung(strip, b)
            self._add_polygon((i, j, p, o), NavigationArea.SIDEWALK)

    def add_crossing(self, crossing: WalkerCrossing) -> None:
        """Add a crosswalk between two sidewalks."""
        a, b = (self._inner[crossing.here, t] for t in crossing.at_here)
        c, d = (self._inner[crossing.there, t] for t in crossing.at_there)
        self._add_polygon((a, b, d, c), NavigationArea.CROSSWALK)

    def add_road(self, right: FootwayStrip, left: FootwayStrip) -> None:
        """Add the carriageway between two sidewalks where both are cut alike."""
        left_cuts = np.array(self._cuts[left])
        for a, b in pairwise(self._cuts[right]):
            i, j = (int(np.argmin(np.abs(left_cuts - t))) for t in (a, b))
            c, d = float(left_cuts[i]), float(left_cuts[j])
            alike = max(abs(c - a), abs(d - b)) <= CLOSEST and j == i + 1
            taken = (a, b) in right.taken or (c, d) in left.taken
            if alike and not taken:
                near = self._inner[right, a], self._inner[right, b]
                far = self._inner[left, d], self._inner[left, c]
                self._add_polygon((*near, *far), NavigationArea.ROAD)

    def finish_mesh(self) -> NavigationMesh:
        """Return the mesh, without unused vertices."""
        used = sorted({corner for polygon in self._polygons for corner in polygon})
        number = {corner: index for index, corner in enumerate(used)}
        polygons = [tuple(number[corner] for corner in polygon) for polygon in self._polygons]
        points = np.array(self._points).reshape(-1, 3)
        return NavigationMesh(points[used], polygons, self._areas)

    def _find_rung(self, strip: FootwayStrip, t: float) -> Edge:
        return self._inner[strip, t], self._outer[strip, t]

    def _add_vertex(self, point: Floats) -> int:
        self._points.append(point)
        return len(self._points) - 1

    def _add_polygon(self, corners: tuple[int, ...], area: NavigationArea) -> None:
        """Add a polygon in the right sense of rotation, in two halves where it is not convex."""
        ring = tuple(dict.fromkeys(corners))
        if len(ring) < 3:
            return
        turns = self._compute_turns(ring)
        if turns.sum() > 0:
            ring, turns = ring[::-1], -turns[::-1]
        if len(ring) == 3 or turns.max() <= 0:
            self._keep_polygon(ring, area)
            return
        dent = int(np.argmax(turns))
        a, b, c, d = (ring[(dent + i) % 4] for i in range(4))
        self._keep_polygon((a, b, c), area)
        self._keep_polygon((a, c, d), area)

    def _keep_polygon(self, ring: tuple[int, ...], area: NavigationArea) -> None:
        """Take a polygon in, unless one that lies there already has one of its edges."""
        edges = set(detour.list_polygon_edges(ring))
        if self._edges.isdisjoint(edges) and self._compute_turns(ring).sum() < -SMALLEST:
            self._edges |= edges
            self._polygons.append(ring)
            self._areas.append(area)

    def _compute_turns(self, ring: tuple[int, ...]) -> Floats:
        points = np.array([self._points[corner][:2] for corner in ring])
        before, after = points - np.roll(points, 1, axis=0), np.roll(points, -1, axis=0) - points
        return np.asarray(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])

    def _merge_strip_ends(self, strips: list[FootwayStrip]) -> None:
        """Let the ends of strips that meet share their vertices, the closest pairs first."""
        # (ends, 3) middles of the rungs at both ends of all strips
        ends = [(strip, t) for strip in strips for t in strip.t[[0, -1]].tolist()]
        rungs = [self._find_rung(strip, t) for strip, t in ends]
        halves = [(self._points[i] + self._points[o]) / 2 for i, o in rungs]
        middles = np.array(halves).reshape(-1, 3)
        # (ends, ends) m
        distance = np.linalg.norm(middles[:, None] - middles[None], axis=2)
        first, second = np.nonzero(np.triu(distance < JOINT, k=1))
        free = [True] * len(ends)
        # the closest pairs first, each end once
        for place in np.argsort(distance[first, second], kind="stable").tolist():
            a, b = int(first[place]), int(second[place])
            apart = ends[a][0] is not ends[b][0] or abs(ends[a][1] - ends[b][1]) > 4 * JOINT
            if free[a] and free[b] and apart:
                free[a] = free[b] = False
                self._join_rungs(ends, rungs, a, b)

    def _join_rungs(
        self, ends: list[tuple[FootwayStrip, float]], rungs: list[Edge], a: int, b: int
    ) -> None:
        """Merge two rungs corner by corner, whichever way round is closer, into the narrower."""
        straight = self._measure_gap(rungs[a], rungs[b]) <= self._measure_gap(
            rungs[a], rungs[b][::-1]
        )
        kept = rungs[a] if straight else rungs[a][::-1]
        middle = np.mean([self._points[corner] for corner in (*rungs[a], *rungs[b])], axis=0)
        for keep, drop in zip(kept, rungs[b], strict=True):
            both = self._points[keep], self._points[drop]
            self._points[keep] = min(both, key=lambda point: float(((point - middle) ** 2).sum()))
        self._inner[ends[b]], self._outer[ends[b]] = kept

    def _measure_gap(self, rung: Edge, other: Edge) -> float:
        return sum(
            float(np.linalg.norm(self._points[i] - self._points[j]))
            for i, j in zip(rung, other, strict=True)
        )
