"""A client without the wheel: calls and streams as plain bytes."""

from __future__ import annotations

import socket
import struct
from typing import Any

import msgpack

from tests.conftest import PATIENCE, Carlite


class Raw:
    """One connection for calls."""

    def __init__(self, server: Carlite) -> None:
        self.connection = socket.create_connection((server.host, server.port), PATIENCE)
        self._unpacker = msgpack.Unpacker()
        self._number = 0

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *problem: object) -> None:
        self.connection.close()

    def reply(self, name: str, *arguments: object) -> Any:
        """Return what the server answers, as it wraps it."""
        self._number += 1
        request = [0, self._number, name, [[False], *arguments]]
        self.connection.sendall(msgpack.packb(request))
        while True:
            for kind, number, error, result in self._unpacker:
                assert (kind, number, error) == (1, self._number, None)
                return result
            data = self.connection.recv(1 << 16)
            assert data, "the server hung up"
            self._unpacker.feed(data)

    def value(self, name: str, *arguments: object) -> Any:
        """Return a call's value; RuntimeError when it failed."""
        ((ok, value),) = self.reply(name, *arguments)
        if not ok:
            raise RuntimeError(value[0])
        return value

    def void(self, name: str, *arguments: object) -> None:
        """Make a call that returns nothing; RuntimeError when it failed."""
        ((failed, *why),) = self.reply(name, *arguments)
        if failed:
            raise RuntimeError(why[0][0])

    def command(self, number: int, *fields: object) -> str:
        """Run a batch of one command and return its complaint, empty when there is none."""
        (((ok, value),),) = self.reply("apply_batch", [[[number, list(fields)]]], False)
        return "" if ok else str(value[0])

    def stream(self, stream_id: int) -> Stream:
        """Listen to a stream."""
        ((token,),) = (self.value("get_sensor_token", stream_id),)
        return Stream(token)


class Stream:
    """One connection for frames."""

    def __init__(self, token: bytes) -> None:
        stream_id, port, _, _, host = struct.unpack("<IHBB4s12x", token)
        self.connection = socket.create_connection((socket.inet_ntoa(host), port), PATIENCE)
        self.connection.sendall(struct.pack("<I", stream_id))

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *problem: object) -> None:
        self.connection.close()

    def frame(self) -> bytes:
        """Return the next frame: its header and body."""
        (length,) = struct.unpack("<I", self._take(4))
        return self._take(length)

    def _take(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count:
            data = self.connection.recv(count - len(taken))
            assert data, "the stream ended"
            taken += data
        return bytes(taken)
