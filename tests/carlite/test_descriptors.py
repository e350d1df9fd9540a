"""A server with fewer file descriptors than clients: it lives, prints little, and serves again."""

from __future__ import annotations

import resource
import socket
import struct
import time
from contextlib import ExitStack

import msgpack
import pytest

from harness.carlite.accepting import PAUSE, more_descriptors
from harness.carlite.traffic.endpoint import SETTLED
from tests.carlite.byte_client import Raw
from tests.conftest import Carlite

LIMIT = 300
CROWD = LIMIT + 60
"""More than the server has descriptors for; who is not accepted waits in the kernel."""
PATIENCE = 60.0


def ports_of(raw: Raw, server: Carlite) -> dict[str, int]:
    """Return the three ports of a server."""
    _, traffic = raw.value("get_traffic_manager_running", 8000)
    (token,) = raw.value("get_sensor_token", 1)
    return {
        "connections": server.port,
        "stream connections": struct.unpack_from("<IH", token)[1],
        "connections to the Traffic Manager": traffic,
    }


def served(name: str, host: str, port: int) -> bool:
    """Return whether a new client gets what it asks for at a port."""
    with socket.create_connection((host, port), PATIENCE) as connection:
        if name == "stream connections":
            connection.sendall(struct.pack("<I", 1))  # snapshots of the world
        elif name == "connections":
            connection.sendall(msgpack.packb([0, 1, "version", [[False]]]))
        else:
            connection.sendall(msgpack.packb([0, 1, next(iter(SETTLED)), []]))
        return len(connection.recv(4)) > 0


def lines_of(server: Carlite) -> list[str]:
    """Return the lines of a server's log, but for that of a first start, which compiles."""
    return [line for line in server.log().splitlines() if "compiling" not in line]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["connections", "stream connections", "connections to the Traffic Manager"]
)
def test_more_clients_than_descriptors(name: str) -> None:
    with Carlite() as server, Raw(server) as first:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
        ports = ports_of(first, server)
        with ExitStack() as crowd:
            for _ in range(CROWD):
                address = (server.host, ports[name])
                crowd.enter_context(socket.create_connection(address, PATIENCE))
            while "file descriptors are left" not in server.log():
                assert server.process.poll() is None
            # The clients that were there are served, and the server can still open files.
            time.sleep(4 * PAUSE)
            first.void("load_new_episode", server.town, True, 0xFFFF)
            assert len(lines_of(server)) == 1, server.log()
        for any_name, port in ports.items():
            assert served(any_name, server.host, port), any_name
        assert f"{name} are accepted again" in server.log()
        assert len(lines_of(server)) <= 6, server.log()


def test_the_limit_of_descriptors_is_raised_for_a_while() -> None:
    limit, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 256), allowed))
    try:
        with more_descriptors():
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(allowed, 1 << 16)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(limit, 256), allowed)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, allowed))
