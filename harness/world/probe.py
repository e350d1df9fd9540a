"""Asks a port whether CARLA answers there, before the client library touches it.

The client library aborts its whole process when something else listens.
"""

from __future__ import annotations

import socket

import msgpack

from harness.errors import AttemptError

REQUEST = msgpack.packb([0, 1, "version", [[False]]])
LARGEST_REPLY = 4096


def probe(host: str, port: int, timeout: float = 5.0) -> str:
    """Return the version of the CARLA that listens, or fail with one line saying what is there."""
    where = f"{host}:{port}"
    try:
        with socket.create_connection((host, port), timeout) as connection:
            connection.settimeout(timeout)
            connection.sendall(REQUEST)
            reply = receive(connection)
    except ConnectionRefusedError:
        raise AttemptError("server_launch", f"{where}: nothing listens there") from None
    except TimeoutError:
        raise AttemptError("server_hang", f"{where}: no answer within {timeout:g} s") from None
    except OSError as problem:
        raise AttemptError("server_launch", f"{where}: {problem}") from None
    match reply:
        case [1, 1, None, [[1, str(version)]]]:
            return version
        case _:
            raise AttemptError("port_conflict", f"{where}: something that is not CARLA listens")


def receive(connection: socket.socket) -> object:
    """Return the first msgpack object that comes, if one does."""
    unpacker = msgpack.Unpacker(max_buffer_size=LARGEST_REPLY, strict_map_key=False)
    received = 0
    while received < LARGEST_REPLY:
        data = connection.recv(LARGEST_REPLY)
        if not data:
            return None
        received += len(data)
        try:
            unpacker.feed(data)
            return next(iter(unpacker))
        except StopIteration:
            continue
        except (ValueError, msgpack.UnpackException):
            return None
    return None
