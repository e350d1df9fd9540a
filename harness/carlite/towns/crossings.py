"""Where walkers cross: at crosswalks, or before junctions in towns that mark none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns.footways import FootwayStrip, is_straight_stretch
from harness.carlite.towns.model import LaneKind, TownLanes

REACH = 5.0
"""How far the end of a crosswalk may be from the sidewalk it leads to."""
NARROWEST = 0.5
WIDE_ENOUGH = 1.5
WIDTH = 4.0

Stretch = tuple[float, float]


@dataclass(frozen=True)
class WalkerCrossing:
    """A way across the road from a stretch of one strip's inner edge to one of another's.

    The first station here is opposite the first one there.
    """

    here: FootwayStrip
    at_here: Stretch
    there: FootwayStrip
    at_there: Stretch


def attach_crosswalks(
    strips: list[FootwayStrip], crosswalks: Sequence[Floats]
) -> list[WalkerCrossing]:
    """Find the sidewalks at both ends of each crosswalk and take the stretches it needs."""
    if not strips:
        return []
    # (samples of all strips, 3), and the strip of each
    kerb = np.concatenate([strip.inner for strip in strips])
    owner = np.repeat(np.arange(len(strips)), [len(strip.t) for strip in strips])
    result = []
    for polygon in crosswalks:
        landings = []
        # the strips near both short edges
        for a, b in _find_kerb_edges(polygon):
            near = np.linalg.norm(kerb - (a + b) / 2, axis=1) < REACH
            landings.append(_find_landing([strips[i] for i in np.unique(owner[near])], a, b))
        if landings[0] and landings[1] and landings[0][0] is not landings[1][0]:
            result.append(_make_walker_crossing(*landings[0], *landings[1]))
            _mark_stretches_taken(result[-1])
    return result


def make_junction_crossings(
    lanes: TownLanes, roads: Sequence[tuple[FootwayStrip, FootwayStrip]]
) -> list[WalkerCrossing]:
    """Make crossings of the last metres before junctions, for towns that mark no crosswalks."""
    # sections that meet a junction, and at which end
    driving = np.flatnonzero(lanes.kind == LaneKind.DRIVING)
    meets: dict[tuple[int, int], set[bool]] = {}
    for lane in driving.tolist():
        after = lanes.next[lanes.next_first[lane] :][: lanes.next_count[lane]]
        if (lanes.junction[after] >= 0).any():
            road, section, lane_id = lanes.key[lane].tolist()
            meets.setdefault((road, section), set()).add(lane_id < 0)
    result = []
    # a crossing where the sidewalks on both sides are long enough
    for right, left in roads:
        for at_end in sorted(meets.get((right.road, right.section), ())):
            low, high = max(right.t[0], left.t[0]), min(right.t[-1], left.t[-1])
            stretch = (high - WIDTH, high) if at_end else (low, low + WIDTH)
            if high - low > 2 * WIDTH:
                here, there = _snap_stretch(right, stretch), _snap_stretch(left, stretch)
                result.append(WalkerCrossing(right, here, left, there))
                _mark_stretches_taken(result[-1])
    return result


def _find_kerb_edges(polygon: Floats) -> list[tuple[Floats, Floats]]:
    """Return the two edges of a crosswalk that lie on kerbs, at the ends of its long axis."""
    offset = polygon[:, :2] - polygon[:-1, :2].mean(axis=0)
    long_axis = np.linalg.svd(offset, full_matrices=False)[2][0]
    corners = polygon[:-1][np.argsort(offset[:-1] @ long_axis, kind="stable")]
    return [(corners[0], corners[1]), (corners[-1], corners[-2])]


def _find_landing(
    near: list[FootwayStrip], a: Floats, b: Floats
) -> tuple[FootwayStrip, Stretch] | None:
    """Return the strip that a crosswalk's end leads to and the stretch of its edge before it."""
    best: tuple[float, FootwayStrip, Stretch] | None = None
    for strip in near:
        distance = float(np.linalg.norm(strip.inner - (a + b) / 2, axis=1).min())
        before = sorted((strip.project_to_station(a), strip.project_to_station(b)))
        stretch = _find_straight_part(
            strip, _find_free_stretch(strip, _expand_stretch(strip, before))
        )
        worth = min(stretch[1] - stretch[0], WIDTH) - distance
        if stretch[1] - stretch[0] >= NARROWEST and (best is None or worth > best[0]):
            best = worth, strip, stretch
    return best and best[1:]


def _expand_stretch(strip: FootwayStrip, stretch: Sequence[float]) -> Stretch:
    """Make a stretch wide enough to walk on, within the strip."""
    low, high = strip.t[[0, -1]].tolist()
    half = max(stretch[1] - stretch[0], WIDE_ENOUGH) / 2
    middle = min(max((stretch[0] + stretch[1]) / 2, low + half), max(high - half, low + half))
    return _snap_stretch(strip, (middle - half, middle + half))


def _find_free_stretch(strip: FootwayStrip, stretch: Stretch) -> Stretch:
    """Return the longer part of a stretch that no other crossing has taken."""
    start, end = stretch
    for other, other_end in strip.taken:
        if start < other_end and end > other:
            before, after = (start, min(end, other)), (max(start, other_end), end)
            start, end = max(before, after, key=lambda part: part[1] - part[0])
    return start, end


def _snap_stretch(strip: FootwayStrip, stretch: Stretch) -> Stretch:
    """Move a stretch that ends near or beyond a strip's end to that end."""
    low, high = strip.t[[0, -1]].tolist()
    start = low if stretch[0] < low + NARROWEST else stretch[0]
    end = high if stretch[1] > high - NARROWEST else stretch[1]
    return start, end


def _find_straight_part(strip: FootwayStrip, stretch: Stretch) -> Stretch:
    """Return the longest part of a stretch that is straight, with nothing standing in it."""
    inside = strip.t[(strip.t > stretch[0]) & (strip.t < stretch[1])]
    t = np.array([stretch[0], *inside, stretch[1]])
    edges = strip.interpolate_edges(t)
    parts = [
        (float(t[i]), float(t[j]))
        for i in range(len(t))
        for j in range(i + 1, len(t))
        if is_straight_stretch(edges[i : j + 1])
    ]
    return max(parts, key=lambda part: part[1] - part[0], default=(stretch[0], stretch[0]))


def _make_walker_crossing(
    here: FootwayStrip, at_here: Stretch, there: FootwayStrip, at_there: Stretch
) -> WalkerCrossing:
    """Turn the far stretch so that the sides of the crossing do not cross each other."""
    a, b = here.interpolate_edges(np.array(at_here))[:, 0]
    c, d = there.interpolate_edges(np.array(at_there))[:, 0]
    straight = np.linalg.norm(c - a) + np.linalg.norm(d - b)
    crossed = np.linalg.norm(d - a) + np.linalg.norm(c - b)
    return WalkerCrossing(here, at_here, there, at_there if straight <= crossed else at_there[::-1])


def _mark_stretches_taken(crossing: WalkerCrossing) -> None:
    crossing.here.taken.append(crossing.at_here)
    crossing.there.taken.append((min(crossing.at_there), max(crossing.at_there)))
