"""The lanes as sampled here against the client's own `carla.Map`."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path

import carla
import numpy as np
import pytest

from harness.carlite.towns import lanes as sampling
from harness.carlite.towns import opendrive
from harness.carlite.towns.model import LaneKind, Lanes

DATA = Path(opendrive.__file__).parent / "data"
MAPS = os.environ.get("CRUCIBLE_MAPS")
CARLA_TOWNS = ("Town01", "Town02", "Town05")
Key = tuple[int, int, int]


def town_file(name: str) -> Path:
    if name not in CARLA_TOWNS:
        return DATA / f"{name}.xodr"
    if MAPS is None:
        pytest.skip("CRUCIBLE_MAPS is not set: CARLA's own towns are not checked")
    return Path(MAPS) / f"{name}.xodr"


@lru_cache(maxsize=4)
def loaded(name: str) -> tuple[Lanes, carla.Map]:
    text = town_file(name).read_text(encoding="utf-8")
    return sampling.build(opendrive.parse(text)), carla.Map(name, text)


TOWNS = [*CARLA_TOWNS, *sorted(path.stem for path in DATA.glob("*.xodr"))]


def key_of(waypoint: carla.Waypoint) -> Key:
    return waypoint.road_id, waypoint.section_id, waypoint.lane_id


def angle_between(a: float, b: float) -> float:
    return abs((a - b + math.pi) % (2 * math.pi) - math.pi)


def following(lanes: Lanes, lane: int) -> set[Key]:
    first, count = lanes.next_first[lane], lanes.next_count[lane]
    return {tuple(lanes.key[other].tolist()) for other in lanes.next[first : first + count]}


@pytest.mark.parametrize("name", TOWNS)
def test_samples_equal_the_clients_waypoints(name: str) -> None:
    lanes, reference = loaded(name)
    lane_at = {tuple(key): lane for lane, key in enumerate(lanes.key.tolist())}
    checked = 0
    for lane, (road, section, lane_id) in enumerate(lanes.key.tolist()):
        first, last = lanes.first[lane], lanes.first[lane] + lanes.count[lane] - 1
        ends = lanes.road_s[[first, last]]
        for point in range(first, last + 1, 7):
            s = float(lanes.road_s[point])
            if np.abs(ends - s).min() < 2e-3:
                continue
            waypoint = reference.get_waypoint_xodr(road, lane_id, s)
            assert waypoint.section_id == section
            place, turn = waypoint.transform.location, waypoint.transform.rotation
            gap = np.array([place.x, place.y, place.z]) - lanes.points[point]
            assert np.abs(gap).max() < 0.001, (road, lane_id, s)
            assert angle_between(math.radians(turn.yaw), lanes.yaw[point]) < 1e-5
            assert abs(waypoint.lane_width - lanes.width[point]) < 1e-5
            assert waypoint.junction_id == lanes.junction[lane]
            change = int(waypoint.lane_change)
            assert lanes.change[point] == (change >> 1 & 1) | (change & 1) << 1
            for neighbour, beside in (
                (lanes.left[lane], waypoint.get_left_lane()),
                (lanes.right[lane], waypoint.get_right_lane()),
            ):
                same = (
                    beside is not None
                    and beside.lane_type == waypoint.lane_type
                    and (beside.lane_id > 0) == (lane_id > 0)
                )
                assert neighbour == (lane_at[key_of(beside)] if same else -1)
            checked += 1
    assert checked > 200


@pytest.mark.parametrize("name", TOWNS)
def test_successors_equal_the_clients(name: str) -> None:
    lanes, reference = loaded(name)
    inside = 5e-3
    for lane, (road, _, lane_id) in enumerate(lanes.key.tolist()):
        end = lanes.road_s[lanes.first[lane] + lanes.count[lane] - 1]
        s = float(end + (inside if lane_id > 0 else -inside))
        waypoint = reference.get_waypoint_xodr(road, lane_id, s)
        assert following(lanes, lane) == {key_of(ahead) for ahead in waypoint.next(2 * inside)}


@pytest.mark.parametrize("name", TOWNS)
def test_topology_equals_the_clients(name: str) -> None:
    lanes, reference = loaded(name)
    mine = {
        (tuple(lanes.key[lane].tolist()), ahead)
        for lane in np.flatnonzero(lanes.kind == LaneKind.DRIVING).tolist()
        for ahead in following(lanes, lane)
    }
    assert mine == {(key_of(a), key_of(b)) for a, b in reference.get_topology()}


@pytest.mark.parametrize("name", TOWNS)
def test_samples_are_fit_to_drive_on(name: str) -> None:
    lanes, _ = loaded(name)
    assert all(np.isfinite(a).all() for a in (lanes.points, lanes.yaw, lanes.width))
    steps = np.linalg.norm(np.diff(lanes.points, axis=0), axis=1)
    within = np.ones(len(lanes.points) - 1, bool)
    within[lanes.first[1:] - 1] = False
    assert steps[within].min() > 5e-4
    assert steps[within].max() < 1.001
    assert (lanes.count >= 2).all()
    ends = lanes.first + lanes.count - 1
    for lane in np.flatnonzero(lanes.kind == LaneKind.DRIVING):
        ahead = lanes.next[lanes.next_first[lane] :][: lanes.next_count[lane]]
        gaps = np.linalg.norm(lanes.points[lanes.first[ahead]] - lanes.points[ends[lane]], axis=1)
        assert (gaps < 0.5).all(), lanes.key[lane]
        for other in ahead:
            before = lanes.previous[lanes.previous_first[other] :][: lanes.previous_count[other]]
            assert lane in before
