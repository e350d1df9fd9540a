"""A world for one attempt: connected, fresh, in synchronous mode; and left as it was found."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

import carla

from harness.common.errors import AttemptError, FailureClass, ScenarioError
from harness.common.installation import PACKAGES
from harness.world.ports import reserve_ports
from harness.world.probe import call_remote, probe_carla

RPC_TIMEOUT = 60.0
PATIENCE = 5.0
SUBSTEP, SUBSTEPS = 0.01, 10
LONGEST_TICK = SUBSTEP * SUBSTEPS
"""Seconds that CARLA's physics can move in one tick; beyond, it would lose time."""
MANAGER_PORTS = range(8000, 8200)


@dataclass(frozen=True, slots=True)
class CarlaSession:
    """What a client holds while an attempt lasts."""

    client: carla.Client
    world: carla.World
    map: carla.Map
    traffic_manager: carla.TrafficManager


@contextmanager
def open_session(
    host: str, port: int, *, town: str, tick_seconds: float, seed: int
) -> Iterator[CarlaSession]:
    """Reload the town in synchronous mode; return to asynchronous mode at the end.

    The library's Traffic Manager listens on a port that is ours; a server's own goes before it.

    Args:
        host: of the server.
        port: of the server.
        town: its name.
        tick_seconds: the length of a tick.
        seed: of pedestrians and traffic.

    Returns:
        A context manager.

    Raises:
        AttemptError: the server does not answer, or has no such town.
    """
    probe_carla(host, port)
    with reserve_ports(MANAGER_PORTS) as ports, convert_client_errors(host, port):
        client = carla.Client(host, port)
        client.set_timeout(RPC_TIMEOUT)
        world = load_fresh_world(client, town)
        # the world moves only when it is asked to, in equal steps
        settings = world.get_settings()
        settings.synchronous_mode = True
        settings.fixed_delta_seconds = tick_seconds
        settings.deterministic_ragdolls = True
        settings.max_substep_delta_time = SUBSTEP
        settings.max_substeps = SUBSTEPS
        world.apply_settings(settings)
        world.set_pedestrians_seed(seed % 2**31)
        # the traffic manager runs in this process, on a port that is ours
        release_traffic_manager_port(host, port, ports.first)
        manager = client.get_trafficmanager(ports.first)
        manager.set_synchronous_mode(True)
        manager.set_random_device_seed(seed % 2**31)
        try:
            yield CarlaSession(client, world, world.get_map(), manager)
        finally:
            # a world that is left in synchronous mode would stand still for its next client
            with suppress(AttemptError, RuntimeError):
                probe_carla(host, port)
                settings.synchronous_mode = False
                settings.fixed_delta_seconds = None
                world.apply_settings(settings)


def load_fresh_world(client: carla.Client, town: str) -> carla.World:
    """Return a world in which nothing has happened yet.

    Args:
        client: connected to the server.
        town: its name.

    Raises:
        AttemptError: the server has no such town.
    """
    try:
        current = client.get_world().get_map().name.rsplit("/", maxsplit=1)[-1]
        return client.reload_world() if current == town else client.load_world(town)
    except RuntimeError as problem:
        if "time-out" in str(problem):
            raise
        there = ", ".join(
            sorted(
                get_available_map.rsplit("/", 1)[-1]
                for get_available_map in client.get_available_maps()
            )
        )
        raise AttemptError("world_load", f"{town}: {problem}; the server has {there}") from None


def release_traffic_manager_port(host: str, port: int, manager_port: int) -> None:
    """Let the server forget who managed traffic from our port before.

    Managers that were killed stay on its list, and the library waits four seconds for each.
    """
    with suppress(OSError), socket.create_connection((host, port), PATIENCE) as connection:
        call_remote(connection, 1, "destroy_traffic_manager", manager_port, timeout=PATIENCE)


def describe_wait_place(problem: BaseException) -> str:
    """Return the last of our own functions that an exception went through: where it waited."""
    ours = str(PACKAGES / "harness")
    frames = [(frame.f_code, line) for frame, line in walk_tb(problem.__traceback__)]
    code, line = [place for place in frames if place[0].co_filename.startswith(ours)][-1]
    return f"in {code.co_name} ({Path(code.co_filename).name}:{line})"


@contextmanager
def convert_client_errors(host: str, port: int) -> Iterator[None]:
    """Give the client library's exceptions their failure class.

    The library reports a server that has exited as a time-out; the port shows which it is.
    """
    try:
        yield
    except RuntimeError as problem:
        text = " ".join(str(problem).split())
        try:
            probe_carla(host, port)
        except AttemptError as gone:
            failure: FailureClass = (
                "server_hang" if gone.failure == "server_hang" else "server_crash"
            )
            raise AttemptError(failure, f"{text}; {gone}") from problem
        if "time-out" in text:
            raise AttemptError(
                "rpc_timeout", f"{text}; {describe_wait_place(problem)}"
            ) from problem
        if isinstance(problem, ScenarioError):
            raise AttemptError("scenario_error", text) from problem
        raise
