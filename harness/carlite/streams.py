"""Sensor streams: who listens to what, and what happens to readers that are slow.

A client dials the address in a token, sends the four bytes of a stream id and from then on only
reads frames. Streams are not registered: an id nobody publishes to is a connection that stays
silent, so a client that holds on to a destroyed sensor neither fails nor dials again and again.

Frames go straight to the socket; what the kernel does not take at once waits in a queue of views on
the same bytes, shared by all readers. A patient hub (synchronous mode) lets that queue grow to
`HIGH_WATER`, then `settled` asks the server to wait; a reader that has not caught up in time is
stalled and loses whole frames until its queue is empty. An impatient hub drops frames while a write
is pending.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque

from harness.carlite import log

HIGH_WATER = 8 << 20
PATIENCE = 1.0
DIAL_TIME = 0.2
TCP, IP_V4 = 1, 1


def token(stream_id: int, host: str, port: int) -> bytes:
    """Return the 24 bytes that tell a client where to dial for a stream."""
    return struct.pack("<IHBB4s12x", stream_id, port, TCP, IP_V4, socket.inet_aton(host))


class Reader:
    """One connection: first its stream id, then frames, until either side closes it."""

    def __init__(self, hub: StreamHub, connection: socket.socket) -> None:
        self.stream_id: int | None = None
        self.waiting = 0
        self._late_since: float | None = None
        self.stalled = False
        self._hub = hub
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._greeting = b""
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop.add_reader(connection.fileno(), self._on_readable)

    def send(self, header: bytes, payload: bytes) -> None:
        """Hand a frame to the kernel, or queue what it does not take."""
        sent = 0
        if not self._queue:
            try:
                sent = self._socket.sendmsg((header, payload))
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                self.close()
                return
        if sent == len(header) + len(payload):
            return
        if not self._queue:
            self._loop.add_writer(self._socket.fileno(), self._on_writable)
        if sent < len(header):
            self._queue.append(memoryview(header)[sent:])
            sent = len(header)
        self._queue.append(memoryview(payload)[sent - len(header) :])
        self.waiting = sum(map(len, self._queue))

    def is_late(self, now: float) -> bool:
        """Whether the server should wait for this reader; its time runs from the first asking."""
        if self.stalled or self.waiting <= HIGH_WATER:
            self._late_since = None
            return False
        if self._late_since is None:
            self._late_since = now
        self.stalled = now - self._late_since > PATIENCE
        return not self.stalled

    def close(self) -> None:
        """Forget the connection; harmless when it is closed already."""
        if self._socket.fileno() < 0:
            return
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        self._queue.clear()
        self.waiting = 0
        self._hub.forget(self)

    def _on_readable(self) -> None:
        """Take the stream id; afterwards reading only tells when the client has gone."""
        try:
            data = self._socket.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        elif self.stream_id is None:
            self._greeting += data
            if len(self._greeting) >= 4:
                (self.stream_id,) = struct.unpack_from("<I", self._greeting)
                self._hub.admit(self)

    def _on_writable(self) -> None:
        try:
            while self._queue:
                sent = self._socket.sendmsg(list(self._queue)[:64])
                self.waiting -= sent
                while self._queue and sent >= len(self._queue[0]):
                    sent -= len(self._queue.popleft())
                if self._queue:
                    self._queue[0] = self._queue[0][sent:]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        self._loop.remove_writer(self._socket.fileno())
        self.stalled = False


class StreamHub:
    """All readers of all streams, behind one listening socket."""

    def __init__(self, listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self.patient = True
        self._listener = listener
        self._readers: dict[int, list[Reader]] = {}
        self._strangers: set[Reader] = set()
        self._expected: list[tuple[int, float]] = []

    def open(self) -> None:
        """Start accepting readers in the running event loop."""
        self._listener.setblocking(False)
        self._listen()

    def close(self) -> None:
        """Close the listening socket and every reader."""
        asyncio.get_running_loop().remove_reader(self._listener.fileno())
        self._listener.close()
        known = [reader for readers in self._readers.values() for reader in readers]
        for reader in [*self._strangers, *known]:
            reader.close()

    @property
    def connected(self) -> bool:
        """Whether anybody listens to anything."""
        return bool(self._readers)

    def has_listener(self, stream_id: int) -> bool:
        """Whether a frame published now would reach somebody."""
        return stream_id in self._readers

    def publish(self, stream_id: int, payload: bytes) -> None:
        """Send one frame to everybody who listens to the stream; empty frames are not sent."""
        readers = self._readers.get(stream_id)
        if not readers or not payload:
            return
        header = struct.pack("<I", len(payload))
        for reader in tuple(readers):
            if reader.stalled or (reader.waiting and not self.patient):
                continue
            reader.send(header, payload)

    def expect(self, stream_id: int) -> None:
        """Note that a client was told where to find a stream and is about to dial."""
        deadline = asyncio.get_running_loop().time() + DIAL_TIME
        self._expected.append((stream_id, deadline))

    def all_open(self) -> bool:
        """Whether every expected reader has dialled, or has had its time."""
        now = asyncio.get_running_loop().time()
        self._expected = [entry for entry in self._expected if entry[1] > now]
        return not self._expected

    def settled(self) -> bool:
        """Whether the next frame may come: no patient reader is far behind, or its time is up."""
        now = asyncio.get_running_loop().time()
        return not [r for readers in self._readers.values() for r in readers if r.is_late(now)]

    def admit(self, reader: Reader) -> None:
        """Take a reader in, once it has named its stream."""
        assert reader.stream_id is not None
        self._strangers.discard(reader)
        self._readers.setdefault(reader.stream_id, []).append(reader)
        for entry in self._expected:
            if entry[0] == reader.stream_id:
                self._expected.remove(entry)
                break

    def forget(self, reader: Reader) -> None:
        """Drop a reader whose connection is closed."""
        self._strangers.discard(reader)
        if reader.stream_id is not None:
            readers = self._readers[reader.stream_id]
            readers.remove(reader)
            if not readers:
                del self._readers[reader.stream_id]

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):
            return
        except OSError as problem:
            log.say(f"no more stream connections: {problem.strerror}")
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._listener.fileno())
            loop.call_later(1.0, self._listen)
            return
        self._strangers.add(Reader(self, connection))

    def _listen(self) -> None:
        if self._listener.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)
