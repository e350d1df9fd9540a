"""The server: listening sockets, one world, and the clock of asynchronous mode.

The world runs in one thread. Client ticks come in as calls; in asynchronous mode the world runs by
itself in real time, as long as a client is connected. Ports: remote calls at P, streams at P + 1,
the Traffic Manager at P + 2 (in a thread of its own), or any three free ones when P is 0.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.carlite import CARLA_VERSION, calls, compiled, log
from harness.carlite.accepting import Acceptor, ProtocolStarter
from harness.carlite.compile_helpers import CompileHelpers, count_spare_cores
from harness.carlite.errors import UserError
from harness.carlite.inbox import MessageBacklog
from harness.carlite.rpc import ClientSession, RemoteCall, RpcConnection, TickGate
from harness.carlite.streams import StreamHub
from harness.carlite.strict import StrictCalls
from harness.carlite.tick_gate import StreamGate, WorkerGate
from harness.carlite.traffic_port import TrafficPort
from harness.carlite.warmup import ensure_compiled
from harness.carlite.world import ServerWorld

COMPILING_LINES_EVERY = 30.0
"""Seconds between two lines of a start that compiles for long."""
IDLE = 0.02


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What the command line asks for."""

    host: str
    port: int
    town: str
    maps: Path | None
    seed: int
    hosts_traffic: bool
    strict: str | None = None
    recordings: Path | None = None


def bind_socket(host: str, port: int) -> socket.socket:
    """Reserve an IPv4 address, the only kind the client has; UserError when that fails."""
    try:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as problem:
        raise UserError(f"cannot listen on {host}:{port}: {problem.strerror}") from None
    return listener


class CompilationNotice:
    """Prints on stderr when something is compiled: while starting, and by name afterwards.

    A start prints one line, and while it compiles one more every `COMPILING_LINES_EVERY` seconds.
    Nothing should be compiled once clients may come: they all would wait. Nothing should be loaded
    either, but for what a start without warm-up expects.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_ready = False
        self.expected: frozenset[str] = frozenset()  # to be loaded once clients may come
        self._clock = clock
        self._compiled = 0
        self._started = self._printed = 0.0  # on the clock, s

    def __call__(self, name: str, is_on_disk: bool) -> None:
        """Hear of a function that is needed for the first time."""
        if is_on_disk and name in self.expected:
            return
        if self.is_ready:
            what = "loaded" if is_on_disk else "compiling"
            log.write_log_line(f"{what} {name.partition('(')[0]} in mid-session")
        elif not is_on_disk:
            self._compiled += 1
            self._print_progress(self._clock())

    def _print_progress(self, now: float) -> None:
        """Say that this start compiles, and after a while that it goes on."""
        if self._compiled == 1:
            self._started = self._printed = now
            log.write_log_line("compiling for this machine, once; this can take a minute or two")
        elif now - self._printed >= COMPILING_LINES_EVERY:
            self._printed = now
            seconds = now - self._started
            log.write_log_line(
                f"function {self._compiled} is being compiled, after {seconds:.0f} s"
            )


class CarliteServer:
    """One world and all who are connected to it."""

    def __init__(self, options: ServerOptions) -> None:
        def at(offset: int) -> socket.socket:
            return bind_socket(options.host, options.port + offset if options.port else 0)

        self._calls_at = at(0)
        streams_at = at(1)
        self._traffic_at = at(2) if options.hosts_traffic else None
        self.calls = calls.build_call_table()
        self._strict = StrictCalls(options.strict == "refuse") if options.strict else None
        if self._strict:
            self.calls = self._strict.wrap_calls(self.calls)
        self.connections: set[RpcConnection] = set()
        self.backlog = MessageBacklog()
        self._traffic: TrafficPort | None = None
        self._compilation = CompilationNotice()
        compiled.add_compile_listener(self._compilation)
        self.streams = StreamHub(streams_at)
        with CompileHelpers(count_spare_cores()):
            self.world = ServerWorld(options.town, options.maps, options.seed, self.streams)
            self._compilation.expected = ensure_compiled(self.world.town)
        self.world.recording.folder = options.recordings

    @property
    def address(self) -> str:
        """Where clients find it, as `host:port`."""
        host, port = self._calls_at.getsockname()
        return f"{host}:{port}"

    def open_client_session(self, peer: str, host: str) -> ClientSession:
        """Describe a new client to its calls."""
        traffic = (host, self._traffic_at.getsockname()[1]) if self._traffic_at else None
        return ClientSession(peer=peer, host=host, streams=self.streams, traffic=traffic)

    def make_tick_gate(self) -> TickGate:
        """Say when a new client's ticks may run."""
        return StreamGate(self.streams) if self._traffic_at else WorkerGate(self.streams)

    def run_call(self, call: RemoteCall, session: ClientSession, arguments: list[object]) -> object:
        """Run a call on the world, after earlier calls to the Traffic Manager."""
        self._run_traffic_orders()
        return call.run(self.world, session, *arguments)

    def has_traffic_clients(self) -> bool:
        """Whether any client is connected to the Traffic Manager."""
        return self._traffic is not None and self._traffic.clients > 0

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        asked_to_stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, asked_to_stop.set)
        log.take_asyncio_lines(loop)
        self.streams.open()
        starter = ProtocolStarter(lambda: RpcConnection(self))
        acceptor = Acceptor(self._calls_at, starter, "connections")
        acceptor.open()
        if self._traffic_at:
            self._traffic = TrafficPort(
                self._traffic_at, lambda: loop.call_soon_threadsafe(self._run_traffic_orders)
            )
        self._compilation.is_ready = True
        gc.freeze()
        where = f"{self.address}, town {self.world.town.name}"
        print(f"carlite {CARLA_VERSION} ready on {where}", flush=True)
        clock = asyncio.create_task(self._run_asynchronous())
        await asked_to_stop.wait()
        clock.cancel()
        if self._traffic:
            self._traffic.close()
        acceptor.close()
        for connection in tuple(self.connections):
            connection.close()
        self.streams.close()
        if self._strict:
            self._strict.write_summary()

    def _run_traffic_orders(self) -> None:
        """Carry out what clients have asked of the Traffic Manager."""
        if self._traffic:
            self._traffic.run_orders(self.world.traffic)

    async def _run_asynchronous(self) -> None:
        """Let an asynchronous world run in real time while a client is connected."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if self.world.synchronous or not (self.connections or self.streams.connected):
                await asyncio.sleep(IDLE)
                due = loop.time()
                continue
            self.streams.patient = False
            try:
                self._run_traffic_orders()
                self.world.tick()
            except Exception as problem:
                log.report_internal_error(problem)
            self.streams.patient = True
            due = max(due + self.world.step, loop.time())
            await asyncio.sleep(due - loop.time())
