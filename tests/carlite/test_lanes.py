"""The lanes as sampled here against the client's own `carla.Map`."""

from __future__ import annotations

import math
from pathlib import Path

import carla
import numpy as np
import pytest

from harness.carlite.towns import lanes as sampling
from harness.carlite.towns import opendrive
from harness.carlite.towns.lookup import ANY, DRIVING, LaneFinder, make_lane_mask
from harness.carlite.towns.model import LaneKind, TownLanes
from tests.carlite import opendrive_samples as samples
from tests.carlite.client_map import (
    MAPS,
    TOWNS,
    check_samples,
    check_successors,
    following,
    key_of,
    loaded,
)


@pytest.mark.thorough
@pytest.mark.parametrize("name", TOWNS)
def test_samples_equal_the_clients_waypoints(name: str) -> None:
    lanes, reference = loaded(name)
    assert check_samples(lanes, reference, every=7) > 200


@pytest.mark.parametrize("name", TOWNS)
def test_successors_equal_the_clients(name: str) -> None:
    check_successors(*loaded(name))


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
    check_fitness(lanes)
    ends = lanes.first + lanes.count - 1
    for lane in np.flatnonzero(lanes.kind == LaneKind.DRIVING):
        ahead = lanes.next[lanes.next_first[lane] :][: lanes.next_count[lane]]
        gaps = np.linalg.norm(lanes.points[lanes.first[ahead]] - lanes.points[ends[lane]], axis=1)
        assert (gaps < 0.5).all(), lanes.key[lane]
        for other in ahead:
            before = lanes.previous[lanes.previous_first[other] :][: lanes.previous_count[other]]
            assert lane in before


def check_fitness(lanes: TownLanes) -> None:
    assert all(np.isfinite(a).all() for a in (lanes.points, lanes.yaw, lanes.width))
    steps = np.linalg.norm(np.diff(lanes.points, axis=0), axis=1)
    within = np.ones(len(lanes.points) - 1, bool)
    within[lanes.first[1:] - 1] = False
    assert steps[within].min() > 5e-4
    assert steps[within].max() < 1.001
    assert (lanes.count >= 2).all()
    assert (lanes.yaw > -math.pi).all()
    assert (lanes.yaw <= math.pi).all()
    ends = lanes.first + lanes.count - 1
    np.testing.assert_allclose(lanes.station[ends], lanes.length)
    assert (lanes.station[lanes.first] == 0).all()


def test_lanes_too_short_to_drive_are_passed_through() -> None:
    """A section of 4 mm in the middle of a road is left out; its neighbours join."""
    along = [(0.0, 40.0), (40.0, 40.004), (40.004, 80.0)]
    through = '<predecessor id="-1"/><successor id="-1"/>'
    sections = "".join(samples.section([samples.lane(-1, link=through)], s) for s, _ in along)
    plan = samples.geometry(0.0, 0.0, 0.0, 0.0, 80.0, "<line/>")
    lanes = sampling.build_lanes(
        opendrive.parse_opendrive(samples.document(samples.road(1, 80.0, plan, sections)))
    )
    assert lanes.key.tolist() == [[1, 0, -1], [1, 2, -1]]
    assert following(lanes, 0) == {(1, 2, -1)}
    check_fitness(lanes)


def test_lanes_that_jump_aside_are_bridged() -> None:
    """As on road 714 of Town06; before and after the jump samples equal the client's waypoints."""
    offset = (
        '<laneOffset s="0" a="8.1" b="0" c="0" d="0"/>'
        '<laneOffset s="8.34" a="11" b="0" c="0" d="0"/>'
    )
    plan = samples.geometry(0.0, 0.0, 0.0, 0.0, 20.0, "<line/>")
    row = samples.section([samples.lane(1), samples.lane(-1)])
    text = samples.document(samples.road(1, 20.0, plan, row, offset=offset))
    lanes = sampling.build_lanes(opendrive.parse_opendrive(text))
    check_fitness(lanes)
    reference = carla.Map("jump", text)
    for lane, key in enumerate(lanes.key.tolist()):
        rows = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        s, points = lanes.road_s[rows], lanes.points[rows]
        for at, point in zip(s[1:-1], points[1:-1], strict=True):
            if not 7.3 < at < 9.4:
                place = reference.get_waypoint_xodr(key[0], key[2], float(at)).transform.location
                assert math.dist((place.x, place.y), point[:2]) < 1e-3
        # the samples between lead straight across
        assert np.ptp(points[:, 0]) == pytest.approx(20.0, abs=1e-3)
        assert lanes.length[lane] == pytest.approx(20.0 + 2.9, abs=1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [f"Town0{number}" for number in range(1, 8)] + ["Town10HD"])
def test_every_town_of_carla_has_lanes(name: str) -> None:
    path = Path(MAPS or "") / f"{name}.xodr"
    if MAPS is None or not path.exists():
        pytest.skip(f"CRUCIBLE_MAPS names no folder with {path.name}")
    check_fitness(sampling.build_lanes(opendrive.parse_opendrive(path.read_text("utf-8"))))


