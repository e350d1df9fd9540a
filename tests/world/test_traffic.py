"""Background traffic: as many as asked for, out of the way, and the same for the same seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import carla
import numpy as np
import pytest

from harness.common.errors import UserError
from harness.world.attempt_context import AttemptContext
from harness.world.roads import RoadNetwork
from harness.world.session import CarlaSession, open_session
from harness.world.simulators import CarliteSimulator, SimulatorServer
from harness.world.traffic import Traffic
from tests.world.alone import alone

TOWN = "Crucible05"


def context_in(session: CarlaSession, seed: int) -> AttemptContext:
    """Return a context on a route between two spawn points through a junction."""
    points = session.map.get_spawn_points()
    route = RoadNetwork(session.map).find_route(
        "0", TOWN, [points[3].location, points[100].location]
    )
    return AttemptContext(
        client=session.client,
        world=session.world,
        map=session.map,
        traffic_manager=session.traffic_manager,
        route=route,
        seed=seed,
        tick_seconds=0.05,
    )


def populate(host: str, port: int, seed: int, ticks: int) -> dict[str, Any]:
    """Fill a town, let it live and return a digest of all that moved."""
    with open_session(host, port, town=TOWN, tick_seconds=0.05, seed=seed) as session:
        context = context_in(session, seed)
        population = Traffic(vehicles=30, bicycles=5, walkers=30).spawn_population(context, [])
        actors = [*population.vehicles, *population.walkers]
        start = context.route.xyz[0]
        places = [actor.get_location() for actor in actors]
        digest, moved = hashlib.sha256(), dict[int, float]()
        for _ in range(ticks):
            session.world.tick()
            snapshot = session.world.get_snapshot()
            for actor in actors:
                pose_now = snapshot.find(actor.id).get_transform()
                here, turn = pose_now.location, pose_now.rotation
                digest.update(np.array([here.x, here.y, here.z, turn.yaw], np.float32).tobytes())
        for actor, place in zip(actors, places, strict=True):
            moved[actor.id] = actor.get_location().distance(place)
        answer = {
            "digest": digest.hexdigest(),
            "models": [actor.type_id for actor in actors],
            "vehicles": len(population.vehicles),
            "walkers": len(population.walkers),
            "driving": sum(moved[vehicle.id] > 1.0 for vehicle in population.vehicles),
            "walking": sum(moved[walker.id] > 1.0 for walker in population.walkers),
            "nearest": min(
                math.dist((place.x, place.y), (start[0], start[1]))
                for place in places[: len(population.vehicles)]
            ),
        }
        population.destroy_population()
        session.world.tick()
        left = [
            actor.type_id
            for actor in session.world.get_actors()
            if actor.type_id.startswith(("vehicle.", "walker.", "controller."))
        ]
        return {**answer, "left": left}


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatorServer]:
    with CarliteSimulator().lease_server(TOWN) as server:
        yield server


@pytest.fixture(scope="module")
def one(server: SimulatorServer) -> dict[str, Any]:
    report: dict[str, Any] = alone(populate, server.host, server.port, 5, 120)
    return report


@pytest.mark.thorough
def test_the_town_is_full_and_alive(one: dict[str, Any]) -> None:
    assert one["vehicles"] >= 33
    assert one["walkers"] >= 28
    assert one["driving"] > 20
    assert one["walking"] > 20


def test_the_start_is_left_free(one: dict[str, Any]) -> None:
    assert one["nearest"] >= 10.0


def test_no_actor_is_left_behind(one: dict[str, Any]) -> None:
    assert one["left"] == []


@pytest.mark.thorough
def test_the_same_seed_makes_the_same_world(server: SimulatorServer, one: dict[str, Any]) -> None:
    again = alone(populate, server.host, server.port, 5, 120)
    assert again == one


@pytest.mark.thorough
def test_another_seed_makes_another_world(server: SimulatorServer, one: dict[str, Any]) -> None:
    other = alone(populate, server.host, server.port, 6, 20)
    assert other["models"] != one["models"]
    assert other["digest"] != one["digest"]


CRAZY = Traffic(
    vehicles=0,
    walkers=20,
    bicycles=12,
    crazy_level=3,
    crazy_proportion=50.0,
    bicycle="vehicle.diamondback.century",
    speed_difference=None,
    following_distance=None,
)


class Noted:
    """A Traffic Manager whose calls are noted and passed on."""

    def __init__(self, manager: carla.TrafficManager) -> None:
        self._manager = manager
        self.calls: list[tuple[str, int, float]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            if given:
                self.calls.append((name, given[0].id, float(given[1])))
            return getattr(self._manager, name)(*given)

        return call


def hurry(host: str, port: int, ticks: int) -> dict[str, Any]:
    """Fill a town as V2Xverse does; return models, calls to the drivers, and highest speeds."""
    with open_session(host, port, town=TOWN, tick_seconds=0.05, seed=5) as session:
        context = context_in(session, 5)
        noted = Noted(context.traffic_manager)
        population = CRAZY.spawn_population(replace(context, traffic_manager=noted), [])
        fastest = dict.fromkeys(population.walkers, 0.0)
        for _ in range(ticks):
            session.world.tick()
            snapshot = session.world.get_snapshot()
            for actor in fastest:
                speed = snapshot.find(actor.id).get_velocity().length()
                fastest[actor] = max(fastest[actor], speed)
        order = {actor.id: number for number, actor in enumerate(population.vehicles)}
        answer = {
            "models": sorted({actor.type_id for actor in population.vehicles}),
            "calls": sorted((name, order[actor], value) for name, actor, value in noted.calls),
            "walkers": list(fastest.values()),
        }
        population.destroy_population()
        return answer


@pytest.mark.thorough
def test_crazy_levels_are_v2xverses(server: SimulatorServer) -> None:
    """Half of the walkers run; four of twelve bicycles, two less than half, drive so."""
    filled = alone(hurry, server.host, server.port, 120)
    assert filled["models"] == ["vehicle.diamondback.century"]
    running = [speed > 2.2 for speed in filled["walkers"]]
    assert sum(running) >= 8
    assert not any(running[10:])
    asked = {
        "distance_to_leading_vehicle": 2.0,
        "ignore_lights_percentage": 60.0,
        "ignore_signs_percentage": 60.0,
        "ignore_vehicles_percentage": 60.0,
        "ignore_walkers_percentage": 60.0,
        "keep_slow_lane_rule_percentage": 40.0,
        "vehicle_percentage_speed_difference": -60.0,
    }
    assert filled["calls"] == [
        [name, number, value] for name, value in asked.items() for number in range(4)
    ]


@pytest.mark.parametrize(
    ("proportion", "number", "crazy"), [(50, 60, 30), (50, 61, 30), (0, 60, 0), (100, 7, 7)]
)
def test_a_proportion_is_rounded_down(proportion: int, number: int, crazy: int) -> None:
    assert Traffic(crazy_level=1, crazy_proportion=proportion).count_crazy(number) == crazy
    assert Traffic(crazy_level=0, crazy_proportion=proportion).count_crazy(number) == 0


@pytest.mark.parametrize("wrong", [{"crazy_level": 6}, {"crazy_proportion": 101.0}])
def test_levels_that_v2xverse_refuses_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        Traffic(**wrong)
