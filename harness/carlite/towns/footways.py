"""Sidewalks as strips: two polylines, toward the road and away from it, along the road."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from harness.carlite.arrays import Bools, Floats, Ints
from harness.carlite.towns.model import LaneKind, TownLanes, TownScenery

MARGIN = 0.35
"""How far a walker's middle stays away from kerbs, walls and poles."""
WIDEST = 6.0
NARROWEST = 0.4
ROOMY = 0.9
CALM = (40, 12)
"""Samples to either side over which a strip is first kept straight, then at least calm."""
SHORTEST = 0.3
HEAD, FOOT = 2.0, 0.15
LONGEST = 15.0
TOLERANCE = 0.10
SPACING = 1.0
"""No two samples of a lane are further apart."""


@dataclass(eq=False, kw_only=True)
class FootwayStrip:
    """A walkable strip along one section of a road, by ascending road station.

    Attributes:
        road, section: whose it is.
        side: 1 to the right of the road's direction, -1 to the left.
        junction: junction id, -1 outside junctions.
        t: (n,) the road's station.
        inner, outer: (n, 3) the edge toward the road and the one away from it.
        taken: stretches of t where a crossing begins; no cut may fall inside one.
    """

    road: int
    section: int
    side: int
    junction: int
    t: Floats
    inner: Floats
    outer: Floats
    taken: list[tuple[float, float]] = field(default_factory=list)

    def interpolate_edges(self, t: Floats) -> Floats:
        """Return (len(t), 2, 3) points at stations: on the inner and on the outer edge."""
        columns = np.concatenate([self.inner, self.outer], axis=1).T
        return np.stack([np.interp(t, self.t, column) for column in columns], 1).reshape(-1, 2, 3)

    def project_to_station(self, point: Floats) -> float:
        """Return the station of the inner edge nearest to a point."""
        start, along = self.inner[:-1], np.diff(self.inner, axis=0)
        share = ((point - start) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-9)
        share = share.clip(0.0, 1.0)
        nearest = int(np.argmin(((start + along * share[:, None] - point) ** 2).sum(axis=1)))
        return float(self.t[nearest] + share[nearest] * (self.t[nearest + 1] - self.t[nearest]))


def is_straight_stretch(edges: Floats) -> bool:
    """Return whether edges, given as (n, edges, 3), are straight and short enough for one quad."""
    chord = edges[-1] - edges[0]
    length = np.linalg.norm(chord, axis=1)
    if length.max() > LONGEST:
        return False
    offset = edges[1:-1] - edges[0]
    along = (offset * chord).sum(axis=2, keepdims=True) / np.maximum(length**2, 1e-9)[:, None]
    return bool((np.linalg.norm(offset - along * chord, axis=2) <= TOLERANCE).all())


def find_footway_strips(lanes: TownLanes, scenery: TownScenery) -> list[FootwayStrip]:
    """Return the walkable strip of every sidewalk, neighbouring sidewalks joined into one."""
    walkable = lanes.kind == LaneKind.SIDEWALK
    inner_most = walkable & ((lanes.left < 0) | ~walkable[lanes.left])
    candidates = [
        _build_footway_strip(lanes, scenery, int(lane)) for lane in np.flatnonzero(inner_most)
    ]
    return [strip for strip in candidates if strip is not None]


def _build_footway_strip(lanes: TownLanes, scenery: TownScenery, lane: int) -> FootwayStrip | None:
    # from the inner edge of this lane to the outer edge of the outermost
    outermost = lane
    while lanes.right[outermost] >= 0:
        outermost = int(lanes.right[outermost])
    t, left, _ = _compute_lane_edges(lanes, lane)
    other_t, _, right = _compute_lane_edges(lanes, outermost)
    if len(t) < 2 or t[-1] - t[0] < SHORTEST:
        return None
    # (samples, 3) both edges at the same stations
    right = np.stack([np.interp(t, other_t, right[:, axis]) for axis in range(3)], axis=1)
    if _is_facing_away(lanes, lane, left, right):
        left, right = right, left
    # (samples, 3) unit vectors across, (samples,) widths in m
    across = right - left
    width = np.linalg.norm(across[:, :2], axis=1)
    if np.median(width) < NARROWEST + 2 * MARGIN:
        return None
    across /= np.maximum(width, 1e-6)[:, None]
    # what scenery leaves free
    near, far = _find_free_width(left, across, np.minimum(width, WIDEST), scenery)
    road, section, lane_id = lanes.key[lane].tolist()
    return FootwayStrip(
        road=road, section=section, side=-1 if lane_id > 0 else 1,
        junction=int(lanes.junction[lane]), t=t,
        inner=left + across * near[:, None], outer=left + across * far[:, None],
    )  # fmt: skip