def test_the_inside_of_a_hairpin_has_no_segments_of_no_length() -> None:
    """A lane whose centre is also the centre of the curve has nowhere to go."""
    radius = samples.LANE / 2
    length = math.pi * radius
    plan = samples.geometry(0.0, 0.0, 0.0, 0.0, length, f'<arc curvature="{-1 / radius!r}"/>')
    text = samples.document(samples.road(1, length, plan, samples.section([samples.lane(-1)])))
    check_fitness(sampling.build_lanes(opendrive.parse_opendrive(text)))


def test_lanes_that_taper_to_nothing_stay_finite() -> None:
    taper = '<width sOffset="0" a="0" b="0.07" c="0" d="0"/>'
    plan = samples.geometry(0.0, 0.0, 0.0, 0.0, 50.0, "<line/>")
    row = samples.section([samples.lane(-1), samples.lane(-2, width=taper)])
    text = samples.document(samples.road(1, 50.0, plan, row))
    lanes = sampling.build_lanes(opendrive.parse_opendrive(text))
    check_fitness(lanes)
    assert lanes.width.min() == pytest.approx(0.0, abs=1e-6)
    check_samples(lanes, carla.Map("taper", text), every=3)


def test_speed_limits_are_read_in_every_unit() -> None:
    def limit(speed: str) -> float:
        plan = samples.geometry(0.0, 0.0, 0.0, 0.0, 50.0, "<line/>")
        row = samples.section([samples.lane(-1)])
        text = samples.document(samples.road(1, 50.0, plan, row, speed=speed))
        return float(sampling.build_lanes(opendrive.parse_opendrive(text)).speed_limit[0])

    assert limit('<speed max="36" unit="km/h"/>') == pytest.approx(10.0)
    assert limit('<speed max="25" unit="mph"/>') == pytest.approx(11.176)
    assert limit('<speed max="12.5"/>') == pytest.approx(12.5)
    assert limit("") == pytest.approx(50 / 3.6)
    assert limit('<speed max="no limit"/>') == pytest.approx(50 / 3.6)


def nearest_of_all_segments(lanes: TownLanes, point: np.ndarray, kinds: int) -> float:
    """Return the distance to the nearest lane, by looking at every segment."""
    lane = np.repeat(np.arange(len(lanes.first)), lanes.count)
    wanted = (kinds >> lanes.kind[lane[:-1]].astype(int)) & 1 == 1
    start = np.flatnonzero((lane[:-1] == lane[1:]) & wanted)
    a, b = lanes.points[start], lanes.points[start + 1]
    along = b - a
    t = ((point[:2] - a[:, :2]) * along[:, :2]).sum(1) / (along[:, :2] ** 2).sum(1)
    return float(np.linalg.norm(a + np.clip(t, 0, 1)[:, None] * along - point, axis=1).min())


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["Crucible05", "CrucibleRing", "Town05"])
@pytest.mark.parametrize(
    "kinds", [DRIVING, ANY, make_lane_mask(LaneKind.SIDEWALK, LaneKind.PARKING)]
)
def test_the_nearest_lane_is_the_nearest(name: str, kinds: int) -> None:
    lanes, _ = loaded(name)
    finder = LaneFinder(lanes)
    rng = np.random.default_rng(5)
    near = lanes.points[rng.integers(0, len(lanes.points), 60)] + rng.normal(0, 3, (60, 3))
    points = np.vstack([near, rng.uniform(-800, 800, (20, 3)) * [1, 1, 0]])
    for point in points:
        x, y, z = (float(v) for v in point)
        lane, station, lateral = finder.find_nearest_lane(x, y, z, kinds=kinds)
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        foot = [np.interp(station, lanes.station[span], lanes.points[span, k]) for k in range(3)]
        distance = float(np.linalg.norm(point - foot))
        assert distance == pytest.approx(nearest_of_all_segments(lanes, point, kinds), abs=1e-6)
        if np.abs(lanes.station[span] - station).min() > 1e-9:  # next to a segment, not at a corner
            assert abs(lateral) == pytest.approx(math.dist(point[:2], foot[:2]), abs=1e-6)


def test_lateral_counts_to_the_right_and_heading_settles_doubt() -> None:
    lanes = sampling.build_lanes(opendrive.parse_opendrive(samples.crossing()))
    finder = LaneFinder(lanes)
    east_arm = finder.find_nearest_lane(
        40.0, -2.75, 0.0
    )  # westbound traffic keeps to the north, y < 0
    assert lanes.key[east_arm[0]].tolist() == [0, 0, -1]
    assert east_arm[2] == pytest.approx(1.0, abs=1e-6)
    for heading in (0.0, math.pi / 2, math.pi, -math.pi / 2):
        lane, station, _ = finder.find_nearest_lane(0.0, 0.0, 0.0, yaw=heading)
        index = lanes.first[lane] + int(
            np.searchsorted(lanes.station[lanes.first[lane] :][: lanes.count[lane]], station)
        )
        assert math.cos(lanes.yaw[index] - heading) > 0.7


def test_no_lane_of_that_kind_is_said_so() -> None:
    finder = LaneFinder(sampling.build_lanes(opendrive.parse_opendrive(samples.straight_road())))
    assert finder.find_nearest_lane(0.0, 0.0, 0.0, kinds=make_lane_mask(LaneKind.BIKING))[0] == -1
