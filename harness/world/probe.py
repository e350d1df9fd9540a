"""Asks a port whether CARLA answers there, before the client library touches it.

The client library aborts its whole process when something else listens. Two questions are asked:
CARLA reports its version from its own thread, even while its world hangs; the settings of the
episode come from the thread that moves the world.
"""

from __future__ import annotations

import socket
from contextlib import suppress

import msgpack

from harness.errors import AttemptError

LARGEST_REPLY = 4096


def probe(host: str, port: int, timeout: float = 5.0) -> str:
    """Return the version of the CARLA that listens, or fail with one line saying what is there."""
    where = f"{host}:{port}"
    version = episode = None
    try:
        with socket.create_connection((host, port), timeout) as connection:
            connection.settimeout(timeout)
            with suppress(ConnectionError):  # hung up before it has answered: no CARLA does that
                version = ask(connection, 1, "version")
                if is_version(version):
                    episode = ask(connection, 2, "get_episode_settings")
    except ConnectionRefusedError:
        raise AttemptError("server_launch", f"{where}: nothing listens there") from None
    except TimeoutError:
        raise AttemptError("server_hang", f"{where}: no answer within {timeout:g} s") from None
    except (OSError, UnicodeError) as problem:  # some names cannot even be asked for
        raise AttemptError("server_launch", f"{where}: {problem}") from None
    match version, episode:
        case [1, str(text)], [1, list()]:
            return text
        case [1, str()], [0, [str(said)]]:
            raise AttemptError("world_load", f"{where}: {said}")
        case _:
            raise AttemptError("port_conflict", f"{where}: something that is not CARLA listens")


def towns_at(host: str, port: int, timeout: float = 2.0) -> list[str]:
    """Return the towns of the CARLA that listens; nothing if it does not answer that."""
    with suppress(OSError), socket.create_connection((host, port), timeout) as connection:
        connection.settimeout(timeout)
        match ask(connection, 1, "get_available_maps"):
            case [1, [*maps]]:
                return sorted(str(name).rpartition("/")[2] for name in maps)
    return []


def is_version(answer: object) -> bool:
    """Return whether this is a version reply of CARLA."""
    match answer:
        case [1, str()]:
            return True
        case _:
            return False


def ask(connection: socket.socket, number: int, name: str, *arguments: int) -> object:
    """Make a remote call; return CARLA's answer, nothing if it is none."""
    connection.sendall(msgpack.packb([0, number, name, [[False], *arguments]]))
    match receive(connection):
        case [1, replied, None, [answer]] if replied == number:
            return answer
        case _:
            return None


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
