"""The embedded server on lease."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.common.errors import UserError
from harness.common.installation import PACKAGES
from harness.common.subprocesses import build_module_command
from harness.common.terminal_lines import break_for_stream
from harness.world.simulators.launching import LaunchedServer, launch_server
from harness.world.simulators.lease import LaunchError, SimulatorServer

READY = re.compile(r"^carlite (\S+) ready on (\S+):(\d+), town (\S+)$", re.MULTILINE)
PATIENCE = 2.0
"""Seconds after which a starting server's output is passed on: the first start compiles."""


class CarliteSimulator:
    """Starts the embedded server for every lease."""

    safe_from_file = True
    name = "carlite"

    def __init__(
        self,
        maps: str | None = None,  # folder of further towns' OpenDRIVE files
        start_timeout: float = 600.0,  # s; the first start on a machine compiles
        fresh: bool = False,  # a new server for every try
    ) -> None:
        check_maps_folder(maps)
        self._maps = None if maps is None else Path(maps).expanduser().resolve()
        self._start_timeout = start_timeout
        self.fresh = fresh

    def refuse_town(self, town: str) -> None:
        """Refuse nothing: routes are planned on the maps that the server will read."""

    @contextmanager
    def lease_server(self, town: str) -> Iterator[SimulatorServer]:
        """Start carlite on ports the system picks and carlite holds from then on."""
        # port 0: the system picks one that is free
        command = build_module_command("harness.carlite", "--port", "0", "--town", town)
        if self._maps is not None:
            command += ["--maps", str(self._maps)]
        with launch_server(command, PACKAGES) as process:
            starting = ServerStartup(process)
            try:
                ready = process.wait_for(starting.find_ready_line, self._start_timeout)
            except LaunchError as problem:
                raise LaunchError(f"carlite: {problem}", problem.log_tail) from None
            version, host, port, _ = ready.groups()
            yield SimulatorServer(
                host=host,
                port=int(port),
                name=f"carlite {version}",
                running=process.is_server_running,
                log_tail=process.read_log_tail,
            )


class ServerStartup:
    """Reads a starting server's output, and passes it on when it takes long."""

    def __init__(self, process: LaunchedServer) -> None:
        self._process = process
        self._quiet_until = time.monotonic() + PATIENCE
        self._passed_on = 0  # bytes

    def find_ready_line(self) -> re.Match[str] | None:
        """Return the ready line, once it is printed."""
        line = READY.search(self._process.read_log_tail())
        if line is None and time.monotonic() > self._quiet_until:
            printed = self._process.read_log_since(self._passed_on)
            whole = printed[: printed.rfind(b"\n") + 1]
            for text in whole.decode(errors="replace").splitlines():
                pass_line_on(text)
            self._passed_on += len(whole)
        return line


_passed_on: set[str] = set()
"""Lines of starting servers that were printed."""
_printing = threading.Lock()


def pass_line_on(line: str) -> None:
    """Print a line of a starting server, once for all servers of this process.

    The servers of several workers compile at the same time, and print the same lines.
    """
    with _printing:
        if line not in _passed_on:
            _passed_on.add(line)
            print(break_for_stream(line, sys.stderr), file=sys.stderr, flush=True)


def check_maps_folder(maps: str | None) -> None:
    """Refuse a folder of maps that is not there."""
    if maps is not None and not Path(maps).expanduser().is_dir():
        raise UserError(f"simulator.maps: folder not found: {maps}")