def _is_facing_away(lanes: TownLanes, lane: int, left: Floats, right: Floats) -> bool:
    """Return whether traffic passes to the right of a sidewalk, as it may inside a junction."""
    junction = lanes.junction[lane]
    driven = (lanes.junction == junction) & (lanes.kind == LaneKind.DRIVING)
    if junction < 0 or not driven.any():
        return False
    traffic = lanes.points[np.repeat(driven, lanes.count)]
    middle = len(left) // 2
    from_left, from_right = (
        np.linalg.norm(traffic - edge[middle], axis=1).min() for edge in (left, right)
    )
    return bool(from_right < from_left)


def _compute_lane_edges(lanes: TownLanes, lane: int) -> tuple[Floats, Floats, Floats]:
    """Return road stations, ascending, with the left and right edge in the lane's direction."""
    span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
    yaw, half = lanes.yaw[span], lanes.width[span, None] / 2
    to_right = np.stack([-np.sin(yaw), np.cos(yaw), np.zeros_like(yaw)], axis=1)
    t, left, right = lanes.road_s[span], lanes.points[span], lanes.points[span]
    left, right = left - to_right * half, right + to_right * half
    if len(t) > 1 and t[0] > t[-1]:
        t, left, right = t[::-1], left[::-1], right[::-1]
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(t)) > 1e-6])
    return t[rising], left[rising], right[rising]


def _find_free_width(
    edge: Floats, across: Floats, width: Floats, scenery: TownScenery
) -> tuple[Floats, Floats]:
    """Return from where to where a strip is free of scenery, measured across from its edge."""
    near, far = np.full(len(edge), MARGIN), np.maximum(width - MARGIN, MARGIN + NARROWEST)
    for piece in _find_nearby_pieces(edge, float(width.max()), scenery).tolist():
        low, high, alongside = _project_piece(edge, across, scenery, piece)
        hit = alongside & (low < far) & (high > near)
        keep_near = low - near >= far - high
        shrunk_far = np.where(hit & keep_near, np.minimum(far, low), far)
        shrunk_near = np.where(hit & ~keep_near, np.maximum(near, high), near)
        fits = shrunk_far - shrunk_near >= NARROWEST
        near, far = np.where(fits, shrunk_near, near), np.where(fits, shrunk_far, far)
    return _smooth_free_width(near, far)


def _smooth_free_width(near: Floats, far: Floats) -> tuple[Floats, Floats]:
    """Keep to the stretch that stays free for a while, rather than dodge every pole."""
    for reach in CALM:
        window = 2 * min(reach, len(near)) + 1
        calm_near = _slide_window(near, window).max(axis=1)
        calm_far = _slide_window(far, window).min(axis=1)
        roomy = calm_far - calm_near >= ROOMY
        near, far = np.where(roomy, calm_near, near), np.where(roomy, calm_far, far)
    return near, far


def _slide_window(values: Floats, window: int) -> Floats:
    padded = np.pad(values, window // 2, mode="edge")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, window))


def _find_nearby_pieces(edge: Floats, width: float, scenery: TownScenery) -> Ints:
    reach = np.hypot(scenery.extent[:, 0], scenery.extent[:, 1]) + width + MARGIN + SPACING
    low, high = edge[:, :2].min(axis=0), edge[:, :2].max(axis=0)
    middle = scenery.centre[:, :2]
    around = ((middle > low - reach[:, None]) & (middle < high + reach[:, None])).all(axis=1)
    near = np.flatnonzero(around & scenery.solid)
    distance = np.linalg.norm(middle[near, None] - edge[None, :, :2], axis=2).min(axis=1)
    return np.asarray(near[distance < reach[near]])


def _project_piece(
    edge: Floats, across: Floats, scenery: TownScenery, piece: int
) -> tuple[Floats, Floats, Bools]:
    """Return the stretch across the strip that a piece takes at each sample, and where it does."""
    offset = scenery.centre[piece] - edge
    turn = np.arctan2(across[:, 1], across[:, 0]) - scenery.yaw[piece]
    long, wide, high = scenery.extent[piece].tolist()
    half_across = np.abs(long * np.cos(turn)) + np.abs(wide * np.sin(turn)) + MARGIN
    half_along = np.abs(long * np.sin(turn)) + np.abs(wide * np.cos(turn)) + MARGIN
    lateral = (offset * across).sum(axis=1)
    along = np.abs(offset[:, 1] * across[:, 0] - offset[:, 0] * across[:, 1])
    upright = (offset[:, 2] - high < HEAD) & (offset[:, 2] + high > FOOT)
    alongside = upright & (along < half_along + SPACING)
    return lateral - half_across, lateral + half_across, alongside
