"""Puts the lanes of a road network together: samples, neighbours, what follows what."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s
from harness.carlite.towns.centre_lines import LaneCentreLine, sample_section_lanes
from harness.carlite.towns.model import LaneKind, TownLanes
from harness.carlite.towns.network import LaneRecord, OpendriveNetwork, RoadRecord
from harness.carlite.towns.topology import LaneKey, find_successors

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


def build_lanes(network: OpendriveNetwork) -> TownLanes:
    """Return all lanes of the network, ordered by road, section and lane id."""
    keys: list[LaneKey] = []
    records: list[LaneRecord] = []
    centres: list[LaneCentreLine] = []
    for road in sorted(network.roads.values(), key=lambda road: road.id):
        for index, section in enumerate(road.sections):
            if section.end - section.s < SHORTEST:
                continue
            for record, centre in sample_section_lanes(road, section):
                keys.append((road.id, index, record.id))
                records.append(record)
                centres.append(centre)
    if not keys:
        raise ValueError("no lane in it")
    return _assemble_lanes(network, keys, records, centres)


def _assemble_lanes(
    network: OpendriveNetwork,
    keys: list[LaneKey],
    records: list[LaneRecord],
    centres: list[LaneCentreLine],
) -> TownLanes:
    # points of all lanes in one array: a lane is `first` and `count` of its rows
    index = {key: lane for lane, key in enumerate(keys)}
    kinds = np.array([KINDS.get(record.type, LaneKind.OTHER) for record in records], np.uint8)
    count = np.array([len(centre.road_s) for centre in centres], np.int32)
    points = np.concatenate([centre.points for centre in centres])
    first = np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int32)
    station = _compute_stations(points, first)
    # links between lanes, both ways, as flat lists
    following = [[index[key] for key in keys_] for keys_ in find_successors(network, keys)]
    preceding: list[list[int]] = [[] for _ in keys]
    for lane, ahead in enumerate(following):
        for other in ahead:
            preceding[other].append(lane)
    next_first, next_count, next_flat = _pack_lists(following)
    previous_first, previous_count, previous_flat = _pack_lists(preceding)
    # arrays of lanes, then of links, then of samples
    return TownLanes(
        key=np.array(keys, np.int32),
        kind=kinds,
        junction=np.array([network.roads[key[0]].junction for key in keys], np.int32),
        first=first,
        count=count,
        length=station[first + count - 1],
        speed_limit=np.array(
            [
                _find_speed_limit(network.roads[key[0]], record)
                for key, record in zip(keys, records, strict=True)
            ]
        ),
        left=_find_lane_neighbours(keys, kinds, index, inward=True),
        right=_find_lane_neighbours(keys, kinds, index, inward=False),
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


def _compute_stations(points: Floats, first: Int32s) -> Floats:
    steps = np.concatenate([[0.0], np.linalg.norm(np.diff(points, axis=0), axis=1)])
    steps[first] = 0.0
    total = np.cumsum(steps)
    owner = np.searchsorted(first, np.arange(len(points)), side="right") - 1
    station: Floats = total - total[first][owner]
    return station


def _find_speed_limit(road: RoadRecord, record: LaneRecord) -> float:
    for speeds in (record.speeds, road.speeds):
        if speeds:
            return min(speeds)[1]
    return DEFAULT_SPEED


def _find_lane_neighbours(
    keys: list[LaneKey], kinds: Bytes, index: dict[LaneKey, int], *, inward: bool
) -> Int32s:
    neighbours = np.full(len(keys), -1, np.int32)
    for lane, (road, section, lane_id) in enumerate(keys):
        step = (1 if lane_id < 0 else -1) * (1 if inward else -1)
        other = index.get((road, section, lane_id + step), -1)
        if other >= 0 and kinds[other] == kinds[lane]:
            neighbours[lane] = other
    return neighbours


def _pack_lists(lists: list[list[int]]) -> tuple[Int32s, Int32s, Int32s]:
    count = np.array([len(items) for items in lists], np.int32)
    first = (np.cumsum(count) - count).astype(np.int32)
    return first, count, np.array([item for items in lists for item in items], np.int32)
