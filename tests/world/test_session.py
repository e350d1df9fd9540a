"""Servers on lease and sessions in fresh worlds, each session in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import carla
import psutil
import pytest

from harness.errors import AttemptError, UserError
from harness.world.session import naming_problems, open_session
from harness.world.simulators import CarlaSimulator, CarliteSimulator
from tests.conftest import ROOT, Carlite
from tests.world.alone import alone

LEASE = """
import sys, time
from harness.world.simulators import CarliteSimulator
with CarliteSimulator().lease("Crucible05") as server:
    print(server.port, flush=True)
    time.sleep(60)
"""


def serving(port: int) -> list[psutil.Process]:
    """Return the carlite processes that listen on a port."""
    return [process for process in psutil.process_iter() if serves(process, port)]


def serves(process: psutil.Process, port: int) -> bool:
    try:
        ours = "harness.carlite" in process.cmdline()
        return ours and port in {each.laddr.port for each in process.net_connections("tcp")}
    except psutil.Error:
        return False


def until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def test_a_lease_ends_with_its_block() -> None:
    with CarliteSimulator().lease("Crucible05") as server:
        assert server.alive()
        assert server.name.startswith("carlite ")
        assert len(serving(server.port)) == 1
    assert not server.alive()
    assert not serving(server.port)


def test_a_killed_holder_takes_its_server_along() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", LEASE], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    port = int(holder.stdout.readline())
    assert serving(port)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert until(lambda: not serving(port))


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(AttemptError, match="Nowhere99") as caught:
        CarliteSimulator().lease("Nowhere99").__enter__()
    assert caught.value.failure == "server_launch"
    assert "\n" not in str(caught.value)


def test_a_server_that_is_killed_is_not_alive() -> None:
    with CarliteSimulator().lease("Crucible05") as server:
        (process,) = serving(server.port)
        os.kill(process.pid, signal.SIGKILL)
        assert until(lambda: not server.alive())


def test_folders_and_addresses_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no folder"):
        CarliteSimulator(maps=str(tmp_path / "missing"))
    for address in ("localhost", "localhost:", "localhost:0", "localhost:70000", "a:b"):
        with pytest.raises(UserError, match=r"host:port"):
            CarlaSimulator(address)


def test_a_running_server_can_be_used(carlite: Carlite) -> None:
    with CarlaSimulator(f"{carlite.host}:{carlite.port}").lease("Crucible05") as server:
        assert server.name == "CARLA 0.9.16"
        assert server.alive()
    assert carlite.process.poll() is None


def first_look(host: str, port: int, town: str) -> dict[str, object]:
    """Open a session, spawn somebody and leave without closing anything."""
    with open_session(host, port, town, 0.05, 7) as session:
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
    with open_session(host, port, "Crucible05", 0.05, 7) as session:
        session.world.tick()
        sys.stdout.write("null\n")
        sys.stdout.flush()
        os._exit(0)


def still_synchronous(host: str, port: int) -> bool:
    client = carla.Client(host, port)
    client.set_timeout(20.0)
    return bool(client.get_world().get_settings().synchronous_mode)


def test_every_session_begins_anew() -> None:
    with CarliteSimulator().lease("Crucible05") as server:
        looks = [alone(first_look, server.host, server.port, "Crucible05") for _ in range(2)]
        alone(abandon, server.host, server.port)
        looks.append(alone(first_look, server.host, server.port, "Crucible05"))
        assert not alone(still_synchronous, server.host, server.port)
    assert looks[0] == looks[1] == looks[2]
    assert looks[0]["vehicles"] == 0
    assert looks[0]["synchronous"]
    assert looks[0]["delta"] == pytest.approx(0.05)
    assert looks[0]["ticked"]


def test_another_town_is_loaded() -> None:
    with CarliteSimulator().lease("Crucible05") as server:
        assert alone(first_look, server.host, server.port, "CrucibleRing")["town"] == "CrucibleRing"


def test_a_late_answer_of_a_living_server(carlite: Carlite) -> None:
    said = "time-out of 20000ms while waiting for the simulator"
    with pytest.raises(AttemptError) as caught, naming_problems(carlite.host, carlite.port):
        raise RuntimeError(said)
    assert caught.value.failure == "rpc_timeout"


def test_other_problems_keep_their_name(carlite: Carlite) -> None:
    with (
        pytest.raises(RuntimeError, match="out of bounds"),
        naming_problems(carlite.host, carlite.port),
    ):
        raise RuntimeError("index out of bounds")


def lose_the_server(host: str, port: int, pid: int) -> list[str]:
    """Kill the server under a session and say what the next tick ends in."""
    try:
        with open_session(host, port, "Crucible05", 0.05, 7) as session:
            session.client.set_timeout(3.0)
            os.kill(pid, signal.SIGKILL)
            session.world.tick()
    except AttemptError as problem:
        return [problem.failure, str(problem)]
    return []


def test_a_server_that_dies_under_a_session() -> None:
    with CarliteSimulator().lease("Crucible05") as server:
        (process,) = serving(server.port)
        failure, message = alone(lose_the_server, server.host, server.port, process.pid)
    assert failure == "server_crash"
    assert "\n" not in message
