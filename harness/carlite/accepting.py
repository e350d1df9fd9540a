"""Accepting connections: the loop of every listening socket of the server.

A loop that only tries again when the process has no file descriptors left is woken at once, for
ever: the connection that waits keeps the socket readable. This one prints a line and pauses. It
also stops before the last descriptor is taken: the server needs some for towns and compiled code.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.carlite import log

PAUSE = 0.5
"""Seconds until connections are accepted again after there were no descriptors."""
RESERVED = 32
"""Descriptors that no connection takes; of a small limit, an eighth."""
MOST_DESCRIPTORS = 1 << 16
"""Descriptors that the server asks the system for, where the system allows so many."""
KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))
"""A peer whose machine does not answer for two minutes is gone, though it never hung up."""

Take = Callable[[socket.socket], object]


class Acceptor:
    """Accepts the connections of one listening socket in an event loop.

    Args:
        listener: the socket, which the acceptor owns from now on.
        take: is called with each connection that has come in.
        name: what the connections are, in the plural, for messages.
    """

    def __init__(self, listener: socket.socket, take: Take, name: str) -> None:
        self._listener = listener
        self._take = take
        self._name = name
        self._is_short = False

    def open(self) -> None:
        """Start accepting in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._listen()

    def close(self) -> None:
        """Accept no more, and close the listening socket."""
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener.fileno())
            self._listener.close()

    def _listen(self) -> None:
        if self._listener.fileno() >= 0:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        """Accept one connection; the loop comes back while others wait."""
        try:
            refuse_last_descriptors(self._listener)
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionError):
            return
        except OSError as problem:
            self._pause(problem)
            return
        if self._is_short:
            self._is_short = False
            log.write_log_line(f"{self._name} are accepted again")
        try:
            keep_alive(connection)
            self._take(connection)
        except OSError as problem:  # it was closed in the meantime, or cannot be watched
            log.write_log_line(f"lost one of the {self._name}: {problem.strerror}")
            connection.close()

    def _pause(self, problem: OSError) -> None:
        """Let connections wait in the kernel; say so once, not at every try."""
        if not self._is_short:
            self._is_short = True
            log.write_log_line(f"no more {self._name} until others end: {problem.strerror}")
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(PAUSE, self._listen)


class ProtocolStarter:
    """Gives accepted connections to asyncio, each with a protocol of its own."""

    def __init__(self, factory: Callable[[], asyncio.Protocol]) -> None:
        self._factory = factory
        self._starting: set[asyncio.Task[object]] = set()

    def __call__(self, connection: socket.socket) -> None:
        """Start the protocol of a connection in the running event loop."""
        loop = asyncio.get_running_loop()
        start = loop.create_task(self._start(loop, connection))
        self._starting.add(start)  # the loop itself holds tasks weakly
        start.add_done_callback(self._starting.discard)

    async def _start(self, loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
        try:
            await loop.connect_accepted_socket(self._factory, connection)
        except OSError as problem:
            log.write_log_line(f"lost a connection: {problem.strerror}")
            connection.close()


def refuse_last_descriptors(listener: socket.socket) -> None:
    """Raise what the system raises without descriptors, while there are a few left."""
    # The system gives the lowest number that is free: a connection would get this one.
    following = os.dup(listener.fileno())
    os.close(following)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and following >= limit - min(RESERVED, limit // 8):
        raise OSError(None, f"only {limit - following} of {limit} file descriptors are left")


def keep_alive(connection: socket.socket) -> None:
    """Let the system ask a silent peer, now and then, whether it is still there."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


@contextmanager
def more_descriptors() -> Iterator[None]:
    """Raise the process's limit of file descriptors as far as it may, while the block lasts."""
    limit, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_DESCRIPTORS if allowed == resource.RLIM_INFINITY else min(allowed, MOST_DESCRIPTORS)
    is_enough = limit == resource.RLIM_INFINITY or limit >= most
    with contextlib.suppress(OSError, ValueError):
        if not is_enough:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, allowed))
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, allowed))
