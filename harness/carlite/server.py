"""The server: listening sockets, one world, and the clock of asynchronous mode.

Everything runs in one thread. Client ticks come in as calls; in asynchronous mode the world runs by
itself in real time, as long as anybody is connected. Ports: remote calls at P, streams at P + 1,
the Traffic Manager at P + 2, or any three free ones when P is 0.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from harness.carlite import CARLA_VERSION, calls, log
from harness.carlite.errors import UserError
from harness.carlite.pacing import Guard, Open
from harness.carlite.rehearsal import rehearse
from harness.carlite.rpc import Call, Connection, Pace, Session
from harness.carlite.streams import StreamHub
from harness.carlite.traffic.endpoint import Connection as TrafficConnection
from harness.carlite.world import World

IDLE = 0.02
PATIENCE = 3.0


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    host: str
    port: int
    town: str
    maps: Path | None
    seed: int
    hosts_traffic: bool


def bind(host: str, port: int) -> socket.socket:
    """Reserve an IPv4 address, the client knows no other; UserError when that cannot be."""
    try:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as problem:
        raise UserError(f"cannot listen on {host}:{port}: {problem.strerror}") from None
    return listener


@contextmanager
def explained(reason: str, after: float) -> Iterator[None]:
    """Tell whoever waits for longer than `after` seconds what for."""
    timer = Timer(after, log.say, [reason])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Server:
    """One world and everybody who is connected to it."""

    def __init__(self, options: Options) -> None:
        def at(offset: int) -> socket.socket:
            return bind(options.host, options.port + offset if options.port else 0)

        self._calls_at = at(0)
        streams_at = at(1)
        self._traffic_at = at(2) if options.hosts_traffic else None
        self.calls = calls.table()
        self.connections: set[Connection] = set()
        self.streams = StreamHub(streams_at)
        self.world = World(options.town, options.maps, options.seed, self.streams)
        with explained("compiling for this machine, once; this can take a minute", PATIENCE):
            rehearse(self.world.town)

    @property
    def address(self) -> str:
        """Where clients find it, as `host:port`."""
        host, port = self._calls_at.getsockname()
        return f"{host}:{port}"

    def session(self, peer: str, host: str) -> Session:
        """Describe a new client to its calls."""
        traffic = (host, self._traffic_at.getsockname()[1]) if self._traffic_at else None
        return Session(peer, host, self.streams, traffic)

    def pace(self) -> Pace:
        """Say when a new client's ticks may run."""
        return Open(self.streams) if self._traffic_at else Guard(self.streams)

    def run(self, call: Call, session: Session, arguments: list[object]) -> object:
        """Run a call on the world."""
        return call.run(self.world, session, *arguments)

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        asked_to_stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, asked_to_stop.set)
        self.streams.open()
        listeners = [await loop.create_server(lambda: Connection(self), sock=self._calls_at)]
        if self._traffic_at:
            endpoint = await loop.create_server(
                lambda: TrafficConnection(lambda: self.world.traffic), sock=self._traffic_at
            )
            listeners.append(endpoint)
        gc.freeze()
        where = f"{self.address}, town {self.world.town.name}"
        print(f"carlite {CARLA_VERSION} ready on {where}", flush=True)
        clock = asyncio.create_task(self._run_free())
        await asked_to_stop.wait()
        clock.cancel()
        for listener in listeners:
            listener.close()
        for connection in tuple(self.connections):
            connection.close()
        self.streams.close()

    async def _run_free(self) -> None:
        """Let an asynchronous world run in real time while anybody is there to see it."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if self.world.synchronous or not (self.connections or self.streams.connected):
                await asyncio.sleep(IDLE)
                due = loop.time()
                continue
            self.streams.patient = False
            try:
                self.world.tick()
            except Exception as problem:
                log.confess(problem)
            self.streams.patient = True
            due = max(due + self.world.step, loop.time())
            await asyncio.sleep(due - loop.time())
