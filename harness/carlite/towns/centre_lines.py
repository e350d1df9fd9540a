"""Samples the lanes of a road along their centres, in their direction of travel.

The centre lines agree with the client's `carla.Map`: superelevation is ignored, and a lane's
heading is the road's plus the slope of its lateral offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.carlite.angles import wrap_to_pi
from harness.carlite.arrays import Bools, Bytes, Floats
from harness.carlite.towns.network import LaneRecord, RoadRecord, SectionRecord
from harness.carlite.towns.reference_line import evaluate_cubic, evaluate_reference_line

SPACING = 1.0
TINY = 1e-3
JUMP_REACH = 1e-6
"""Metres before and after a station at which it is seen whether a lane jumps there."""
LEAST_JUMP = SPACING / 2
"""Metres; smaller jumps end between samples that are close enough."""

REVERSED = slice(None, None, -1)
FARTHEST, WIDEST = 1e6, 200.0


@dataclass(frozen=True, kw_only=True)
class LaneCentreLine:
    """One lane's samples, ordered along its direction of travel."""

    points: Floats
    yaw: Floats
    width: Floats
    change: Bytes
    road_s: Floats

    def select_samples(self, which: slice | list[int]) -> LaneCentreLine:
        """Return the centre with only these samples, in this order."""
        return LaneCentreLine(
            points=self.points[which],
            yaw=self.yaw[which],
            width=self.width[which],
            change=self.change[which],
            road_s=self.road_s[which],
        )


def sample_section_lanes(
    road: RoadRecord, section: SectionRecord
) -> list[tuple[LaneRecord, LaneCentreLine]]:
    """Sample a section's lanes on one grid of stations, fine enough for the longest of them.

    Args:
        road: that the section is part of.
        section: with its lanes.

    Returns:
        Record and centre line of each lane, in order.
    """
    length = section.end - section.s
    margin = min(1e-7, length / 4)
    pieces = max(1, int(np.ceil(length / SPACING - 1e-9)))
    jumps: Floats | None = None
    while True:
        # (samples,) a little away from the ends, where the next section begins
        s = np.linspace(section.s + margin, section.end - margin, pieces + 1)
        lanes = _compute_centre_lines(road, section, s)
        for record, centre in lanes:
            _check_reach(centre, f"road {road.id}, lane {record.id}")
        # finer until no lane has samples too far apart, except across a jump
        even = np.ones(pieces, bool) if jumps is None else _list_even_steps(s, jumps)
        longest = max((_measure_steps(c)[even].max(initial=0.0) for _, c in lanes), default=0.0)
        if longest <= SPACING * 1.0001:
            return [
                (record, _drop_duplicate_samples(_bridge_jumps(centre))) for record, centre in lanes
            ]
        if jumps is None:
            jumps = _find_jumps(road, section)
            if len(jumps):
                continue
        pieces = max(pieces + 1, int(np.ceil(pieces * longest / SPACING)))
        if pieces > 1000 * (length + 1):
            raise ValueError(f"road {road.id}: its lanes run far longer than its length")


def _find_jumps(road: RoadRecord, section: SectionRecord) -> Floats:
    """Return the stations at which a lane jumps aside, or up, where a record begins.

    Road 714 of CARLA's Town06 has such a place: its lane offset goes from 8.1 to 11 m at once.
    """
    profiles = [road.lane_offset, road.elevation, *(lane.width for lane in section.lanes.values())]
    starts = [profile[:, 0] for profile in profiles] + [np.array([piece.s for piece in road.plan])]
    stations = np.unique(np.concatenate(starts))
    # (stations,) those inside the section; (2 * stations,) just before and just after each
    inside = (stations > section.s + JUMP_REACH) & (stations < section.end - JUMP_REACH)
    stations = stations[inside]
    if not len(stations):
        return stations
    around = np.column_stack([stations - JUMP_REACH, stations + JUMP_REACH]).ravel()
    jumping = np.zeros(len(stations), bool)
    for _, centre in _compute_centre_lines(road, section, around):
        before, after = centre.points[::2], centre.points[1::2]
        apart = np.linalg.norm(after - before, axis=1) > LEAST_JUMP
        # left lanes run against the stations
        jumping |= apart[REVERSED] if centre.road_s[0] > centre.road_s[-1] else apart
    return stations[jumping]


def _list_even_steps(s: Floats, jumps: Floats) -> Bools:
    """Return which steps between neighbouring stations have no jump in them."""
    even = np.ones(len(s) - 1, bool)
    even[np.clip(np.searchsorted(s, jumps) - 1, 0, len(s) - 2)] = False
    return even


def _measure_steps(centre: LaneCentreLine) -> Floats:
    """Return the metres between neighbouring samples, in the order of their stations."""
    steps: Floats = np.linalg.norm(np.diff(centre.points, axis=0), axis=1)
    return steps[REVERSED] if centre.road_s[0] > centre.road_s[-1] else steps


