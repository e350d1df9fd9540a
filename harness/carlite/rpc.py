"""Remote calls: msgpack-rpc over TCP, as a CARLA client speaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from harness.carlite.streams import StreamHub, token


class Reply(Enum):
    """How a call's result is wrapped on the wire."""

    VALUE = "value"
    VOID = "void"
    PLAIN = "plain"


@dataclass(frozen=True)
class Call:
    """A remote call: `run(world, session, *arguments)` returns what the client is told.

    `ticks` marks calls that advance the world and so may have to wait for streams to open.
    """

    name: str
    run: Callable[..., object]
    reply: Reply
    ticks: bool = False


@dataclass(frozen=True)
class Session:
    """One client's connection, as far as its calls need to know.

    Attributes:
        peer: who is calling, for messages.
        host: the address by which this client reached the server.
        streams: where its sensor data come from.
        traffic: where it finds the server's own Traffic Manager; None where clients bring theirs.
    """

    peer: str
    host: str
    streams: StreamHub
    traffic: tuple[str, int] | None

    def token(self, stream_id: int) -> bytes:
        """Return the 24 bytes that let this client dial a stream."""
        return token(stream_id, self.host, self.streams.port)

    def expect(self, stream_id: int) -> None:
        """Let the next tick wait a moment until this client has opened the stream."""
        self.streams.expect(stream_id)
