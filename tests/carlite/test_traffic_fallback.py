"""The client library's own Traffic Manager never takes over without a word."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgpack
import pytest

from tests.carlite.byte_client import Raw
from tests.conftest import ROOT, Carlite

ASK = """
import os, sys, carla
client = carla.Client(sys.argv[1], int(sys.argv[2]))
client.set_timeout(120.0)
client.get_world()
print("connected", flush=True)
sys.stdin.readline()
try:
    manager = client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    manager.global_percentage_speed_difference(20.0)
    print("served", manager.get_port(), flush=True)
except RuntimeError as problem:
    print(problem, flush=True)
os._exit(0)
"""
BUSY = 2.5
"""Seconds of work at a time: the client gives up after two."""


def start(host: str, port: int) -> subprocess.Popen[str]:
    """Connect a client in a process of its own, which asks for the manager on the next line."""
    child = subprocess.Popen(
        [sys.executable, "-c", ASK, host, str(port)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout
    assert child.stdout.readline() == "connected\n"
    return child


def synchronous(raw: Raw) -> None:
    settings = raw.value("get_episode_settings")
    settings[0], settings[2] = True, [True, 0.05]
    raw.value("set_episode_settings", settings)


@contextmanager
def kept_busy(server: Carlite) -> Iterator[None]:
    """Ask for so many ticks at once that the world is busy for seconds, again and again."""
    tick = msgpack.packb([0, 1, "tick_cue", [[False]]])
    with Raw(server) as raw:
        start = time.monotonic()
        for _ in range(200):
            raw.value("tick_cue")
        count = int(200 * BUSY / (time.monotonic() - start))
    done = threading.Event()

    def ask(connection: socket.socket) -> None:
        with suppress(OSError):
            while not done.is_set():
                connection.sendall(tick * count)

    def read(connection: socket.socket) -> None:
        with suppress(ConnectionResetError):
            while connection.recv(1 << 20):
                pass

    with socket.create_connection((server.host, server.port)) as connection:
        threads = [threading.Thread(target=work, args=(connection,)) for work in (ask, read)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            done.set()
            connection.shutdown(socket.SHUT_RDWR)  # what was sent and not yet answered is dropped
            for thread in threads:
                thread.join()


@pytest.mark.thorough
def test_a_busy_server_keeps_its_traffic_manager() -> None:
    with Carlite() as server:
        with Raw(server) as raw:
            synchronous(raw)
        client = start(server.host, server.port)
        with kept_busy(server):
            answer, _ = client.communicate("\n", timeout=300)
        assert answer == "served 8000\n"


class Misdirection:
    """Hands a server's calls on, but names to clients a Traffic Manager that never answers."""

    def __init__(self, server: Carlite) -> None:
        with Raw(server) as raw:
            _, port = raw.value("get_traffic_manager_running", 8000)
        self.silent = socket.create_server(("127.0.0.1", 0))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self._real = b"\xcd" + struct.pack(">H", port)
        self._false = b"\xcd" + struct.pack(">H", self.silent.getsockname()[1])
        self._server = server
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            there = socket.create_connection((self._server.host, self._server.port))
            for ends in ((client, there), (there, client)):
                threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data.replace(self._real, self._false))


@pytest.mark.thorough
def test_the_fallback_is_refused_by_name() -> None:
    with Carlite() as server:
        with Raw(server) as raw:
            synchronous(raw)
        between = Misdirection(server)
        client = start("127.0.0.1", between.port)
        answer, _ = client.communicate("\n", timeout=120)
        assert "carlite's Traffic Manager did not answer" in answer
        assert "--traffic-manager client" in answer
