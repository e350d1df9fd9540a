"""What answers: our own server, started here, or a CARLA that runs already."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, Protocol

from harness.errors import AttemptError, UserError
from harness.world.probe import probe

ROOT = Path(__file__).parents[2]
READY = re.compile(r"carlite (\S+) ready on (\S+):(\d+), town (\S+)\n")
PATIENCE = 2.0
"""Seconds of silence after which what a starting server logs is shown."""
SETTLE = 5.0
"""Seconds a server that was asked to end may take before it is killed."""
TAIL = 2000
"""Characters of a server's log worth keeping."""
LINUX = sys.platform == "linux"
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
C_LIBRARY = ctypes.CDLL(None)


@dataclass(frozen=True, slots=True)
class Server:
    """A simulator that answers."""

    host: str
    port: int
    name: str  # "carlite 0.9.16" or "CARLA 0.9.16"
    alive: Callable[[], bool]
    log_tail: Callable[[], str]


class Simulator(Protocol):
    """Something that lends servers."""

    name: str

    def lease(self, town: str) -> AbstractContextManager[Server]:
        """Lend a server with that town, ended when the block is left."""


class CarliteSimulator:
    """Starts the embedded server for every lease."""

    name = "carlite"

    def __init__(self, maps: str | None = None, start_timeout: float = 600.0) -> None:
        check_folder(maps)
        self._maps = None if maps is None else Path(maps).expanduser().resolve()
        self._start_timeout = start_timeout

    @contextmanager
    def lease(self, town: str) -> Iterator[Server]:
        """Start carlite on free ports, in a process group of its own."""
        command = [sys.executable, "-m", "harness.carlite", "--port", "0", "--town", town]
        if self._maps is not None:
            command += ["--maps", str(self._maps)]
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                preexec_fn=end_with_parent if LINUX else None,  # noqa: PLW1509
            )
            try:
                line = first_line(process, log, self._start_timeout)
                ready = READY.fullmatch(line or "")
                if ready is None:
                    said = tail(log).strip() or f"not ready after {self._start_timeout:g} s"
                    raise AttemptError("server_launch", f"carlite: {said.splitlines()[-1]}")
                yield Server(
                    ready[2],
                    int(ready[3]),
                    f"carlite {ready[1]}",
                    lambda: process.poll() is None,
                    lambda: tail(log),
                )
            finally:
                end(process)


class CarlaSimulator:
    """Uses a CARLA server that somebody else started."""

    name = "CARLA"

    def __init__(self, address: str = "localhost:2000", maps: str | None = None) -> None:
        check_folder(maps)
        host, colon, port = address.rpartition(":")
        if not colon or not port.isdecimal() or not 0 < int(port) < 65536:
            raise UserError(f"simulator.address: {address!r}; host:port is needed")
        self._host, self._port = host, int(port)

    @contextmanager
    def lease(self, town: str) -> Iterator[Server]:
        """Ask whether CARLA is there."""
        version = probe(self._host, self._port)
        yield Server(self._host, self._port, f"CARLA {version}", self._answers, lambda: "")

    def _answers(self) -> bool:
        try:
            probe(self._host, self._port)
        except AttemptError:
            return False
        return True


def check_folder(maps: str | None) -> None:
    """Refuse a folder of maps that is not there."""
    if maps is not None and not Path(maps).expanduser().is_dir():
        raise UserError(f"simulator.maps: there is no folder {maps}")


def end_with_parent() -> None:
    """Let Linux end this process together with whoever started it, however that ends."""
    C_LIBRARY.prctl(DEATH_SIGNAL, signal.SIGKILL)


def first_line(process: subprocess.Popen[str], log: IO[str], timeout: float) -> str | None:
    """Return the first line a process prints, or nothing if it takes too long.

    The first start on a machine compiles for a minute or two and says so: that is passed on.
    """
    assert process.stdout
    lines: Queue[str] = Queue()
    out = process.stdout
    Thread(target=lambda: lines.put(out.readline()), daemon=True).start()
    until = time.monotonic() + timeout
    passed_on = 0
    while time.monotonic() < until:
        with suppress(Empty):
            return lines.get(timeout=min(PATIENCE, timeout))
        said = tail(log)
        print(said[passed_on:], end="", file=sys.stderr, flush=True)
        passed_on = len(said)
    return None


def tail(log: IO[str]) -> str:
    """Return the end of what was logged."""
    text = os.pread(log.fileno(), 1 << 20, max(os.fstat(log.fileno()).st_size - TAIL, 0))
    return text.decode(errors="replace")


def end(process: subprocess.Popen[str]) -> None:
    """End a process and its whole group, first kindly."""
    for kind, patience in ((signal.SIGTERM, SETTLE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
    if process.stdout:
        process.stdout.close()
