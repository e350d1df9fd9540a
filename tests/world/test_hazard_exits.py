"""Crossings where the ego's lane is not at the kerb, and past a junction in which it turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Pose, Route
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.parameters import Value
from harness.world.hazards.sight import SightApproach
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.roads import RoadNetwork
from harness.world.routes.scenarios import classify_turn, list_route_junctions
from tests.world.town_maps import roads

KINDS = ("occluded_cyclist", "occluded_pedestrian")


def turning(network: RoadNetwork, turn: str, count: int) -> Iterator[tuple[Track, int, int]]:
    """Yield routes through a junction that turn so, and the junction's first and last row."""
    town = network.map.name.rsplit("/", 1)[-1]
    for number, (start, _) in enumerate(network.map.get_topology()):
        ahead = start.next(90.0) if not start.is_junction else []
        for goal in (waypoint for waypoint in ahead if not waypoint.is_junction):
            places = [start.transform.location, goal.transform.location]
            try:
                route = network.find_route(str(number), town, places)
            except UserError:
                continue
            for first, last in list_route_junctions(route):
                room = first > 30.0 and last < route.length - 25.0 and route.length < 130.0
                if room and classify_turn(route, first, last) == turn:
                    yield Track(network.map, route), first, last
                    count -= 1
                    break
        if count <= 0:
            return


def middle(route: Route, first: int, last: int) -> float:
    return float(route.station[(first + last) // 2])


@pytest.mark.thorough
@pytest.mark.parametrize("town", ["Crucible05", "Town05"])
@pytest.mark.parametrize("turn", ["left", "right"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_turn_has_a_plan(town: str, turn: str, kind: str) -> None:
    tried = hidden = 0
    for track, first, last in turning(roads(town), turn, 8):
        hazard = build_hazard(
            HazardSpec(route="0", kind=kind, station=middle(track.route, first, last))
        )
        assert isinstance(hazard, Encounter)
        plan = next(iter(hazard.plans(track)), None)
        assert plan is not None, (track.route.name, first, last)
        assert not track.is_on_road(plan.mover.course.start)
        for occluder in plan.standing:
            station, _ = track.project_points(_xy(occluder.pose))
            assert not track.is_in_junction(float(station))
        if plan.standing and turn == "left":
            assert plan.meeting.station > track.route.station[last]
        tried, hidden = tried + 1, hidden + bool(plan.standing)
    assert tried >= 4
    assert hidden >= tried / 2


def test_where_the_route_ends_past_the_junction_nothing_hides_the_start() -> None:
    track, first, last = next(turning(roads("Crucible05"), "left", 1))
    route = track.route
    short = Route(
        name=route.name,
        town=route.town,
        **{name: getattr(route, name)[: last + 5] for name in COLUMNS},
    )
    hazard = build_hazard(
        HazardSpec(route="0", kind="occluded_cyclist", station=middle(short, first, last))
    )
    assert isinstance(hazard, Encounter)
    plan = next(iter(hazard.plans(Track(track.map, short))))
    assert plan.standing == ()
    assert plan.meeting.station < short.length


def test_on_an_inner_lane_a_pedestrian_comes_from_behind_what_stands_in_the_next_one() -> None:
    network = roads("Crucible05")
    town, count = network.map.name.rsplit("/", 1)[-1], 0
    for start, _ in network.map.get_topology():
        ahead = start.next(70.0) if not start.is_junction else []
        if not ahead or ahead[0].lane_id != start.lane_id or ahead[0].road_id != start.road_id:
            continue
        places = [start.transform.location, ahead[0].transform.location]
        track = Track(network.map, network.find_route("0", town, places))
        if track.is_at_kerb(40.0) or track.route.lane_change.any():
            continue
        near: dict[str, Value] = {"depth": 0.6}
        spec = HazardSpec(route="0", kind="occluded_pedestrian", station=40.0, parameters=near)
        hazard = build_hazard(spec)
        assert isinstance(hazard, Encounter)
        plan = next(iter(hazard.plans(track)))
        assert SightApproach(track, plan.mover, plan.meeting).compute_reveal(plan.standing) < 4.0
        assert track.is_on_road(plan.standing[0].pose)
        count += 1
        if count == 3:
            break
    assert count


COLUMNS = ("xyz", "yaw", "station", "lane_width", "speed_limit", "in_junction", "lane_change")


def _xy(pose: Pose) -> Floats:
    return np.array([pose.x, pose.y])
