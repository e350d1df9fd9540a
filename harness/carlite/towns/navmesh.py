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
from harness.carlite.towns.crossings import Crossing
from harness.carlite.towns.detour import Area, Mesh
from harness.carlite.towns.footways import Strip
from harness.carlite.towns.model import Town

CLOSEST = 0.4
SMALLEST = 0.02
JOINT = 1.5
"""How far apart the ends of two strips may be and still be one place."""

Edge = tuple[int, int]


def load(town: Town) -> bytes:
    """Return a town's navigation mesh as it was kept, or build it and keep it."""
    kept = cache.read_mesh(town)
    if kept is None:
        kept = build(town)
        cache.write_mesh(town, kept)
    return kept


def build(town: Town) -> bytes:
    """Return the navigation mesh of a town in the client's format; empty without sidewalks."""
    walkable = mesh(town)
    return detour.write(walkable) if walkable.polygons else b""


def mesh(town: Town) -> Mesh:
    """Return the polygons of a town's sidewalks, crosswalks and roads."""
    strips = footways.strips(town.lanes, town.scenery)
    roads = _opposite(strips)
    marked = crossings.attach(strips, town.crosswalks)
    ways_across = marked or crossings.at_junctions(town.lanes, roads)
    paired = {strip for road in roads for strip in road}
    groups = [*roads, *((strip,) for strip in strips if strip not in paired)]
    builder = _Builder({strip: cuts for group in groups for strip, cuts in _cuts(group)})
    for strip in strips:
        builder.add_strip(strip)
    for crossing in ways_across:
        builder.add_crossing(crossing)
    for right, left in roads:
        builder.add_road(right, left)
    return builder.finish()


def _opposite(strips: list[Strip]) -> list[tuple[Strip, Strip]]:
    """Pair the sidewalks on both sides of a road; inside junctions no one crosses at will."""
    by_place = {
        (strip.road, strip.section, strip.side): strip for strip in strips if strip.junction < 0
    }
    return [
        (strip, by_place[strip.road, strip.section, -1])
        for strip in by_place.values()
        if strip.side > 0 and (strip.road, strip.section, -1) in by_place
    ]


def _cuts(group: tuple[Strip, ...]) -> list[tuple[Strip, list[float]]]:
    """Cut strips that run side by side at the same stations, where they bend or are crossed."""
    shared = sorted({t for strip in group for t in _forced(strip)})
    cuts = [shared[0]]
    for start, end in pairwise(shared):
        middle = (start + end) / 2
        if not any(low < middle < high for strip in group for low, high in strip.taken):
            cuts += _bends(group, start, end)
        cuts.append(end)
    return [(strip, _cuts_of(strip, cuts)) for strip in group]


def _forced(strip: Strip) -> set[float]:
    return {*strip.t[[0, -1]].tolist(), *(t for taken in strip.taken for t in taken)}


def _cuts_of(strip: Strip, cuts: list[float]) -> list[float]:
    """Return a strip's forced cuts and those of its neighbour that fall in free places of it."""
    forced = sorted(_forced(strip))
    kept = list(forced)
    for t in cuts:
        free = all(not start < t < end for start, end in strip.taken)
        if free and forced[0] < t < forced[-1] and min(abs(t - cut) for cut in forced) > CLOSEST:
            kept.append(t)
    return sorted(kept)


def _bends(group: tuple[Strip, ...], start: float, end: float) -> list[float]:
    """Return the fewest samples between two cuts that keep all edges straight between them."""
    samples = group[0].t
    inside = samples[(samples > start + CLOSEST) & (samples < end - CLOSEST)]
    t = np.array([start, *inside, end])
    edges = np.concatenate([strip.along(t) for strip in group], axis=1)
    bends, last = [], 0
    while last < len(t) - 1:
        reach = last + 1
        while reach + 1 < len(t) and footways.straight(edges[last : reach + 2]):
            reach += 1
        if reach < len(t) - 1:
            bends.append(float(t[reach]))
        last = reach
    return bends


