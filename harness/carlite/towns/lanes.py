"""Samples every lane of a road network along its centre, in its direction of travel.

The centre line agrees with the client's `carla.Map`: superelevation is ignored, and a lane's
heading is the road's plus the slope of its lateral offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.carlite.arrays import Bytes, Floats
from harness.carlite.towns.model import LaneKind, Lanes
from harness.carlite.towns.network import LaneRecord, Network, Road, Section
from harness.carlite.towns.reference_line import cubic, evaluate
from harness.carlite.towns.topology import LaneKey, successors

SPACING = 1.0
SHORTEST = 0.02
"""Sections shorter than this are left out, and what they join is joined directly."""
DEFAULT_SPEED = 50 / 3.6
KINDS = {
    "driving": LaneKind.DRIVING,
    "sidewalk": LaneKind.SIDEWALK,
    "shoulder": LaneKind.SHOULDER,
    "parking": LaneKind.PARKING,
    "biking": LaneKind.BIKING,
}


@dataclass(frozen=True)
class _Centre:
    """One lane's samples, ordered along its direction of travel."""

    points: Floats
    yaw: Floats
    width: Floats
    change: Bytes
    road_s: Floats


def build(network: Network) -> Lanes:
    """Return all lanes of the network, ordered by road, section and lane id."""
    keys: list[LaneKey] = []
    records: list[LaneRecord] = []
    centres: list[_Centre] = []
    for road in sorted(network.roads.values(), key=lambda road: road.id):
        for index, section in enumerate(road.sections):
            if section.end - section.s < SHORTEST:
                continue
            for record, centre in _sample(road, section):
                keys.append((road.id, index, record.id))
                records.append(record)
                centres.append(centre)
    if not keys:
        raise ValueError("there is no lane in it")
    return _assemble(network, keys, records, centres)


def _assemble(
    network: Network, keys: list[LaneKey], records: list[LaneRecord], centres: list[_Centre]
) -> Lanes:
    index = {key: lane for lane, key in enumerate(keys)}
    kinds = np.array([KINDS.get(record.type, LaneKind.OTHER) for record in records], np.uint8)
    count = np.array([len(centre.road_s) for centre in centres], np.int32)
    points = np.concatenate([centre.points for centre in centres])
    first = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int32)
    station = _stations(points, first)
    following = [[index[key] for key in keys_] for keys_ in successors(network, keys)]
    preceding: list[list[int]] = [[] for _ in keys]
    for lane, ahead in enumerate(following):
        for other in ahead:
            preceding[other].append(lane)
    next_first, next_count, next_flat = _flatten(following)
    previous_first, previous_count, previous_flat = _flatten(preceding)
    return Lanes(
        key=np.array(keys, np.int32),
        kind=kinds,
        junction=np.array([network.roads[key[0]].junction for key in keys], np.int32),
        first=first,
        count=count,
        length=station[first + count - 1],
        speed_limit=np.array(
            [
                _speed_limit(network.roads[key[0]], record)
                for key, record in zip(keys, records, strict=True)
            ]
        ),
        left=_neighbours(keys, kinds, index, inward=True),
        right=_neighbours(keys, kinds, index, inward=False),
        next_first=next_first,
        next_count=next_count,
        next=next_flat,
        previous_first=previous_first,
        previous_count=previous_count,
        previous=previous_flat,
        points=points,
        yaw=np.concatenate([centre.yaw for centre in centres]),
        station=station,
        width=np.concatenate([centre.width for centre in centres]),
        change=np.concatenate([centre.change for centre in centres]),
        road_s=np.concatenate([centre.road_s for centre in centres]),
    )


def _sample(road: Road, section: Section) -> list[tuple[LaneRecord, _Centre]]:
    """Sample a section's lanes on one grid of stations, fine enough for the longest of them."""
    length = section.end - section.s
    margin = min(1e-7, length / 4)
    pieces = max(1, int(np.ceil(length / SPACING - 1e-9)))
    while True:
        s = np.linspace(section.s + margin, section.end - margin, pieces + 1)
        lanes = _centres(road, section, s)
        longest = max(
            (np.linalg.norm(np.diff(c.points, axis=0), axis=1).max() for _, c in lanes), default=0.0
        )
        if longest <= SPACING * 1.0001:
            return [(record, _distinct(centre)) for record, centre in lanes]
        pieces = max(pieces + 1, int(np.ceil(pieces * longest / SPACING)))


