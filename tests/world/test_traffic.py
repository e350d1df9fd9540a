"""Background traffic: as many as asked for, out of the way, and the same for the same seed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from harness.world.roads import RoadNetwork
from harness.world.session import Session, open_session
from harness.world.simulators import CarliteSimulator, Server
from harness.world.stage import Stage
from harness.world.traffic import Traffic
from tests.world.alone import alone

TOWN = "Crucible05"


def stage_in(session: Session, seed: int) -> Stage:
    """Return a stage on a route between two spawn points through a junction."""
    points = session.map.get_spawn_points()
    route = RoadNetwork(session.map).route("0", TOWN, [points[3].location, points[100].location])
    return Stage(
        session.client, session.world, session.map, session.traffic_manager, route, seed, 0.05
    )


def populate(host: str, port: int, seed: int, ticks: int) -> dict[str, Any]:
    """Fill a town, let it live and return a digest of all that moved."""
    with open_session(host, port, TOWN, 0.05, seed) as session:
        stage = stage_in(session, seed)
        population = Traffic(vehicles=30, bicycles=5, walkers=30).populate(stage, [])
        actors = [*population.vehicles, *population.walkers]
        start = stage.route.xyz[0]
        places = [actor.get_location() for actor in actors]
        digest, moved = hashlib.sha256(), dict[int, float]()
        for _ in range(ticks):
            session.world.tick()
            snapshot = session.world.get_snapshot()
            for actor in actors:
                own = snapshot.find(actor.id).get_transform()
                here, turn = own.location, own.rotation
                digest.update(np.array([here.x, here.y, here.z, turn.yaw], np.float32).tobytes())
        for actor, place in zip(actors, places, strict=True):
            moved[actor.id] = actor.get_location().distance(place)
        answer = {
            "digest": digest.hexdigest(),
            "models": [actor.type_id for actor in actors],
            "vehicles": len(population.vehicles),
            "walkers": len(population.walkers),
            "driving": sum(moved[each.id] > 1.0 for each in population.vehicles),
            "walking": sum(moved[each.id] > 1.0 for each in population.walkers),
            "nearest": min(
                math.dist((place.x, place.y), (start[0], start[1]))
                for place in places[: len(population.vehicles)]
            ),
        }
        population.end()
        session.world.tick()
        left = [
            each.type_id
            for each in session.world.get_actors()
            if each.type_id.startswith(("vehicle.", "walker.", "controller."))
        ]
        return {**answer, "left": left}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with CarliteSimulator().lease(TOWN) as server:
        yield server


@pytest.fixture(scope="module")
def one(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = alone(populate, server.host, server.port, 5, 120)
    return found


def test_the_town_is_full_and_alive(one: dict[str, Any]) -> None:
    assert one["vehicles"] >= 33
    assert one["walkers"] >= 28
    assert one["driving"] > 20
    assert one["walking"] > 20


def test_the_start_is_left_free(one: dict[str, Any]) -> None:
    assert one["nearest"] >= 10.0


def test_nobody_is_left_behind(one: dict[str, Any]) -> None:
    assert one["left"] == []


def test_the_same_seed_makes_the_same_world(server: Server, one: dict[str, Any]) -> None:
    again = alone(populate, server.host, server.port, 5, 120)
    assert again == one


def test_another_seed_makes_another_world(server: Server, one: dict[str, Any]) -> None:
    other = alone(populate, server.host, server.port, 6, 20)
    assert other["models"] != one["models"]
    assert other["digest"] != one["digest"]