class _Builder:
    """Collects polygons; vertices are numbered by strip, cut and edge, then merged at joints."""

    def __init__(self, cuts: dict[Strip, list[float]]) -> None:
        self._cuts = cuts
        self._points: list[Floats] = []
        self._inner: dict[tuple[Strip, float], int] = {}
        self._outer: dict[tuple[Strip, float], int] = {}
        self._polygons: list[tuple[int, ...]] = []
        self._areas: list[Area] = []
        self._edges: set[Edge] = set()
        for strip, places in cuts.items():
            for t, (inner, outer) in zip(places, strip.along(np.array(places)), strict=True):
                self._inner[strip, t] = self._new(inner)
                self._outer[strip, t] = self._new(outer)
        self._merge(list(cuts))

    def add_strip(self, strip: Strip) -> None:
        """Add a sidewalk's quads."""
        for a, b in pairwise(self._cuts[strip]):
            (i, o), (j, p) = self._rung(strip, a), self._rung(strip, b)
            self._add((i, j, p, o), Area.SIDEWALK)

    def add_crossing(self, crossing: Crossing) -> None:
        """Add a crosswalk between two sidewalks."""
        a, b = (self._inner[crossing.here, t] for t in crossing.at_here)
        c, d = (self._inner[crossing.there, t] for t in crossing.at_there)
        self._add((a, b, d, c), Area.CROSSWALK)

    def add_road(self, right: Strip, left: Strip) -> None:
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
                self._add((*near, *far), Area.ROAD)

    def finish(self) -> Mesh:
        """Return the mesh, without unused vertices."""
        used = sorted({corner for polygon in self._polygons for corner in polygon})
        number = {corner: index for index, corner in enumerate(used)}
        polygons = [tuple(number[corner] for corner in polygon) for polygon in self._polygons]
        points = np.array(self._points).reshape(-1, 3)
        return Mesh(points[used], polygons, self._areas)

    def _rung(self, strip: Strip, t: float) -> Edge:
        return self._inner[strip, t], self._outer[strip, t]

    def _new(self, point: Floats) -> int:
        self._points.append(point)
        return len(self._points) - 1

    def _add(self, corners: tuple[int, ...], area: Area) -> None:
        """Add a polygon in the right sense of rotation, in two halves where it is not convex."""
        ring = tuple(dict.fromkeys(corners))
        if len(ring) < 3:
            return
        turns = self._turns(ring)
        if turns.sum() > 0:
            ring, turns = ring[::-1], -turns[::-1]
        if len(ring) == 3 or turns.max() <= 0:
            self._keep(ring, area)
            return
        dent = int(np.argmax(turns))
        a, b, c, d = (ring[(dent + i) % 4] for i in range(4))
        self._keep((a, b, c), area)
        self._keep((a, c, d), area)

    def _keep(self, ring: tuple[int, ...], area: Area) -> None:
        """Take a polygon in, unless one that lies there already has one of its edges."""
        edges = set(detour.edges(ring))
        if self._edges.isdisjoint(edges) and self._turns(ring).sum() < -SMALLEST:
            self._edges |= edges
            self._polygons.append(ring)
            self._areas.append(area)

    def _turns(self, ring: tuple[int, ...]) -> Floats:
        points = np.array([self._points[corner][:2] for corner in ring])
        before, after = points - np.roll(points, 1, axis=0), np.roll(points, -1, axis=0) - points
        return np.asarray(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])

    def _merge(self, strips: list[Strip]) -> None:
        """Let the ends of strips that meet share their vertices, the closest pairs first."""
        ends = [(strip, t) for strip in strips for t in strip.t[[0, -1]].tolist()]
        rungs = [self._rung(strip, t) for strip, t in ends]
        halves = [(self._points[i] + self._points[o]) / 2 for i, o in rungs]
        middles = np.array(halves).reshape(-1, 3)
        distance = np.linalg.norm(middles[:, None] - middles[None], axis=2)
        first, second = np.nonzero(np.triu(distance < JOINT, k=1))
        free = [True] * len(ends)
        for place in np.argsort(distance[first, second], kind="stable").tolist():
            a, b = int(first[place]), int(second[place])
            apart = ends[a][0] is not ends[b][0] or abs(ends[a][1] - ends[b][1]) > 4 * JOINT
            if free[a] and free[b] and apart:
                free[a] = free[b] = False
                self._join(ends, rungs, a, b)

    def _join(self, ends: list[tuple[Strip, float]], rungs: list[Edge], a: int, b: int) -> None:
        """Merge two rungs corner by corner, whichever way round is closer, into the narrower."""
        straight = self._gap(rungs[a], rungs[b]) <= self._gap(rungs[a], rungs[b][::-1])
        kept = rungs[a] if straight else rungs[a][::-1]
        middle = np.mean([self._points[corner] for corner in (*rungs[a], *rungs[b])], axis=0)
        for keep, drop in zip(kept, rungs[b], strict=True):
            both = self._points[keep], self._points[drop]
            self._points[keep] = min(both, key=lambda point: float(((point - middle) ** 2).sum()))
        self._inner[ends[b]], self._outer[ends[b]] = kept

    def _gap(self, rung: Edge, other: Edge) -> float:
        return sum(
            float(np.linalg.norm(self._points[i] - self._points[j]))
            for i, j in zip(rung, other, strict=True)
        )
