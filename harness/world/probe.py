"""Asks a port whether CARLA answers there, before the client library touches it.

The client library aborts its whole process when something else listens. Two questions are asked:
CARLA reports its version from its own thread, even while its world hangs; the settings of the
episode come from the thread that moves the world.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import msgpack

from harness.common.errors import AttemptError

LARGEST_REPLY = 4096


def probe_carla(host: str, port: int, timeout: float = 5.0) -> str:
    """Return the version of the CARLA that listens, or fail with one line saying what is there.

    Args:
        host: name or address.
        port: of remote calls.
        timeout: seconds for each answer.

    Returns:
        Such as `0.9.16`.

    Raises:
        AttemptError: nothing listens, something else does, or it does not answer.
    """
    where = f"{host}:{port}"
    # two questions: is it CARLA, and does its world move
    version = episode = None
    try:
        connection = socket.create_connection((host, port), timeout)
        # One that hangs up before it has answered is no CARLA.
        with connection, suppress(ConnectionError):
            version = call_remote(connection, 1, "version", timeout=timeout)
            if is_version_reply(version):
                episode = call_remote(connection, 2, "get_episode_settings", timeout=timeout)
    except ConnectionRefusedError:
        raise AttemptError("server_launch", f"{where}: nothing listens there") from None
    except TimeoutError:
        raise AttemptError("server_hang", f"{where}: no answer within {timeout:g} s") from None
    except (OSError, UnicodeError) as problem:  # some names cannot even be asked for
        raise AttemptError("server_launch", f"{where}: {problem}") from None
    # what the answers mean
    match version, episode:
        case [1, str(text)], [1, list()]:
            return text
        case [1, str()], [0, [str(said)]]:
            raise AttemptError("world_load", f"{where}: {said}")
        case _:
            raise AttemptError("port_conflict", f"{where}: something that is not CARLA listens")


def list_server_towns(host: str, port: int, timeout: float = 2.0) -> list[str]:
    """Return the towns of the CARLA that listens; nothing if it does not answer that."""
    with suppress(OSError), socket.create_connection((host, port), timeout) as connection:
        match call_remote(connection, 1, "get_available_maps", timeout=timeout):
            case [1, [*maps]]:
                return sorted(str(name).rpartition("/")[2] for name in maps)
    return []


def is_version_reply(answer: object) -> bool:
    """Return whether this is a version reply of CARLA."""
    match answer:
        case [1, str()]:
            return True
        case _:
            return False


def call_remote(
    connection: socket.socket, number: int, name: str, *arguments: int, timeout: float
) -> object:
    """Make a remote call; return CARLA's answer, nothing if it is none.

    The whole answer must come within the timeout: what listens may send it byte by byte.
    """
    until = time.monotonic() + timeout
    connection.settimeout(timeout)
    connection.sendall(msgpack.packb([0, number, name, [[False], *arguments]]))
    match receive_reply(connection, until):
        case [1, replied, None, [answer]] if replied == number:
            return answer
        case _:
            return None


def receive_reply(connection: socket.socket, until: float) -> object:
    """Return the first msgpack object that comes, if one does; TimeoutError when it is late."""
    unpacker = msgpack.Unpacker(max_buffer_size=LARGEST_REPLY, strict_map_key=False)
    received = 0
    while received < LARGEST_REPLY:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
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
