"""Ports on this machine that one holder at a time may use.

A trial bind alone is a race: two who try at once both find the port free. A lock file for each
port decides it, and the system drops the lock when its last holder has exited, for whatever reason.
The folder is the same for all users and jobs: with one for each user or job, locks would not meet.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.common.errors import AttemptError
from harness.common.locks import lock_file

FOLDER = Path("/tmp/crucible-ports")


@dataclass(frozen=True, slots=True)
class ReservedPorts:
    """Consecutive ports that are ours."""

    first: int
    locks: tuple[int, ...]  # file descriptors; a process that inherits them holds the ports as well


@contextmanager
def reserve_ports(firsts: Iterable[int], count: int = 1) -> Iterator[ReservedPorts]:
    """Hold the first `count` consecutive ports that are free and not locked.

    Args:
        firsts: candidates for the first port.
        count: how many follow each other.
    """
    for first in firsts:
        ports = range(first, first + count)
        with ExitStack() as held:
            locks = [held.enter_context(hold_named_lock(str(port))) for port in ports]
            # the locks first: a port that is free may be another holder's in a moment
            if all(lock is not None for lock in locks) and all(map(can_bind_port, ports)):
                yield ReservedPorts(first, tuple(lock for lock in locks if lock is not None))
                return
    raise AttemptError("port_conflict", f"no free ports on this machine (locks are in {FOLDER})")


@contextmanager
def hold_named_lock(name: str) -> Iterator[int | None]:
    """Hold a lock by name; None if another process has it."""
    try:
        lock = open_lock_file(name)
    except OSError as problem:
        refuse_without_descriptors(problem)
        yield None
        return
    try:
        yield lock if lock_file(lock) else None
    finally:
        os.close(lock)


def open_lock_file(name: str) -> int:
    """Open a lock's file, which any user of the machine may have created."""
    try:
        FOLDER.mkdir()
        FOLDER.chmod(0o1777)
    except FileExistsError:
        pass
    path = FOLDER / name
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        made = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CREAT, 0o644)
        os.fchmod(made, 0o644)
        return made


def refuse_without_descriptors(problem: OSError) -> None:
    """Refuse to go on where no file can be opened: that is no port that is taken."""
    if problem.errno in (errno.EMFILE, errno.ENFILE):
        message = f"{problem.strerror}: raise the limit (ulimit -n)"
        raise AttemptError("server_launch", message) from None


def can_bind_port(port: int) -> bool:
    """Return whether a server could listen there, on any address."""
    try:
        trial = socket.socket()
    except OSError as problem:
        refuse_without_descriptors(problem)
        raise
    with trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("", port))
        except OSError:
            return False
    return True
