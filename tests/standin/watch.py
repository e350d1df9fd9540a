"""Who belongs to a server on lease, and whether anything of it is left."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable

import psutil

from harness.world.simulators import SimulatorServer, keeper


def family(holder: int | None = None) -> list[psutil.Process]:
    """Return the keepers below a process, by default this one, each followed by what it keeps."""
    below = psutil.Process(holder or os.getpid()).children(recursive=True)
    keepers = [process for process in below if keeper.__file__ in process.cmdline()]
    return [member for keeper in keepers for member in (keeper, *keeper.children(recursive=True))]


def server_of(members: list[psutil.Process], port: int) -> psutil.Process:
    """Return the one that listens."""
    (server,) = [member for member in members if port in listening(member)]
    return server


def listening(process: psutil.Process) -> set[int]:
    """Return the ports a process listens on."""
    connections = process.net_connections("tcp")
    return {
        connection.laddr.port
        for connection in connections
        if connection.status == psutil.CONN_LISTEN
    }


def left(members: list[psutil.Process]) -> list[psutil.Process]:
    """Return those that still run; the dead may wait long for init to notice."""
    return [member for member in members if lives(member)]


def lives(process: psutil.Process) -> bool:
    """Return whether a process runs or is stopped."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def can_be_bound(*ports: int) -> bool:
    """Return whether a new server could have these ports at once."""
    try:
        for port in ports:
            with socket.create_server(("127.0.0.1", port)):
                pass
    except OSError:
        return False
    return True


def until(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait for something to come true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def ailment(server: SimulatorServer) -> str:
    """Return the failure class of what is wrong with a server."""
    problem = server.diagnose_server()
    return "" if problem is None else problem.failure
