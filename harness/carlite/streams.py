"""Sensor streams: who listens to what, and what happens to readers that are slow.

A client dials the address in a token, sends the four bytes of a stream id and from then on only
reads frames. Streams are not registered: an id without a publisher is a connection that stays
silent, so a client that holds on to a destroyed sensor neither fails nor dials again and again.

Frames go straight to the socket; what the kernel does not take at once waits in a queue of views on
the same bytes, shared by all readers. A patient hub (synchronous mode) lets that queue grow to
`HIGH_WATER`, then `settled` asks the server to wait; a reader that has not caught up in time is
stalled and loses whole frames until its queue is empty. An impatient hub drops frames while a write
is pending.

A stream may have further ids. The client library keeps its connections by stream id and crashes
when it opens a stream again before the old connection is closed: no client gets the same id twice.
A client that was given such an id and dials late, as its machine is busy, gets the latest frame
it missed: a client that has asked for a tick waits for the snapshot of that tick, and for no other.
For the same reason a reader by such an id that has lost frames gets the last of them in the end.

Why no stream id is used twice: decision 0014.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
from collections import deque
from itertools import count

from harness.carlite.accepting import Acceptor

HIGH_WATER = 8 << 20
PATIENCE = 1.0
DIAL_TIME = 0.2
HOLD = 1.0
TCP, IP_V4 = 1, 1
MOST_UNDIALLED = 64
FURTHER, SERIALS, ID_BITS = 1 << 31, 1 << 23, 8
"""A further id: the top bit, a serial number, and the stream's first id in the lowest bits.

