"""Speed limits from signs, for maps whose road records do not mean what is posted.

RoadRunner, which drew CARLA's towns, writes one speed per road type; CARLA itself ignores it and
goes by the signs a vehicle has passed. So do we, as far as one limit per lane can: a lane takes
the sign that counts for most of it, and hands the last one on to the lanes that follow.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from harness.carlite.towns.model import LaneStopLine, TownLanes, TownSignal
from harness.carlite.towns.network import OpendriveNetwork

GOES_BY_SIGNS = "VectorZero"
SIGN = "traffic.speed_limit."
UNPOSTED = 30 / 3.6


def apply_posted_limits(
    network: OpendriveNetwork, lanes: TownLanes, signals: Iterable[TownSignal]
) -> TownLanes:
    """Return the lanes with the limits the signs post, where the map goes by signs."""
    if network.vendor != GOES_BY_SIGNS:
        return lanes
    limit = np.full_like(lanes.speed_limit, UNPOSTED)
    waiting: list[tuple[float, int, float]] = []
    # lanes with signs: the limit that holds on the longest stretch of the lane
    for lane, signs in sorted(_group_signs_by_lane(lanes, signals).items()):
        ends = [station for station, _ in signs[1:]] + [float(lanes.length[lane])]
        limit[lane] = max((end - sign[0], sign[1]) for sign, end in zip(signs, ends, strict=True))[
            1
        ]
        last_station, last = signs[-1]
        waiting += [
            (ends[-1] - last_station, ahead, last) for ahead in _list_lanes_ahead(lanes, lane)
        ]
        waiting.append((0.0, lane, float(limit[lane])))
    heapq.heapify(waiting)
    settled: set[int] = set()
    # beyond them the nearest sign behind counts, along the way (Dijkstra)
    while waiting:
        distance, lane, speed = heapq.heappop(waiting)
        if lane in settled:
            continue
        settled.add(lane)
        limit[lane] = speed
        beyond = distance + float(lanes.length[lane])
        if distance > 0.0:
            for ahead in _list_lanes_ahead(lanes, lane):
                heapq.heappush(waiting, (beyond, ahead, speed))
    return replace(lanes, speed_limit=limit)


def _group_signs_by_lane(
    lanes: TownLanes, signals: Iterable[TownSignal]
) -> dict[int, list[tuple[float, float]]]:
    """Return (station, limit) of the signs along each lane, in order of travel."""
    limits: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for signal in signals:
        if signal.type_id.startswith(SIGN):
            limit = float(signal.type_id.removeprefix(SIGN)) / 3.6
            for line in signal.stop_lines:
                limits[line.lane].append((_find_sign_station(lanes, line), limit))
    return {lane: sorted(signs) for lane, signs in limits.items()}


def _find_sign_station(lanes: TownLanes, line: LaneStopLine) -> float:
    span = slice(lanes.first[line.lane], lanes.first[line.lane] + lanes.count[line.lane])
    distances = np.linalg.norm(lanes.points[span] - np.array(line.position), axis=1)
    return float(lanes.station[span][distances.argmin()])


def _list_lanes_ahead(lanes: TownLanes, lane: int) -> list[int]:
    following: list[int] = lanes.next[lanes.next_first[lane] :][: lanes.next_count[lane]].tolist()
    return following
