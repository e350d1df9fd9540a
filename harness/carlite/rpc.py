"""Remote calls: msgpack-rpc over TCP, as a CARLA client speaks it.

A request is `[0, id, name, [[asynchronous], *arguments]]`, a reply `[1, id, nil, result]`. Requests
of one connection are answered in order, with one exception: a tick that has to wait lets requests
of the client's other threads pass. A client that ticks synchronously is blocked until its tick is
answered; after an asynchronous one everything waits.

Bytes that are no such request end that connection and nothing else. A request that cannot be served
is answered in the shape the client decodes as `RuntimeError`.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, cast

import msgpack

from harness.carlite import log
from harness.carlite.errors import CallError
from harness.carlite.inbox import DISMISSAL, MessageBacklog, MessageInbox
from harness.carlite.streams import StreamHub, pack_stream_token

FIRST_BYTE = 0x94
MOST_HELD = 64
RETRY = 0.0005
SILENCE, REPEATS = 2.5, 3
"""Seconds without a word from a client whose tick has run, and how often it then gets its snapshot.

The client library gives health checks of the Traffic Manager two seconds. When one is late, as on a
busy machine, it drops the next snapshot, for which the tick then waits until the client's time-out.
"""


class ReplyKind(Enum):
    """How a call's result is wrapped on the wire."""

    VALUE = "value"
    VOID = "void"
    PLAIN = "plain"


@dataclass(frozen=True)
class RemoteCall:
    """A remote call: `run(world, session, *arguments)` returns the answer to the client.

    `ticks` marks calls that may advance the world: `tick_cue`, and `apply_batch` if its last
    argument says so.
    """

    name: str
    run: Callable[..., object]
    reply: ReplyKind
    ticks: bool = False


@dataclass(kw_only=True)
class ClientSession:
    """One client's connection, as far as its calls need to know.

    Attributes:
        peer: who is calling, for messages.
        host: the address by which this client reached the server.
        streams: where its sensor data come from.
        traffic: where it finds the server's own Traffic Manager; None where clients bring theirs.
        snapshots: the stream id of the world that it was given last.
    """

    peer: str
    host: str
    streams: StreamHub
    traffic: tuple[str, int] | None
    snapshots: int = 0

    def make_token(self, stream_id: int) -> bytes:
        """Return the 24 bytes that let this client dial a stream."""
        return pack_stream_token(stream_id, self.host, self.streams.port)

    def expect_reader(self, stream_id: int) -> None:
        """Let the next tick wait a moment until this client has opened the stream."""
        self.streams.expect_reader(stream_id)


@dataclass(frozen=True)
class CallRequest:
    """One call as it came in."""

    id: int
    name: str
    asynchronous: bool
    arguments: list[object]


class TickGate(Protocol):
    """When one client's ticks may run."""

    def note_request(self, request: CallRequest) -> None:
        """Hear of every request once it was served."""

    def can_tick(self) -> bool:
        """Whether a tick may run now; asked again shortly where not."""


class RpcHost(Protocol):
    """What a connection needs of the server."""

    calls: dict[str, RemoteCall]
    connections: set[RpcConnection]
    backlog: MessageBacklog

    def open_client_session(self, peer: str, host: str) -> ClientSession:
        """Describe a new client to its calls."""

    def make_tick_gate(self) -> TickGate:
        """Say when a new client's ticks may run."""

    def run_call(self, call: RemoteCall, session: ClientSession, arguments: list[object]) -> object:
        """Run a call on the world."""

    def has_traffic_clients(self) -> bool:
        """Whether any client is connected to the Traffic Manager."""


def parse_call_request(message: object) -> CallRequest:
    """Return the request a message holds; ValueError when it is none."""
    match message:
        case [0, int(number), str(name), [[bool(asynchronous)], *arguments]] if (
            0 <= number < 1 << 32 and type(number) is int
        ):
            return CallRequest(number, name, asynchronous, arguments)
    raise ValueError("not a request")


def is_tick_request(call: RemoteCall, request: CallRequest) -> bool:
    """Whether serving the request moves the world on."""
    return call.ticks and (not request.arguments or request.arguments[-1] is True)


def wrap_call_result(reply: ReplyKind, value: object) -> object:
    """Wrap a result."""
    match reply:
        case ReplyKind.VALUE:
            return [[1, value]]
        case ReplyKind.VOID:
            return [[False]]
        case ReplyKind.PLAIN:
            return value


def wrap_call_failure(reply: ReplyKind, message: str) -> object:
    """Wrap a failure, which the client raises as `RuntimeError(message)`."""
    match reply:
        case ReplyKind.VALUE:
            return [[0, [message]]]
        case ReplyKind.VOID:
            return [[True, [message]]]
        case ReplyKind.PLAIN:
            return [[[0, [message]]]]


def guess_reply_kind(name: str) -> ReplyKind:
    """Guess how a client decodes the answer to a call we have never heard of."""
    asks = ("get_", "is_", "are_", "has_", "query_", "spawn_", "add_traffic", "cast_", "show_")
    return ReplyKind.VALUE if name.startswith(asks) else ReplyKind.VOID


def describe_call_failure(call: RemoteCall, problem: Exception, arguments: list[object]) -> str:
    """Return in one line why a call failed; log the traceback where it is a defect here."""
    if isinstance(problem, CallError):
        return str(problem)
    if isinstance(problem, TypeError):
        try:
            inspect.signature(call.run).bind(None, None, *arguments)
        except TypeError:
            return f"{call.name}: wrong number of arguments ({len(arguments)})"
    log.report_internal_error(problem)
    return f"{call.name}: {type(problem).__name__}: {problem}"