Serial numbers do not start at 0: a client of a server that is gone may dial this one by its id.
"""


def pack_stream_token(stream_id: int, host: str, port: int) -> bytes:
    """Return the 24 bytes that name the address of a stream to a client.

    Args:
        stream_id: number of the stream.
        host: IPv4 address.
        port: of the streams.
    """
    return struct.pack("<IHBB4s12x", stream_id, port, TCP, IP_V4, socket.inet_aton(host))


def resolve_stream_id(stream_id: int) -> int:
    """Return the id a stream is published under, given any id it may be dialled by."""
    return stream_id & ((1 << ID_BITS) - 1) if stream_id & FURTHER else stream_id


class FrameReader:
    """One connection: first its stream id, then frames, until either side closes it."""

    def __init__(self, hub: StreamHub, connection: socket.socket) -> None:
        self.dialled: int | None = None
        self.waiting = 0
        self._late_since: float | None = None
        self.stalled = False
        self._held = False
        self._hub = hub
        self._socket = connection
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self._lost = b""
        self._greeting = b""
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop.add_reader(connection.fileno(), self._on_readable)

    def send_frame(self, header: bytes, payload: bytes) -> None:
        """Hand a frame to the kernel, or queue what it does not take."""
        self._lost = b""
        sent = 0
        # straight to the kernel, unless something waits before it
        if not (self._queue or self._held):
            try:
                sent = self._socket.sendmsg((header, payload))
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                self.close()
                return
        # all of it went
        if sent == len(header) + len(payload):
            return
        # queue what did not, in order; the loop says when there is room
        if not (self._queue or self._held):
            self._loop.add_writer(self._socket.fileno(), self._on_writable)
        if sent < len(header):
            self._queue.append(memoryview(header)[sent:])
            sent = len(header)
        self._queue.append(memoryview(payload)[sent - len(header) :])
        self.waiting = sum(map(len, self._queue))

    def skip_frame(self, payload: bytes) -> None:
        """Go without a frame; by a further id, the last one comes once the queue is empty."""
        assert self.dialled is not None
        if self.dialled & FURTHER:
            self._lost = payload

    def is_late(self, now: float) -> bool:
        """Whether the server should wait for this reader; its time runs from the first asking."""
        if self.stalled or self.waiting <= HIGH_WATER:
            self._late_since = None
            return False
        if self._late_since is None:
            self._late_since = now
        self.stalled = now - self._late_since > PATIENCE
        return not self.stalled

    def hold_frames(self) -> None:
        """Let frames wait for a while: the client is about to close this connection."""
        self._held = True
        self._loop.remove_writer(self._socket.fileno())
        self._loop.call_later(HOLD, self._release_frames)

    def close(self) -> None:
        """Forget the connection; harmless when it is closed already."""
        if self._socket.fileno() < 0:
            return
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        self._queue.clear()
        self._lost = b""
        self.waiting = 0
        self._hub.forget_reader(self)

    def _release_frames(self) -> None:
        self._held = False
        if self._queue:
            self._loop.add_writer(self._socket.fileno(), self._on_writable)

    def _on_readable(self) -> None:
        """Take the stream id; afterwards reading only shows when the client has disconnected."""
        try:
            data = self._socket.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
        elif self.dialled is None:
            self._greeting += data
            if len(self._greeting) >= 4:
                (self.dialled,) = struct.unpack_from("<I", self._greeting)
                self._hub.admit_reader(self)

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
        if self._lost:
            self.send_frame(struct.pack("<I", len(self._lost)), self._lost)


class StreamHub:
    """All readers of all streams, behind one listening socket."""

    def __init__(self, listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self.patient = True
        self._acceptor = Acceptor(listener, self._greet, "stream connections")
        self._readers: dict[int, list[FrameReader]] = {}
        self._strangers: set[FrameReader] = set()
        self._expected: list[tuple[int, float]] = []
        self._missed: dict[int, bytes] = {}
        self._latest: dict[int, bytes] = {}
        self._serials = count(secrets.randbelow(SERIALS))

    def open(self) -> None:
        """Start accepting readers in the running event loop."""
        self._acceptor.open()

    def close(self) -> None:
        """Close the listening socket and every reader."""
        self._acceptor.close()
        known = [reader for readers in self._readers.values() for reader in readers]
        for reader in [*self._strangers, *known]:
            reader.close()

    @property
    def connected(self) -> bool:
        """Whether any stream has a reader."""
        return bool(self._readers)

    def has_listener(self, stream_id: int) -> bool:
        """Whether a frame published now would reach a reader."""
        return stream_id in self._readers

    def publish(self, stream_id: int, payload: bytes) -> None:
        """Send one frame to all readers of the stream; empty frames are not sent."""
        for dialled in self._missed:
            if resolve_stream_id(dialled) == stream_id:
                self._missed[dialled] = payload
        if stream_id in self._latest:
            self._latest[stream_id] = payload
        readers = self._readers.get(stream_id)
        if not readers or not payload:
            return
        header = struct.pack("<I", len(payload))
        for reader in tuple(readers):
            if reader.stalled or (reader.waiting and not self.patient):
                reader.skip_frame(payload)
            else:
                reader.send_frame(header, payload)

    def repeat_frame(self, dialled: int) -> None:
        """Send the latest frame again to those who read by a further id."""
        payload = self._latest.get(resolve_stream_id(dialled), b"")
        for reader in tuple(self._readers.get(resolve_stream_id(dialled), ())):
            if reader.dialled == dialled and payload and not reader.waiting:
                reader.send_frame(struct.pack("<I", len(payload)), payload)

    def make_further_id(self, stream_id: int) -> int:
        """Return one more id by which a stream can be dialled."""
        self._latest.setdefault(stream_id, b"")
        return FURTHER | next(self._serials) % SERIALS << ID_BITS | stream_id

    def hold_readers(self, dialled: int) -> None:
        """Let frames wait for readers of that id, until they close or `HOLD` has passed."""
        for reader in self._readers.get(resolve_stream_id(dialled), ()):
            if reader.dialled == dialled:
                reader.hold_frames()

    def expect_reader(self, stream_id: int) -> None:
        """Note that a client was given a stream's address and is about to dial."""
        deadline = asyncio.get_running_loop().time() + DIAL_TIME
        self._expected.append((stream_id, deadline))
        if stream_id & FURTHER:
            self._missed[stream_id] = b""
            if len(self._missed) > MOST_UNDIALLED:
                del self._missed[next(iter(self._missed))]

    def has_all_readers(self) -> bool:
        """Whether every expected reader has dialled, or has had its time."""
        now = asyncio.get_running_loop().time()
        self._expected = [entry for entry in self._expected if entry[1] > now]
        return not self._expected

    def is_settled(self) -> bool:
        """Whether the next frame may come: no patient reader is far behind, or its time is up."""
        now = asyncio.get_running_loop().time()
        return not [r for readers in self._readers.values() for r in readers if r.is_late(now)]

    def admit_reader(self, reader: FrameReader) -> None:
        """Take a reader in, once it has named its stream."""
        assert reader.dialled is not None
        self._strangers.discard(reader)
        self._readers.setdefault(resolve_stream_id(reader.dialled), []).append(reader)
        for entry in self._expected:
            if entry[0] == reader.dialled:
                self._expected.remove(entry)
                break
        if missed := self._missed.pop(reader.dialled, b""):
            reader.send_frame(struct.pack("<I", len(missed)), missed)

    def forget_reader(self, reader: FrameReader) -> None:
        """Drop a reader whose connection is closed."""
        self._strangers.discard(reader)
        if reader.dialled is not None:
            stream_id = resolve_stream_id(reader.dialled)
            readers = self._readers[stream_id]
            readers.remove(reader)
            if not readers:
                del self._readers[stream_id]

    def _greet(self, connection: socket.socket) -> None:
        """Wait for the id of the stream that a new connection is to read."""
        self._strangers.add(FrameReader(self, connection))
