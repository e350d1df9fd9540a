"""A server in a process of its own, for as long as a program needs it.

    with start_background_server(town="Town05") as server:
        client = carla.Client(server.host, server.port)

The server ends with the block, and with this process, however it ends. Neither the client library
nor numba is imported here.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

READY = re.compile(r"^carlite \S+ ready on (\S+):(\d+), town (\S+)$")
START_TIMEOUT = 900.0
"""Seconds to wait for a server; the first one of a machine compiles."""
STOP_TIMEOUT = 15.0
"""Seconds after which a server that does not stop is killed."""


class ServerStartError(RuntimeError):
    """A server that did not start; the message ends with its log."""


@dataclass(frozen=True, kw_only=True)
class BackgroundServer:
    """A running server, and where clients find it."""

    host: str
    port: int
    town: str
    log_file: Path
    process: subprocess.Popen[str]

    def read_log(self) -> str:
        """Return what the server has written on stderr."""
        return self.log_file.read_text(errors="replace")


@contextlib.contextmanager
def start_background_server(
    *,
    town: str | None = None,
    maps: Path | str | None = None,
    seed: int = 0,
    options: Sequence[str] = (),
    timeout: float = START_TIMEOUT,
) -> Iterator[BackgroundServer]:
    """Start a server on free ports of loopback; stop it when the block ends.

    Args:
        town: to load; the default town if None.
        maps: folder of further towns as NAME.xodr; that of `CARLITE_MAPS` if None.
        seed: of all random streams.
        options: further options of `carlite serve`.
        timeout: in seconds; ServerStartError when the server is not ready by then.
    """
    command = [sys.executable, "-m", __name__.rpartition(".")[0], "serve", "--stop-with-stdin"]
    command += ["--port", "0", "--seed", str(seed), *options]
    command += ["--town", town] if town is not None else []
    command += ["--maps", str(maps)] if maps is not None else []
    with tempfile.TemporaryDirectory(prefix="carlite-") as folder:
        log_file = Path(folder, "stderr")
        with log_file.open("w") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=os.environ,  # that of this process
            )
        try:
            yield _wait_until_ready(process, log_file, timeout)
        finally:
            _stop(process)


def _wait_until_ready(
    process: subprocess.Popen[str], log_file: Path, timeout: float
) -> BackgroundServer:
    assert process.stdout is not None
    line = _read_line(process.stdout, timeout)
    ready = READY.match(line or "")
    if ready is None:
        state = f"is not ready after {timeout:g} s" if line is None else "did not start"
        raise ServerStartError(f"carlite {state}:\n{log_file.read_text(errors='replace')}")
    return BackgroundServer(
        host=ready[1], port=int(ready[2]), town=ready[3], log_file=log_file, process=process
    )


def _read_line(stream: IO[str], timeout: float) -> str | None:
    """Return the first line of a stream, empty if it has ended; None if there is none in time."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        return stream.readline() if selector.select(timeout) else None


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
