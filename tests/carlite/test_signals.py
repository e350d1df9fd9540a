"""Lights and signs: the client's landmarks, their trigger boxes, their cycles."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import lru_cache

import carla
import numpy as np
import pytest

from harness.carlite.towns import lanes as sampling
from harness.carlite.towns import limits, list_designed_towns, load_town, opendrive, signals
from harness.carlite.towns.model import LaneKind, TownLanes, TownSignal
from tests.carlite import opendrive_samples as samples
from tests.carlite.client_map import TOWNS, angle_between, loaded

pytestmark = pytest.mark.thorough

LIGHT = "traffic.traffic_light"
Posts = tuple[TownSignal, ...]


def read(text: str) -> tuple[TownLanes, Posts]:
    network = opendrive.parse_opendrive(text)
    lanes = sampling.build_lanes(network)
    return lanes, signals.build_signals(network, lanes)


@lru_cache(maxsize=8)
def posts_of(name: str) -> tuple[TownLanes, Posts, carla.Map]:
    return *read(load_town(name, None).opendrive), loaded(name)[1]


def lights_of(posts: Posts) -> Posts:
    return tuple(post for post in posts if post.type_id == LIGHT)


def trigger_in_world(post: TownSignal) -> tuple[float, float, float]:
    (x, y, z), (u, v, w) = post.position, post.trigger_centre
    cos, sin = math.cos(post.yaw), math.sin(post.yaw)
    return x + u * cos - v * sin, y + u * sin + v * cos, z + w


@pytest.mark.parametrize("name", TOWNS)
def test_signals_are_the_clients_landmarks(name: str) -> None:
    """Same ids, kinds and poses; the client moves a few speed limit signs aside by itself."""
    _, posts, reference = posts_of(name)
    landmarks = {landmark.id: landmark for landmark in reference.get_all_landmarks()}
    twins = {"433"} if name == "Town01" else set()
    assert {post.id for post in posts} == set(landmarks) - twins
    kinds = {"1000001": LIGHT, "206": "traffic.stop", "205": "traffic.yield"}
    for post in posts:
        landmark = landmarks[post.id]
        kind = kinds.get(landmark.type, f"traffic.speed_limit.{landmark.sub_type}")
        if landmark.type not in {"1000001", "206", "205", "274"}:
            kind = LIGHT
        assert post.type_id == kind
        pose = landmark.transform
        moved = math.dist(post.position[:2], (pose.location.x, pose.location.y))
        assert moved < (3.0 if "speed" in post.type_id else 0.02)
        if moved < 0.02:
            assert abs(post.position[2] - pose.location.z) < 0.03
            quarter = math.radians(pose.rotation.yaw) + math.pi / 2
            assert angle_between(post.yaw, quarter) < 1e-3
        assert -math.pi < post.yaw <= math.pi


@pytest.mark.parametrize("name", TOWNS)
def test_lights_hold_the_lanes_that_lead_into_their_junction(name: str) -> None:
    lanes, posts, reference = posts_of(name)
    assert lights_of(posts)
    for post in lights_of(posts):
        assert post.stop_lines
        junctions = set()
        for line in post.stop_lines:
            assert lanes.kind[line.lane] == LaneKind.DRIVING
            assert lanes.junction[line.lane] == -1
            ahead = lanes.next[lanes.next_first[line.lane] :][: lanes.next_count[line.lane]]
            junctions |= set(lanes.junction[ahead].tolist())
            end = lanes.points[lanes.first[line.lane] + lanes.count[line.lane] - 1]
            assert math.dist(line.position, end) < 1e-6
            x, y, z = line.position
            just_beyond = carla.Location(x + math.cos(line.yaw), y + math.sin(line.yaw), z)
            assert reference.get_waypoint(just_beyond).is_junction
        assert len(junctions) == 1
        assert -1 not in junctions


@pytest.mark.parametrize("name", TOWNS)
def test_trigger_boxes_lie_across_the_incoming_lanes(name: str) -> None:
    """Where the client's agents look: the box's middle, and points along its x axis."""
    lanes, posts, reference = posts_of(name)
    for post in lights_of(posts):
        held = {tuple(lanes.key[line.lane, [0, 2]].tolist()) for line in post.stop_lines}
        assert all(abs(math.cos(post.yaw - line.yaw)) < 0.35 for line in post.stop_lines)
        x, y, z = trigger_in_world(post)
        seen = set()
        reach = post.trigger_extent[0]
        for along in (0.0, *np.arange(-reach + 0.1, reach, 0.5).tolist()):
            at = carla.Location(x + along * math.cos(post.yaw), y + along * math.sin(post.yaw), z)
            waypoint = reference.get_waypoint(at)
            assert not waypoint.is_junction
            seen.add((waypoint.road_id, waypoint.lane_id))
        assert held <= seen
        assert len({road for road, _ in seen}) == 1


@pytest.mark.parametrize("name", TOWNS)
def test_every_junctions_lights_take_turns(name: str) -> None:
    """In our own towns, lights that are green together face the same way or opposite ways."""
    _, posts, _ = posts_of(name)
    groups = defaultdict(set)
    for post in lights_of(posts):
        groups[post.group].add(post.phase)
    for phases in groups.values():
        assert phases == set(range(len(phases)))
    assert set(groups) == set(range(len(groups)))
    assert all(post.group == -1 for post in posts if post.type_id != LIGHT)
    for a in lights_of(posts):
        for b in lights_of(posts):
            if (a.group, a.phase) == (b.group, b.phase) and name in list_designed_towns():
                across = angle_between(2 * a.stop_lines[0].yaw, 2 * b.stop_lines[0].yaw) / 2
                assert across < math.radians(50), (a.id, b.id)


def test_controllers_make_the_phases() -> None:
    _, posts = read(samples.crossing())
    assert {post.id: (post.group, post.phase) for post in posts} == {
        "500": (0, 0),
        "501": (0, 1),
        "502": (0, 0),
        "503": (0, 1),
    }


def test_the_last_controller_can_be_the_first_phase() -> None:
    network = opendrive.parse_opendrive(samples.crossing())
    posts = signals.build_signals(network, sampling.build_lanes(network), last_phase_first=True)
    assert {post.id: post.phase for post in posts} == {"500": 1, "501": 0, "502": 1, "503": 0}


def test_town01_begins_with_the_lights_and_signs_that_carla_recorded() -> None:
    """CARLA 0.9.13's own recorder: 12 junctions of three lights, and 21 speed limits."""
    posts = load_town("Town01", None).signals
    first = {
        "360", "364", "367", "371", "374", "375", "379", "383", "384", "389", "390", "395",
    }  # fmt: skip
    second = {
        "361", "363", "368", "370", "372", "377", "378", "381", "385", "387", "392", "394",
    }  # fmt: skip
    assert {post.id for post in lights_of(posts) if post.phase == 0} == first
    assert {post.id for post in lights_of(posts) if post.phase == 1} == second
    assert len(lights_of(posts)) == 36
    limits_of = [post.type_id.split(".")[-1] for post in posts if "speed" in post.type_id]
    assert Counter(limits_of) == {"30": 11, "60": 5, "90": 5}


