"""The Traffic Manager's own port: plain msgpack-rpc, as the wheel's remote proxy speaks it.

Unlike the simulator's calls these carry no metadata and their results are not wrapped: a request
is `[0, id, name, arguments]`, its reply `[1, id, error, result]` with rpclib's own error slot.

The client library gives every call two seconds. When the first one is late it starts a Traffic
Manager of its own without a word; when a later one is late, the next snapshot raises. So the port
has a thread of its own, which is never busy with the world: it answers health checks by itself,
and acknowledges orders (register a vehicle, set a speed) as soon as it has understood them. The
world carries them out, in their order, before whatever else it is asked.

Why it is a thread, not a process: decision 0028.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

import msgpack

from harness.carlite import log
from harness.carlite.accepting import Acceptor, ProtocolStarter
from harness.carlite.errors import CallError
from harness.carlite.inbox import DISMISSAL, MessageBacklog, MessageInbox
from harness.carlite.traffic.endpoint import ASKING, SETTLED, decode_traffic_call
from harness.carlite.traffic.manager import TrafficManager

UNREAD = 8 << 20
"""Bytes; a peer that does not read its replies is dropped once so much waits for it."""

MOST_ORDERS = 100_000
"""Orders that may wait for the world; who gives more of them is dropped."""

Answer = Callable[[str | None, object], None]


class TrafficOrder(NamedTuple):
    """Something for the world to do; `answer` gets the outcome, where a caller waits for it."""

    name: str
    arguments: list[object]
    answer: Answer | None


class TrafficPort:
    """Listens in a thread of its own; `wake` is called there when an order has come in."""

    def __init__(self, listener: socket.socket, wake: Callable[[], object]) -> None:
        self.backlog = MessageBacklog()
        self.clients = 0
        self.loop = asyncio.new_event_loop()
        self._orders: deque[TrafficOrder] = deque()
        self._wake = wake
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        starter = ProtocolStarter(lambda: TrafficConnection(self))
        self._acceptor = Acceptor(listener, starter, "connections to the Traffic Manager")
        asyncio.run_coroutine_threadsafe(self._open(), self.loop).result()

    def queue_order(self, order: TrafficOrder) -> None:
        """Leave an order for the world, in the port's thread."""
        if len(self._orders) >= MOST_ORDERS:
            raise ValueError("too many calls at once")
        self._orders.append(order)
        self._wake()

    def run_orders(self, manager: TrafficManager) -> None:
        """Do all that was ordered, in the world's thread."""
        while self._orders:
            name, arguments, answer = self._orders.popleft()
            error, result = None, None
            try:
                result = getattr(manager, name)(*arguments)
            except CallError as refusal:
                error = str(refusal)
            except Exception as problem:  # a defect in one call must not end the others
                log.report_internal_error(problem)
                error = f"{name}: {problem}"
            if answer is not None:
                self.loop.call_soon_threadsafe(answer, error, result)

    async def _open(self) -> None:
        """Start accepting, in the port's thread."""
        log.take_asyncio_lines(self.loop)
        self._acceptor.open()

    def close(self) -> None:
        """End the thread; clients notice when the process ends."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self._acceptor.close()


class TrafficConnection(asyncio.Protocol):
    """One client of the Traffic Manager."""

    def __init__(self, port: TrafficPort) -> None:
        self._port = port
        self._inbox = MessageInbox(port.backlog, self._hang_up)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for replies."""
        self._port.clients += 1
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget what was unfinished."""
        self._port.clients -= 1
        self._inbox.clear()

    def data_received(self, data: bytes) -> None:
        """Answer every whole request; bytes that are none close this connection alone."""
        self._inbox.feed(data)
        try:
            while not self._transport.is_closing():
                self._serve_message(self._inbox.take_message())
        except msgpack.OutOfData:
            self._inbox.note_unfinished_bytes()
        except Exception as problem:  # whatever strangers may send
            self._dismiss_client(str(problem) or type(problem).__name__)

    def _serve_message(self, message: object) -> None:
        match message:
            case [0, int(number), name, arguments]:
                self._take_call(name, arguments, number)
            case [2, name, arguments]:
                self._take_call(name, arguments, None)
            case _:
                raise ValueError("not a request")

    def _take_call(self, name: object, arguments: object, number: int | None) -> None:
        """Answer a call, or leave it to the world."""
        try:
            called, values = decode_traffic_call(name, arguments)
        except CallError as refusal:
            self._send_reply(number, str(refusal), None)
            return
        if called in SETTLED:
            self._send_reply(number, None, SETTLED[called])
        elif called in ASKING:
            self._port.queue_order(
                TrafficOrder(called, values, lambda e, result: self._send_reply(number, e, result))
            )
        else:
            self._port.queue_order(TrafficOrder(called, values, None))
            self._send_reply(number, None, None)

    def _send_reply(self, number: int | None, error: str | None, result: object) -> None:
        if number is None or self._transport.is_closing():
            return
        reply = [1, number, error, result]
        self._transport.write(msgpack.packb(reply, unicode_errors="surrogateescape"))
        if self._transport.get_write_buffer_size() > UNREAD:
            self._inbox.give_up("replies are not read")

    def _dismiss_client(self, reason: str) -> None:
        """Read no more, and hang up after a while."""
        self._transport.pause_reading()
        self._port.loop.call_later(DISMISSAL, self._inbox.give_up, reason)

    def _hang_up(self, reason: str) -> None:
        if not self._transport.is_closing():
            log.write_log_line(f"closed a connection to the Traffic Manager: {reason}")
            self._transport.abort()
