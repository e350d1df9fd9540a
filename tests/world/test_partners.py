"""Who shares with the ego: the unit ahead, units at corners, vehicles nearby."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import carla
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types.vocabulary import Pose
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.ego import EgoVehicle
from harness.world.equipped import choose_connected, choose_corners
from harness.world.partners import Ahead, Cooperation, PartnerFleet, Surveyed, spawn_partners
from harness.world.poses import to_carla_transform
from harness.world.rig import read_rig
from harness.world.roads import RoadNetwork
from harness.world.senses import give_all
from tests.world.staging import clear_away, context_of, stand, where

PLANNING = 4
RIG = read_rig()
PLACE: dict[str, Any] = {"distance": RIG.roadside_distance, "height": RIG.roadside_height}


@pytest.fixture
def context(client: carla.Client, world: carla.World) -> AttemptContext:
    clear_away(world)
    return context_of(client, world)


@pytest.fixture
def ego(context: AttemptContext) -> Iterator[EgoVehicle]:
    ego = EgoVehicle(context)
    for _ in range(10):
        context.world.tick()
    yield ego
    ego.destroy_ego()


class Drive:
    """Carries the ego along its route and lets it plan."""

    def __init__(
        self, context: AttemptContext, ego: EgoVehicle, partners: PartnerFleet, speed: float = 8.0
    ) -> None:
        self.context, self.ego, self.partners, self.speed = context, ego, partners, speed
        self.gone = 0.0
        self.state = ego.read_state(context.world.get_snapshot())

    def plan(self) -> list[tuple[str, Pose]]:
        """Go on for a planning interval; return who shared, and from where."""
        self.partners.choose_sharing_partners(self.state, self.context.world.get_snapshot())
        self.tick()
        frame = self.state.frame
        shared = [
            (one.sender, scan.lidar_in_world)
            for one, scan in self.partners.collect_scans(frame).shared
        ]
        for _ in range(PLANNING - 1):
            self.tick()
        return shared

    def tick(self) -> None:
        self.gone += self.speed * 0.05
        route = self.context.route
        x, y, z = (float(np.interp(self.gone, route.station, route.xyz[:, n])) for n in range(3))
        pose = Pose(x, y, z + 0.02, yaw=float(route.yaw[int(self.gone)]))
        self.ego.actor.set_transform(to_carla_transform(pose))
        self.context.world.tick()
        self.state = self.ego.read_state(self.context.world.get_snapshot())


def ahead_of(ego: EgoState, pose: Pose) -> tuple[float, float]:
    """Return metres ahead and to the right of the ego."""
    here = ego.vehicle_in_world
    x, y = pose.x - here.x, pose.y - here.y
    cos, sin = math.cos(here.yaw), math.sin(here.yaw)
    return cos * x + sin * y, cos * y - sin * x


def on_the_way(
    context: AttemptContext, ego: EgoVehicle, placement: Ahead, steps: int
) -> list[list[Pose]]:
    partners = spawn_partners(
        Cooperation(roadside=placement),
        context,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=False),
        fleet=[],
    )
    drive = Drive(context, ego, partners)
    poses = [[pose for _, pose in drive.plan()] for _ in range(steps)]
    partners.destroy_posts()
    return poses


@pytest.mark.thorough
def test_the_unit_stands_ahead_on_the_right_along_the_road(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    partners = spawn_partners(
        Cooperation(roadside=Ahead(**PLACE)),
        context,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=False),
        fleet=[],
    )
    drive = Drive(context, ego, partners)
    before = drive.state
    ((sender, pose),) = drive.plan()
    partners.destroy_posts()
    forward, right = ahead_of(before, pose)
    assert sender == "roadside-0"
    assert forward == pytest.approx(12.0, abs=0.6)
    assert 1.0 < right < 15.0
    assert pose.z == pytest.approx(before.vehicle_in_world.z + 7.5, abs=0.5)
    assert math.cos(pose.yaw - before.vehicle_in_world.yaw) > 0.999


@pytest.mark.thorough
def test_never_a_planning_step_without_it(context: AttemptContext, ego: EgoVehicle) -> None:
    poses = on_the_way(context, ego, Ahead(**PLACE), 40)
    assert [len(step) for step in poses] == [1] * 40


@pytest.mark.thorough
def test_it_rests_only_when_asked(context: AttemptContext, ego: EgoVehicle) -> None:
    poses = on_the_way(context, ego, Ahead(**PLACE, rest_every=5), 10)
    assert [len(step) for step in poses] == [1, 1, 1, 1, 0] * 2


@pytest.mark.thorough
def test_it_is_moved_on_time(context: AttemptContext, ego: EgoVehicle) -> None:
    poses = on_the_way(context, ego, Ahead(**PLACE, renew_seconds=1.0, renew_when_passed=False), 20)
    x = [pose.x for (pose,) in poses]
    moved = np.flatnonzero(np.abs(np.diff(x)) > 0.5) + 1
    assert moved.tolist() == [5, 10, 15]


@pytest.mark.thorough
def test_it_is_moved_when_passed(context: AttemptContext, ego: EgoVehicle) -> None:
    poses = on_the_way(context, ego, Ahead(**PLACE, renew_seconds=1000.0), 20)
    places = {round(pose.x, 1) for (pose,) in poses}
    assert len(places) == 3  # 32 m at 12 m a time


@pytest.mark.thorough
def test_units_are_moved_not_spawned(context: AttemptContext, ego: EgoVehicle) -> None:
    before = context.world.get_actors().filter("sensor.*")
    partners = spawn_partners(
        Cooperation(roadside=Ahead(**PLACE, renew_seconds=0.2)),
        context,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=True),
        fleet=[],
    )
    drive = Drive(context, ego, partners)
    drive.plan()
    first = {actor.id for actor in context.world.get_actors().filter("sensor.*")}
    for _ in range(10):
        drive.plan()
    assert {actor.id for actor in context.world.get_actors().filter("sensor.*")} == first
    assert len(first) == len(before) + 2
    partners.destroy_posts()


@pytest.mark.thorough
def test_surveyed_units_stand_at_the_corners_in_range(
    context: AttemptContext, ego: EgoVehicle
) -> None:
    points = context.map.get_spawn_points()
    route = RoadNetwork(context.map).find_route(
        "0", "Crucible05", [points[3].location, points[100].location]
    )
    there = AttemptContext(
        client=context.client,
        world=context.world,
        map=context.map,
        traffic_manager=None,
        route=route,
        seed=1,
        tick_seconds=0.05,
    )
    partners = spawn_partners(
        Cooperation(roadside=Surveyed(RIG.roadside_height), range=70.0),
        there,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=False),
        fleet=[],
    )
    entries = int((np.diff(route.in_junction.astype(int)) == 1).sum())
    assert len(partners.units) == entries >= 5
    for share in (0.0, 0.5):
        some = Surveyed(RIG.roadside_height, share=share).spawn_units(partners.roadside_units)
        chosen = choose_corners(there, entries, share)
        assert [unit.sender for unit in some] == [
            unit.sender for unit, has_unit in zip(partners.units, chosen, strict=True) if has_unit
        ]
        for unit in some:
            unit.post.destroy_sensors()
    drive = Drive(there, ego, partners, speed=40.0)
    for _ in range(30):
        before = drive.state
        for _, pose in drive.plan():
            assert math.hypot(*ahead_of(before, pose)) <= 70.0
    partners.destroy_posts()


@given(
    st.integers(0, 2**31),
    st.integers(0, 80),
    st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
)
def test_those_of_a_small_share_are_among_those_of_a_larger_one(
    seed: int, count: int, shares: list[float]
) -> None:
    nothing: Any = None
    context = AttemptContext(
        client=nothing,
        world=nothing,
        map=nothing,
        traffic_manager=None,
        route=nothing,
        seed=seed,
        tick_seconds=0.05,
    )
    for choose in (choose_connected, choose_corners):
        few, many = (choose(context, count, share) for share in shares)
        assert not (few & ~many).any()
        assert choose(context, count, 1.0).all()
        assert not choose(context, count, 0.0).any()


def fleet_of(context: AttemptContext, ego: EgoVehicle, distances: list[float]) -> list[carla.Actor]:
    origin = where(ego.actor)
    car = "vehicle.tesla.model3"
    return [stand(context.world, car, origin, gap, 3.5, 0.0) for gap in distances]


@pytest.mark.thorough
def test_the_nearest_vehicles_share(context: AttemptContext, ego: EgoVehicle) -> None:
    fleet = fleet_of(context, ego, [30.0, 10.0, 20.0, 95.0])
    context.world.tick()
    partners = spawn_partners(
        Cooperation(connected=2),
        context,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=True),
        fleet=fleet,
    )
    drive = Drive(context, ego, partners, speed=0.0)
    assert [name for name, _ in drive.plan()] == ["vehicle-1", "vehicle-2"]
    fleet[1].destroy()
    for _ in range(PLANNING):
        drive.tick()
    assert [name for name, _ in drive.plan()] == ["vehicle-2", "vehicle-0"]


@pytest.mark.thorough
def test_no_partner_out_of_range(context: AttemptContext, ego: EgoVehicle) -> None:
    fleet = fleet_of(context, ego, [25.0, 60.0])
    context.world.tick()
    partners = spawn_partners(
        Cooperation(connected=5, range=50.0),
        context,
        rig=RIG,
        period=0.2,
        senses=give_all(reads_points=False),
        fleet=fleet,
    )
    assert [name for name, _ in Drive(context, ego, partners, speed=0.0).plan()] == ["vehicle-0"]
    partners.destroy_posts()


@pytest.mark.thorough
def test_no_more_than_asked(context: AttemptContext, ego: EgoVehicle) -> None:
    fleet = fleet_of(context, ego, [20.0, 30.0, 40.0])
    context.world.tick()
    settings = Cooperation(roadside=Ahead(**PLACE), connected=3, maximum=2)
    partners = spawn_partners(
        settings, context, rig=RIG, period=0.2, senses=give_all(reads_points=False), fleet=fleet
    )
    shared = Drive(context, ego, partners, speed=0.0).plan()
    assert [name for name, _ in shared] == ["roadside-0", "vehicle-0"]
    partners.destroy_posts()