class RpcConnection(asyncio.Protocol):
    """One client: bytes in, calls run, bytes out."""

    def __init__(self, host: RpcHost) -> None:
        self._host = host
        self._tick_gate = host.make_tick_gate()
        self._held: deque[tuple[RemoteCall, CallRequest]] = deque()
        self._fresh = True
        self._barred = False
        self._choked = False
        self._dismissed = False
        self._repeats = 0
        self._silent_until = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._inbox = MessageInbox(host.backlog, self._hang_up)
        self._packer = msgpack.Packer(use_bin_type=True, unicode_errors="surrogateescape")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection; no greeting is sent."""
        self._transport = cast(asyncio.Transport, transport)
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = transport.get_extra_info("peername") or ("unknown", 0)
        here = transport.get_extra_info("sockname")
        self._session = self._host.open_client_session(f"{peer[0]}:{peer[1]}", here[0])
        self._host.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client and whatever it still waited for."""
        self._note_client_activity()
        self._held.clear()
        self._inbox.clear()
        self._host.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        """Serve every request that is complete."""
        self._note_client_activity()
        if self._fresh and data[0] != FIRST_BYTE:
            self._dismiss_client("not a CARLA client")
            return
        self._fresh = False
        self._inbox.feed(data)
        self._serve_requests()

    def pause_writing(self) -> None:
        """Serve no more until the client has read its replies."""
        self._choked = True
        self._pause_or_resume_reading()

    def resume_writing(self) -> None:
        """Go on where `pause_writing` left off."""
        self._choked = False
        self._pause_or_resume_reading()
        self._serve_requests()

    def close(self) -> None:
        """End the connection."""
        self._transport.abort()

    def _pause_or_resume_reading(self) -> None:
        """Read on, or not: what cannot be served yet stays with the sender."""
        if self._barred or self._choked or self._dismissed:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _serve_requests(self) -> None:
        self._serve_whole_requests()
        self._inbox.note_unfinished_bytes()

    def _serve_whole_requests(self) -> None:
        while not (self._barred or self._choked or self._dismissed or self._transport.is_closing()):
            try:
                request = parse_call_request(self._inbox.take_message())
            except msgpack.OutOfData:
                return
            except Exception as problem:
                self._dismiss_client(str(problem) or type(problem).__name__)
                return
            self._take_request(request)

    def _take_request(self, request: CallRequest) -> None:
        call = self._host.calls.get(request.name)
        if call is None:
            problem = f"{request.name}: carlite does not know this call"
            self._send_reply(request, wrap_call_failure(guess_reply_kind(request.name), problem))
        elif not is_tick_request(call, request):
            self._answer_call(call, request)
        else:
            self._held.append((call, request))
            if len(self._held) == 1:
                self._run_held_ticks()
            if self._held and (request.asynchronous or len(self._held) >= MOST_HELD):
                self._barred = True
                self._pause_or_resume_reading()

    def _run_held_ticks(self) -> None:
        """Run the ticks that were asked for, as far as they may run now."""
        while self._held and self._tick_gate.can_tick():
            self._answer_call(*self._held.popleft())
        if self._held:
            asyncio.get_running_loop().call_later(RETRY, self._run_held_ticks)
        elif self._barred:
            self._barred = False
            self._pause_or_resume_reading()
            asyncio.get_running_loop().call_soon(self._serve_requests)

    def _answer_call(self, call: RemoteCall, request: CallRequest) -> None:
        try:
            value = self._host.run_call(call, self._session, request.arguments)
            self._send_reply(request, wrap_call_result(call.reply, value))
        except Exception as problem:
            message = describe_call_failure(call, problem, request.arguments)
            self._send_reply(request, wrap_call_failure(call.reply, message))
        self._tick_gate.note_request(request)
        if is_tick_request(call, request):
            self._schedule_repeats(REPEATS)

    def _note_client_activity(self) -> None:
        """Note a word of the client: it goes on."""
        self._repeats = 0

    def _schedule_repeats(self, repeats: int) -> None:
        """Repeat the snapshot of a tick if no word comes of a client that may have dropped it."""
        self._repeats = 0
        if repeats and self._session.snapshots and self._host.has_traffic_clients():
            loop = asyncio.get_running_loop()
            self._repeats, self._silent_until = repeats, loop.time() + SILENCE
            if self._watch is None:
                self._watch = loop.call_at(self._silent_until, self._repeat_snapshot)

    def _repeat_snapshot(self) -> None:
        """Repeat the snapshot where it is time; else look again when it is."""
        self._watch = None
        if not self._repeats:
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._silent_until:
            self._watch = loop.call_at(self._silent_until, self._repeat_snapshot)
            return
        self._session.streams.repeat_frame(self._session.snapshots)
        self._schedule_repeats(self._repeats - 1)

    def _send_reply(self, request: CallRequest, result: object) -> None:
        self._transport.write(self._packer.pack([1, request.id, None, result]))

    def _dismiss_client(self, reason: str) -> None:
        """Read no more, and hang up after a while."""
        self._dismissed = True
        self._transport.pause_reading()
        asyncio.get_running_loop().call_later(DISMISSAL, self._inbox.give_up, reason)

    def _hang_up(self, reason: str) -> None:
        if self._transport.is_closing():
            return
        log.write_log_line(f"closed the connection from {self._session.peer}: {reason}")
        self._transport.abort()