def test_without_controllers_opposite_approaches_go_together() -> None:
    _, posts = read(samples.crossing(controllers=False))
    phase = {post.id: (post.group, post.phase) for post in posts}
    assert phase["500"] == phase["502"]
    assert phase["501"] == phase["503"]
    assert phase["500"] != phase["501"]
    assert {group for group, _ in phase.values()} == {0}


LIGHT_CODES = [*(f"10000{n:02d}" for n in (1, 2, *range(7, 21))), "F", "W", "A"]


@pytest.mark.parametrize("code", LIGHT_CODES)
def test_every_code_of_a_light_is_a_light(code: str) -> None:
    _, posts = read(samples.crossing(light_type=code))
    assert [post.type_id for post in posts] == [LIGHT] * 4
    assert all(len(post.stop_lines) == 1 for post in posts)


@pytest.mark.parametrize(
    ("code", "subtype", "kind"),
    [
        ("206", "-1", "traffic.stop"),
        ("205", "-1", "traffic.yield"),
        ("274", "30", "traffic.speed_limit.30"),
        ("274", "90", "traffic.speed_limit.90"),
    ],
)
def test_signs_hold_the_lanes_they_face(code: str, subtype: str, kind: str) -> None:
    text = samples.crossing(light_type=code).replace('subtype="-1"', f'subtype="{subtype}"')
    lanes, posts = read(text)
    assert [post.type_id for post in posts] == [kind] * 4
    for arm, post in enumerate(posts):
        assert [lanes.key[line.lane].tolist() for line in post.stop_lines] == [[arm, 0, -1]]
        assert (post.group, post.phase) == (-1, 0)


def test_other_signs_are_left_alone() -> None:
    _, posts = read(samples.crossing(light_type="101"))
    assert posts == ()


def test_a_reference_inside_the_junction_stops_traffic_before_it() -> None:
    text = samples.crossing()
    inside = '<signals><signalReference id="500" s="3" t="0" orientation="-"/></signals>'
    head, tail = text.split('<road name="" length="24.0" id="120"')
    body, rest = tail.split("</road>", 1)
    text = f'{head}<road name="" length="24.0" id="120"{body}{inside}</road>{rest}'
    lanes, posts = read(text)
    held = {tuple(lanes.key[line.lane].tolist()) for line in posts[0].stop_lines}
    assert held == {(0, 0, -1), (2, 0, -1)}


def test_maps_made_in_roadrunner_go_by_their_signs() -> None:
    """A sign's limit holds from its lane on, until the next sign."""
    text = samples.crossing(light_type="274").replace('subtype="-1"', 'subtype="90"', 1)
    text = text.replace('subtype="-1"', 'subtype="40"')

    def limit(text: str, key: tuple[int, int, int]) -> float:
        network = opendrive.parse_opendrive(text)
        lanes = sampling.build_lanes(network)
        lanes = limits.apply_posted_limits(network, lanes, signals.build_signals(network, lanes))
        lane = lanes.key.tolist().index(list(key))
        return float(lanes.speed_limit[lane]) * 3.6

    assert limit(text, (1, 0, -1)) == pytest.approx(50)
    text = text.replace('vendor="sample"', 'vendor="VectorZero"')
    assert limit(text, (1, 0, -1)) == pytest.approx(40)
    assert limit(text, (0, 0, -1)) == pytest.approx(90)
    assert limit(text, (102, 0, -1)) == pytest.approx(90)
    assert limit(text, (132, 0, -1)) == pytest.approx(40)