def _bridge_jumps(centre: LaneCentreLine) -> LaneCentreLine:
    """Put samples on the straight line across a jump, so that no two are farther than a metre."""
    steps = np.linalg.norm(np.diff(centre.points, axis=0), axis=1)
    if steps.max(initial=0.0) <= SPACING * 1.0001:
        return centre
    # (samples after,) each new sample between two old ones, as a share of the way
    counts = np.ceil(steps / SPACING * 0.9999).astype(np.int64).clip(1)
    first = np.repeat(np.arange(len(steps)), counts)
    share = np.concatenate([np.arange(count) / count for count in counts])
    # the last sample stays
    first, share = np.append(first, len(steps)), np.append(share, 0.0)
    after = np.minimum(first + 1, len(steps))
    across = share[:, None]
    return LaneCentreLine(
        points=centre.points[first] * (1.0 - across) + centre.points[after] * across,
        yaw=centre.yaw[first],
        width=centre.width[first],
        change=centre.change[first],
        road_s=centre.road_s[first] * (1.0 - share) + centre.road_s[after] * share,
    )


def _check_reach(centre: LaneCentreLine, place: str) -> None:
    if not centre.width.max() < WIDEST:
        raise ValueError(f"{place}: it is wider than {WIDEST:g} m")
    if not np.abs(centre.points).max() < FARTHEST:
        raise ValueError(f"{place}: it runs more than {FARTHEST / 1000:g} km from the origin")


def _compute_centre_lines(
    road: RoadRecord, section: SectionRecord, s: Floats
) -> list[tuple[LaneRecord, LaneCentreLine]]:
    # (samples,) each along the reference line: place, height, lane offset with its slope
    x, y, heading = evaluate_reference_line(road.plan, s)
    z, _ = evaluate_cubic(road.elevation, s)
    offset, offset_slope = evaluate_cubic(road.lane_offset, s)
    marks = {lane: _sample_marking_changes(record, s) for lane, record in section.lanes.items()}
    lanes = []
    # from the reference line outwards: right lanes, then left ones
    for side in (-1, 1):
        edge, edge_slope = offset.copy(), offset_slope.copy()
        for lane in sorted((lane for lane in section.lanes if lane * side > 0), key=abs):
            record = section.lanes[lane]
            # the middle of the lane is half its width beyond the edge so far
            width, width_slope = evaluate_cubic(record.width, s)
            t, slope = edge + side * width / 2, edge_slope + side * width_slope / 2
            edge, edge_slope = edge + side * width, edge_slope + side * width_slope
            # (samples, 3); CARLA's y is OpenDRIVE's negated
            points = np.column_stack([x - t * np.sin(heading), -(y + t * np.cos(heading)), z])
            # left lanes are driven against the reference line
            yaw = -(heading + slope) + (np.pi if side > 0 else 0.0)
            change = _merge_marking_changes(marks[lane], marks.get(lane - side), lane, side)
            centre = LaneCentreLine(
                points=points,
                yaw=wrap_to_pi(yaw),
                width=np.maximum(width, 0.0),
                change=change,
                road_s=s,
            )
            lanes.append((record, centre.select_samples(REVERSED) if side > 0 else centre))
    return sorted(lanes, key=lambda item: item[0].id)


def _sample_marking_changes(record: LaneRecord, s: Floats) -> Bytes:
    """Return how a lane's outer marking may be crossed at each station."""
    change = np.full(len(s), 3, np.uint8)
    for mark in sorted(record.marks, key=lambda mark: mark.s):
        change[s >= mark.s] = mark.change
    return change


def _merge_marking_changes(outer: Bytes, inner: Bytes | None, lane: int, side: int) -> Bytes:
    """Combine a lane's two markings as the client does: bit 1 to the left, bit 2 to the right."""
    inner = np.full_like(outer, 3) if inner is None else inner
    right_bit = 1 if lane < 0 else 2
    left_bit = 1 if lane - side > 0 else 2
    right, left = (outer & right_bit) != 0, (inner & left_bit) != 0
    allowed: Bytes = np.uint8(1) * left + np.uint8(2) * right
    return allowed


def _drop_duplicate_samples(centre: LaneCentreLine) -> LaneCentreLine:
    """Drop samples that fall on one another, as on the inside of a very tight curve.

    Both ends stay; a lane that is no more than a spot is drawn out to a centimetre.
    """
    # (samples, 3)
    points = centre.points
    if (np.linalg.norm(np.diff(points, axis=0), axis=1) > TINY).all():
        return centre
    # samples that lie apart from the one before; the last one always
    keep, last = [0], len(points) - 1
    for index in range(1, last):
        if np.linalg.norm(points[index] - points[keep[-1]]) > TINY:
            keep.append(index)
    while len(keep) > 1 and np.linalg.norm(points[last] - points[keep[-1]]) <= TINY:
        keep.pop()
    keep.append(last)
    # a spot becomes a centimetre
    kept = centre.select_samples(keep)
    if np.linalg.norm(kept.points[-1] - kept.points[-2]) <= TINY:
        ahead = np.array([np.cos(centre.yaw[0]), np.sin(centre.yaw[0])])
        kept.points[-1, :2] = kept.points[-2, :2] + 0.01 * ahead
    return kept
