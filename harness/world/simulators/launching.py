"""Starts a server under its keeper, waits for it, and ends all of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from harness.common.environments import build_child_environment
from harness.common.errors import AttemptError
from harness.common.kernels import make_shared_kernel_environment
from harness.common.subprocesses import end_group, group_is_there, is_running, wait_until_true
from harness.world.simulators import keeper
from harness.world.simulators.lease import LaunchError

T = TypeVar("T")

PAUSE = 0.05
SETTLE = 5.0
"""Seconds between SIGTERM and SIGKILL for a server, and then until it has exited."""
TAIL = 2000
"""Characters of a server's log worth keeping."""


class LaunchedServer:
    """A server's processes: the keeper, which leads their group, and all it started."""

    def __init__(self, command: Sequence[str], cwd: Path, locks: Sequence[int], log: IO[bytes]):
        self._log = log
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), *command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=build_child_environment(make_shared_kernel_environment()),
            start_new_session=True,
            pass_fds=locks,
        )

    def is_server_running(self) -> bool:
        """Return whether keeper and server run."""
        return is_running(self._keeper)

    def read_log_tail(self) -> str:
        """Return the end of the server's log."""
        if self._log.closed:
            return ""
        # no more than that, also while the server goes on writing
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), TAIL, max(size - TAIL, 0)).decode(errors="replace")

    def read_log_since(self, since: int) -> bytes:
        """Return the server's log from a byte on."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), max(size - since, 0), since)

    def wait_for(self, answer: Callable[[], T | None], seconds: float) -> T:
        """Return the first answer there is; a server that ends or takes too long has failed."""
        until = time.monotonic() + seconds
        _starting[threading.get_ident()] = self
        try:
            while (reply := answer()) is None:
                if not self.is_server_running():
                    raise self._make_launch_error("ended at the start")
                if time.monotonic() > until:
                    raise self._make_launch_error(f"not ready after {seconds:g} s")
                time.sleep(PAUSE)
            return reply
        finally:
            del _starting[threading.get_ident()]

    def _make_launch_error(self, how: str) -> LaunchError:
        tail = self.read_log_tail()
        reason = get_last_line(tail)
        return LaunchError(f"{how}; last line of its log: {reason}" if reason else how, tail)

    def kill_at_once(self) -> None:
        """Kill the whole group, which has nothing to save; who waits for it finds it ended."""
        with suppress(ProcessLookupError):
            os.killpg(self._keeper.pid, signal.SIGKILL)

    def kill_server(self) -> None:
        """Kill the whole group; wait until it has exited and its ports are free."""
        end_group(self._keeper, SETTLE)
        wait_until_true(SETTLE, lambda: not group_is_there(self._keeper.pid))


_starting: dict[int, LaunchedServer] = {}
"""Servers that are not ready yet, by the thread that waits for each."""


def kill_starting_server(thread: int) -> None:
    """Kill the server that a thread waits for, if it waits for one.

    Args:
        thread: its identifier.
    """
    server = _starting.get(thread)
    if server is not None:
        server.kill_at_once()


@contextmanager
def launch_server(
    command: Sequence[str], cwd: Path, locks: Sequence[int] = ()
) -> Iterator[LaunchedServer]:
    """Run a server while the block lasts; it holds the locks as long as it is there.

    Args:
        command: program and arguments.
        cwd: directory that it runs in.
        locks: descriptors that it inherits, so that locks last as long as it.

    Raises:
        LaunchError: no process can be started.
    """
    with open_server_log() as log:
        try:
            server = LaunchedServer(command, cwd, locks, log)
        except OSError as problem:
            raise LaunchError(f"no further process: {problem.strerror}", "") from None
        try:
            yield server
        finally:
            server.kill_server()


def open_server_log() -> IO[bytes]:
    """Return a file without a name, which is deleted with its last holder."""
    try:
        return tempfile.TemporaryFile()
    except OSError as problem:
        raise AttemptError("disk", f"no room for a server's log: {problem.strerror}") from None


def get_last_line(log: str) -> str:
    """Return the last line that is not empty."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1] if lines else ""