def _centres(road: Road, section: Section, s: Floats) -> list[tuple[LaneRecord, _Centre]]:
    x, y, heading = evaluate(road.plan, s)
    z, _ = cubic(road.elevation, s)
    offset, offset_slope = cubic(road.lane_offset, s)
    marks = {lane: _change(record, s) for lane, record in section.lanes.items()}
    lanes = []
    for side in (-1, 1):
        edge, edge_slope = offset.copy(), offset_slope.copy()
        for lane in sorted((lane for lane in section.lanes if lane * side > 0), key=abs):
            record = section.lanes[lane]
            width, width_slope = cubic(record.width, s)
            t, slope = edge + side * width / 2, edge_slope + side * width_slope / 2
            edge, edge_slope = edge + side * width, edge_slope + side * width_slope
            points = np.column_stack([x - t * np.sin(heading), -(y + t * np.cos(heading)), z])
            yaw = -(heading + slope) + (np.pi if side > 0 else 0.0)
            change = _allowed(marks[lane], marks.get(lane - side), lane, side)
            centre = _Centre(points, _wrapped(yaw), np.maximum(width, 0.0), change, s)
            lanes.append((record, _reversed(centre) if side > 0 else centre))
    return sorted(lanes, key=lambda item: item[0].id)


def _change(record: LaneRecord, s: Floats) -> Bytes:
    """Return how a lane's outer marking may be crossed at each station."""
    change = np.full(len(s), 3, np.uint8)
    for mark in sorted(record.marks, key=lambda mark: mark.s):
        change[s >= mark.s] = mark.change
    return change


def _allowed(outer: Bytes, inner: Bytes | None, lane: int, side: int) -> Bytes:
    """Combine a lane's two markings as the client does: bit 1 to the left, bit 2 to the right."""
    inner = np.full_like(outer, 3) if inner is None else inner
    right_bit = 1 if lane < 0 else 2
    left_bit = 1 if lane - side > 0 else 2
    right, left = (outer & right_bit) != 0, (inner & left_bit) != 0
    allowed: Bytes = np.uint8(1) * left + np.uint8(2) * right
    return allowed


def _distinct(centre: _Centre) -> _Centre:
    """Drop samples that fall on their predecessor, as on the inside of a very tight curve."""
    steps = np.linalg.norm(np.diff(centre.points, axis=0), axis=1)
    if (steps > 1e-3).all():
        return centre
    keep = [0]
    for index in range(1, len(centre.points)):
        if np.linalg.norm(centre.points[index] - centre.points[keep[-1]]) > 1e-3:
            keep.append(index)
    last = len(centre.points) - 1
    if keep[-1] != last:
        keep[-1 if len(keep) > 1 else len(keep) :] = [last]
    points = centre.points.copy()
    if len(keep) == 2 and np.linalg.norm(points[0] - points[last]) <= 1e-3:
        points[last, :2] = points[0, :2] + 1e-2 * np.array(
            [np.cos(centre.yaw[0]), np.sin(centre.yaw[0])]
        )
    return _Centre(
        points[keep], centre.yaw[keep], centre.width[keep], centre.change[keep], centre.road_s[keep]
    )


def _reversed(centre: _Centre) -> _Centre:
    return _Centre(
        centre.points[::-1],
        centre.yaw[::-1],
        centre.width[::-1],
        centre.change[::-1],
        centre.road_s[::-1],
    )


def _wrapped(angle: Floats) -> Floats:
    """Bring angles into (-pi, pi]."""
    wrapped: Floats = np.pi - np.mod(np.pi - angle, 2 * np.pi)
    return wrapped


def _stations(points: Floats, first: np.ndarray) -> Floats:
    steps = np.concatenate([[0.0], np.linalg.norm(np.diff(points, axis=0), axis=1)])
    steps[first] = 0.0
    total = np.cumsum(steps)
    owner = np.searchsorted(first, np.arange(len(points)), side="right") - 1
    station: Floats = total - total[first][owner]
    return station


def _speed_limit(road: Road, record: LaneRecord) -> float:
    for speeds in (record.speeds, road.speeds):
        if speeds:
            return min(speeds)[1]
    return DEFAULT_SPEED


def _neighbours(
    keys: list[LaneKey], kinds: Bytes, index: dict[LaneKey, int], *, inward: bool
) -> np.ndarray:
    neighbours = np.full(len(keys), -1, np.int32)
    for lane, (road, section, lane_id) in enumerate(keys):
        step = (1 if lane_id < 0 else -1) * (1 if inward else -1)
        other = index.get((road, section, lane_id + step), -1)
        if other >= 0 and kinds[other] == kinds[lane]:
            neighbours[lane] = other
    return neighbours


def _flatten(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    count = np.array([len(items) for items in lists], np.int32)
    first = (np.cumsum(count) - count).astype(np.int32)
    return first, count, np.array([item for items in lists for item in items], np.int32)
