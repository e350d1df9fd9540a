"""The towns of our own, as the real `carla.Map` reads them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from xml.etree import ElementTree

import carla
import pytest

from harness.authoring import checks, seeded
from harness.authoring.build import build_document
from harness.authoring.plan import TownPlan
from harness.authoring.seeded import format_development_name
from harness.authoring.writing import format_opendrive
from tools.authoring import shipped_towns as authoring

SHIPPED = sorted(authoring.PLANS)
SEEDED = {format_development_name(seed, {}): seed for seed in (1, 4)}
every_town = pytest.mark.parametrize("name", [*SHIPPED, *SEEDED])
MINIMUM = {"Crucible05": (2000.0, 15)}


@cache
def plan_of(name: str) -> TownPlan:
    if name in authoring.PLANS:
        return authoring.PLANS[name]
    return seeded.make_town_plan(SEEDED[name], name, seeded.sample_town_parameters(SEEDED[name]))


@cache
def text_of(name: str) -> str:
    if name in SEEDED:
        return format_opendrive(build_document(plan_of(name)))
    return (authoring.DATA / f"{name}.xodr").read_text(encoding="utf-8")


@cache
def map_of(name: str) -> carla.Map:
    return carla.Map(name, text_of(name))


@cache
def xml_of(name: str) -> ElementTree.Element:
    return ElementTree.fromstring(text_of(name))


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHIPPED)
def test_checked_in_file_equals_a_fresh_build(name: str) -> None:
    assert authoring.write_town_opendrive(name) == text_of(name)
    assert len(text_of(name)) < 1_500_000


@pytest.mark.thorough
@every_town
def test_the_client_reads_it_without_a_word(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    carla.Map(name, text_of(name))
    assert capfd.readouterr() == ("", "")


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHIPPED)
def test_it_can_be_driven(name: str) -> None:
    """Towns from seeds pass these checks and more in `test_seeded`."""
    assert not checks.list_faults(checks.load_subject(name, text_of(name)), checks.DRIVABLE)


@every_town
def test_only_turn_pockets_lack_a_way_in(name: str) -> None:
    topology = map_of(name).get_topology()
    entered = {(b.road_id, b.section_id, b.lane_id) for _, b in topology}
    for waypoint, _ in topology:
        if (waypoint.road_id, waypoint.section_id, waypoint.lane_id) not in entered:
            neighbour = waypoint.next(2.0)[0]
            assert "Right" in str(neighbour.lane_change) or "Both" in str(neighbour.lane_change)
            assert neighbour.get_right_lane().lane_id * neighbour.lane_id > 0


@pytest.mark.thorough
@every_town
def test_size(name: str) -> None:
    length, junctions = MINIMUM.get(name, (1000.0, 6))
    streets = [road for road in xml_of(name).iter("road") if road.get("junction") == "-1"]
    assert sum(float(road.get("length", "0")) for road in streets) >= length
    assert len(list(xml_of(name).iter("junction"))) >= junctions
    reach = [w.transform.location for w in map_of(name).generate_waypoints(5.0)]
    assert max(p.x for p in reach) - min(p.x for p in reach) < 500
    assert max(p.y for p in reach) - min(p.y for p in reach) < 500


@every_town
def test_lane_changes_only_between_lanes_of_one_direction(name: str) -> None:
    allowed = 0
    for waypoint in map_of(name).generate_waypoints(5.0):
        change = str(waypoint.lane_change)
        if waypoint.is_junction:
            assert change == "NONE"
        for side, neighbour in (
            ("Left", waypoint.get_left_lane()),
            ("Right", waypoint.get_right_lane()),
        ):
            if change in {side, "Both"}:
                allowed += 1
                assert neighbour is not None
                assert neighbour.lane_type == carla.LaneType.Driving
                assert neighbour.lane_id * waypoint.lane_id > 0
    widest = max(street.profile.lanes for street in plan_of(name).streets)
    assert (allowed > 0) == (widest > 1)


@every_town
def test_lights_signs_and_crosswalks_are_there(name: str) -> None:
    plan = plan_of(name)
    landmarks = Counter(landmark.type for landmark in map_of(name).get_all_landmarks())
    lit = sum(node.control is authoring.JunctionControl.LIGHTS for node in plan.nodes.values())
    assert landmarks["1000001"] >= 3 * lit > 0
    assert landmarks["206"] + landmarks["205"] > 0
    assert landmarks["274"] > 0
    corners = map_of(name).get_crosswalks()
    painted = Counter(thing.get("name") for thing in xml_of(name).iter("object"))
    assert len(corners) // 5 == painted["SimpleCrosswalk"] >= 3 * len(plan.nodes)
    assert painted["StopLine"] >= 3 * lit
    for place in range(0, len(corners), 5):
        assert corners[place].distance(corners[place + 4]) < 1e-3


@every_town
def test_every_light_belongs_to_one_phase(name: str) -> None:
    root = xml_of(name)
    lights = Counter(s.get("id") for s in root.iter("signal") if s.get("type") == "1000001")
    assert Counter(c.get("signalId") for c in root.iter("control")) == lights
    timed = Counter(c.get("id") for j in root.iter("junction") for c in j.iter("controller"))
    assert timed == Counter(c.get("id") for c in root.findall("controller"))


@every_town
def test_a_driver_meets_the_light_just_before_the_junction(name: str) -> None:
    met = set()
    for waypoint in map_of(name).generate_waypoints(4.0):
        for landmark in waypoint.get_landmarks_of_type(8.0, "1000001", stop_at_junction=True):
            met.add(landmark.id)
            assert landmark.waypoint.next(2.0)[0].is_junction
    lights = {mark.id for mark in map_of(name).get_all_landmarks_of_type("1000001")}
    assert met == lights


@every_town
def test_sidewalks_go_round_every_corner(name: str) -> None:
    corners = 0
    for road in xml_of(name).iter("road"):
        if road.get("junction") != "-1":
            continue
        length = float(road.get("length", "0"))
        sections = road.findall("lanes/laneSection")
        for section, side, station in (
            (sections[0], "left", 0.5),
            (sections[-1], "right", length - 0.5),
        ):
            (walk,) = section.findall(f"{side}/lane[@type='sidewalk']")
            place = int(road.get("id", "0")), int(walk.get("id", "0")), station
            (onward,) = map_of(name).get_waypoint_xodr(*place).next(1.0)
            assert onward.is_junction
            assert onward.lane_type == carla.LaneType.Sidewalk
            corners += 1
    assert corners == 2 * len(plan_of(name).streets)
