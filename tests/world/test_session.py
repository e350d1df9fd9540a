"""Sessions in fresh worlds, each in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys

import carla
import pytest

from harness.common.errors import AttemptError
from harness.world.probe import call_remote
from harness.world.session import (
    convert_client_errors,
    load_fresh_world,
    open_session,
    release_traffic_manager_port,
)
from harness.world.simulators import CarliteSimulator
from tests.conftest import Carlite
from tests.standin.watch import family, server_of
from tests.world.alone import alone


def first_look(host: str, port: int, town: str) -> dict[str, object]:
    """Open a session, spawn a vehicle and leave without closing anything."""
    with open_session(host, port, town=town, tick_seconds=0.05, seed=7) as session:
        frame = session.world.tick()
        snapshot = session.world.get_snapshot()
        settings = session.world.get_settings()
        population = len(session.world.get_actors().filter("vehicle.*"))
        blueprint = session.world.get_blueprint_library().find("vehicle.tesla.model3")
        session.world.spawn_actor(blueprint, session.map.get_spawn_points()[0])
        session.world.tick()
        return {
            "town": session.map.name.rsplit("/", 1)[-1],
            "synchronous": settings.synchronous_mode,
            "delta": settings.fixed_delta_seconds,
            "vehicles": population,
            "elapsed": snapshot.timestamp.elapsed_seconds,
            "ticked": snapshot.frame == frame,
        }


def abandon(host: str, port: int) -> None:
    """Die in the middle of a session."""
    with open_session(host, port, town="Crucible05", tick_seconds=0.05, seed=7) as session:
        session.world.tick()
        sys.stdout.write("null\n")
        sys.stdout.flush()
        os._exit(0)


def drive(host: str, port: int) -> dict[str, float]:
    """Drive with the library's own Traffic Manager and leave without ending it."""
    with open_session(host, port, town="Crucible05", tick_seconds=0.05, seed=7) as session:
        manager_port = session.traffic_manager.get_port()
        blueprint = session.world.get_blueprint_library().find("vehicle.tesla.model3")
        places = session.map.get_spawn_points()[:10]
        spawned = [session.world.try_spawn_actor(blueprint, place) for place in places]
        vehicles = [vehicle for vehicle in spawned if vehicle is not None]
        for vehicle in vehicles:
            vehicle.set_autopilot(True, manager_port)
        for _ in range(100):
            session.world.tick()
        speed = sum(vehicle.get_velocity().length() for vehicle in vehicles)
        return {"port": manager_port, "speed": speed}


def registered(carlite: Carlite, manager_port: int) -> bool:
    """Ask the server whether it knows a Traffic Manager."""
    with socket.create_connection((carlite.host, carlite.port), 20.0) as connection:
        answer = call_remote(connection, 1, "is_traffic_manager_running", manager_port, timeout=5.0)
    assert isinstance(answer, list)
    return bool(answer[1])


@pytest.mark.thorough
def test_managers_that_were_left_behind_are_struck_off() -> None:
    with Carlite("--traffic-manager", "client") as server:
        drives = [alone(drive, server.host, server.port) for _ in range(2)]
        port = int(drives[-1]["port"])
        assert registered(server, port)
        release_traffic_manager_port(server.host, server.port, port)
        assert not registered(server, port)
    assert min(drive["speed"] for drive in drives) > 10.0


def still_synchronous(host: str, port: int) -> bool:
    client = carla.Client(host, port)
    client.set_timeout(20.0)
    return bool(client.get_world().get_settings().synchronous_mode)


@pytest.mark.thorough
def test_every_session_starts_a_new_episode() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        looks = [alone(first_look, server.host, server.port, "Crucible05") for _ in range(2)]
        alone(abandon, server.host, server.port)
        looks.append(alone(first_look, server.host, server.port, "Crucible05"))
        assert not alone(still_synchronous, server.host, server.port)
    assert looks[0] == looks[1] == looks[2]
    assert looks[0]["vehicles"] == 0
    assert looks[0]["synchronous"]
    assert looks[0]["delta"] == pytest.approx(0.05)
    assert looks[0]["ticked"]


@pytest.mark.thorough
def test_another_town_is_loaded() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        assert alone(first_look, server.host, server.port, "CrucibleRing")["town"] == "CrucibleRing"


def refusal(host: str, port: int) -> list[str]:
    """Ask for a town that the server has not, as a CARLA has none of ours."""
    try:
        with open_session(host, port, town="Town99", tick_seconds=0.05, seed=7):
            return []
    except AttemptError as problem:
        return [problem.failure, str(problem)]


@pytest.mark.thorough
def test_a_town_that_the_server_has_not_got(carlite: Carlite) -> None:
    failure, said = alone(refusal, carlite.host, carlite.port)
    assert failure == "world_load"
    assert said.startswith("Town99: ")
    towns = "Crucible05, CrucibleHill, CrucibleOld, CrucibleRing, Town01, Town02, Town05"
    assert said.endswith(f"the server has {towns}")


def impatient(host: str, port: int) -> list[str]:
    """Open a world with a client that waits for 10 ms; return what failed."""
    client = carla.Client(host, port)
    client.set_timeout(0.01)
    with pytest.raises(AttemptError) as caught, convert_client_errors(host, port):
        load_fresh_world(client, "CrucibleOld")
    return [caught.value.failure, str(caught.value)]


@pytest.mark.thorough
def test_a_late_answer_of_a_living_server_says_what_waited() -> None:
    # A separate server: it loads the town later, although no client waits for it any more.
    with CarliteSimulator().lease_server("Crucible05") as server:
        failure, said = alone(impatient, server.host, server.port)
    assert failure == "rpc_timeout"
    assert said.startswith("time-out of 10ms while waiting for the simulator")
    assert re.search(r"; in load_fresh_world \(session\.py:\d+\)$", said)


def test_other_problems_keep_their_name(carlite: Carlite) -> None:
    with (
        pytest.raises(RuntimeError, match="out of bounds"),
        convert_client_errors(carlite.host, carlite.port),
    ):
        raise RuntimeError("index out of bounds")


def lose_the_server(host: str, port: int, pid: int) -> list[str]:
    """Kill the server under a session and say what the next tick ends in."""
    try:
        with open_session(host, port, town="Crucible05", tick_seconds=0.05, seed=7) as session:
            session.client.set_timeout(3.0)
            os.kill(pid, signal.SIGKILL)
            session.world.tick()
    except AttemptError as problem:
        return [problem.failure, str(problem)]
    return []


@pytest.mark.thorough
def test_a_server_that_dies_under_a_session() -> None:
    with CarliteSimulator().lease_server("Crucible05") as server:
        process = server_of(family(), server.port)
        failure, message = alone(lose_the_server, server.host, server.port, process.pid)
    assert failure == "server_crash"
    assert "\n" not in message
