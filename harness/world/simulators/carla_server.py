"""CARLA on lease: one that runs already, or one launched from an install for each lease."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.common.errors import AttemptError, UserError
from harness.common.suggestions import describe_unknown_name
from harness.world.ports import ReservedPorts, hold_named_lock, reserve_ports
from harness.world.probe import list_server_towns, probe_carla
from harness.world.simulators.carlite import check_maps_folder
from harness.world.simulators.launching import LaunchedServer, launch_server
from harness.world.simulators.lease import LaunchError, SimulatorServer

VERSION = "0.9.16"
HOST = "127.0.0.1"
PORTS_PER_SERVER = 3
"""Remote calls, sensor streams, and further servers that render for this one."""
FIRST_PORTS = range(2000, 6000, PORTS_PER_SERVER)
CHOSEN_HERE = ("-carla-rpc-port", "-carla-streaming-port", "-carla-world-port", "-carla-port")
PLANNING_PATIENCE = 2.0
"""Seconds for an answer at planning."""
ABSENT_SERVER = ("server_launch", "port_conflict")
"""Failures of an address that stay until the user changes something."""
CURES = {
    "root privileges": "start the campaign as a user other than root",
    "libvulkan": "the Vulkan loader is missing; on Ubuntu: apt install libvulkan1",
    "Vulkan driver": "CARLA renders on a GPU whose driver brings Vulkan, or starts with -nullrhi",
    "error while loading shared libraries": "install that library",
}


class CarlaSimulator:
    """Uses a running CARLA server, or launches the one installed in `root`."""

    name = "CARLA"

    def __init__(
        self,
        address: str = "localhost:2000",  # address of a running CARLA; not used if root is set
        root: str | None = None,  # folder of CARLA 0.9.16, to launch; null: it runs
        *,
        executable: str = "CarlaUE4.sh",  # program in root
        quality: Literal["Low", "Epic"] = "Epic",  # Low or Epic
        off_screen: bool = True,  # render without a window
        gpu: int | Sequence[int] | None = None,  # number, or several in turn; null: CARLA's choice
        arguments: Sequence[str] = (),  # further arguments of CARLA's command line
        start_timeout: float = 180.0,  # s until a launched CARLA answers
        fresh: bool = False,  # launch a new one for every try
        maps: str | None = None,  # folder of the towns' OpenDRIVE files
    ) -> None:
        check_maps_folder(maps)
        self.fresh = fresh
        self._host, self._port = parse_carla_address(address)
        self._install: CarlaInstall | None = None
        self._start_timeout = start_timeout
        if root is not None:
            options = [f"-quality-level={quality}", "-nosound"]
            options += ["-RenderOffScreen"] if off_screen else []
            gpus = [] if gpu is None else [gpu] if isinstance(gpu, int) else list(gpu)
            self._install = CarlaInstall(
                find_carla_program(root, executable),
                [*check_carla_arguments(arguments), *options],
                gpus,
            )
        elif fresh:
            raise UserError("simulator.fresh: only a CARLA launched from simulator.root can be so")

    def refuse_town(self, town: str) -> None:
        """Refuse a running CARLA that is not there, or that does not list the town.

        A CARLA that is launched is not asked. One that listens and does not answer may be busy:
        attempts try it again.
        """
        if self._install is not None:
            return
        refuse_absent_server(self._host, self._port)
        towns = list_server_towns(self._host, self._port)
        if towns and town not in towns:
            place = f"simulator.address: {self._host}:{self._port}"
            raise UserError(f"{place}: {describe_unknown_name('town', town, towns)}")

    def lease_server(self, town: str) -> AbstractContextManager[SimulatorServer]:
        """Launch CARLA, or ask whether the one at the address is there; sessions load the town.

        Args:
            town: which the session will load.
        """
        return (
            self._attach_server() if self._install is None else self._launch_server(self._install)
        )

    @contextmanager
    def _attach_server(self) -> Iterator[SimulatorServer]:
        where = f"{self._host}:{self._port}"
        with hold_named_lock(f"{self._host}-{self._port}") as lock:
            if lock is None:
                raise AttemptError("port_conflict", f"{where}: another worker or campaign uses it")
            version = refuse_other_version(probe_carla(self._host, self._port), where)
            yield SimulatorServer(
                host=self._host,
                port=self._port,
                name=f"CARLA {version}",
                running=lambda: True,
                log_tail=lambda: "",
            )

    @contextmanager
    def _launch_server(self, install: CarlaInstall) -> Iterator[SimulatorServer]:
        with (
            reserve_ports(FIRST_PORTS, PORTS_PER_SERVER) as ports,
            launch_server(
                install.build_launch_command(ports), install.program.parent, ports.locks
            ) as process,
        ):
            version = self._wait_for_version(process, ports.first)
            yield SimulatorServer(
                host=HOST,
                port=ports.first,
                name=f"CARLA {version}",
                running=process.is_server_running,
                log_tail=process.read_log_tail,
            )

    def _wait_for_version(self, process: LaunchedServer, port: int) -> str:
        try:
            version = process.wait_for(lambda: probe_launched_version(port), self._start_timeout)
            return refuse_other_version(version, f"{HOST}:{port}")
        except LaunchError as problem:
            reason = find_log_cure(problem.log_tail) or str(problem)
            raise LaunchError(f"CARLA: {reason}", problem.log_tail) from None


@dataclass(frozen=True, slots=True)
class CarlaInstall:
    """A CARLA that can be launched."""

    program: Path
    options: list[str]
    gpus: list[int]  # of which neighbours on this machine take turns

    def build_launch_command(self, ports: ReservedPorts) -> list[str]:
        """Return the command line for these ports; the third follows by itself."""
        command = [
            str(self.program),
            *self.options,
            f"-carla-rpc-port={ports.first}",
            f"-carla-streaming-port={ports.first + 1}",
        ]
        if self.gpus:
            turn = FIRST_PORTS.index(ports.first) % len(self.gpus)
            command.append(f"-graphicsadapter={self.gpus[turn]}")
        return command


def parse_carla_address(address: str) -> tuple[str, int]:
    """Return host and port."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UserError(f"simulator.address: {address!r}; host:port is needed")
    return host, int(port)


def refuse_absent_server(host: str, port: int) -> None:
    """Refuse an address where nothing listens, or where no CARLA of this version does.

    Args:
        host: name or address.
        port: of remote calls.

    Raises:
        UserError: another try would find the same.
    """
    try:
        refuse_other_version(probe_carla(host, port, PLANNING_PATIENCE), f"{host}:{port}")
    except AttemptError as problem:
        if problem.failure in ABSENT_SERVER:
            raise UserError(
                f"simulator.address: {problem}; start CARLA {VERSION} there, or let Crucible start"
                " it (simulator.root=DIR), or choose simulator=carlite"
            ) from None


def find_carla_program(root: str, executable: str) -> Path:
    """Return what starts the CARLA installed in a folder.

    Args:
        root: folder of the install.
        executable: its start script.

    Raises:
        UserError: no CARLA of this version is there.
    """
    folder = Path(root).expanduser().resolve()
    if not folder.is_dir():
        raise UserError(f"simulator.root: folder not found: {root}")
    path = folder / executable
    if not path.is_file():
        raise UserError(f"simulator.root: {root} is no install of CARLA: {executable} is missing")
    if not os.access(path, os.X_OK):
        raise UserError(f"simulator.root: {path} may not be run; chmod +x it")
    version_file = folder / "VERSION"
    version = (
        version_file.read_text(errors="replace").strip() if version_file.is_file() else VERSION
    )
    if not version.startswith(VERSION):
        raise UserError(f"simulator.root: {root} is CARLA {version}; {VERSION} is needed")
    return path


def check_carla_arguments(arguments: Sequence[str]) -> Sequence[str]:
    """Refuse arguments that would move CARLA to other ports."""
    for argument in arguments:
        if argument.startswith(CHOSEN_HERE):
            raise UserError(f"simulator.arguments: {argument}; ports are chosen for every launch")
    return arguments


def probe_launched_version(port: int) -> str | None:
    """Return the version that answers, nothing while CARLA is still on its way."""
    try:
        return probe_carla(HOST, port, timeout=1.0)
    except AttemptError as problem:
        if problem.failure == "port_conflict":
            raise
        return None


def refuse_other_version(version: str, where: str) -> str:
    """Refuse a CARLA that the client library does not fit."""
    if version != VERSION:
        raise AttemptError("server_launch", f"{where}: CARLA {version}; {VERSION} is needed")
    return version


def find_log_cure(log: str) -> str:
    """Return the line of a log that we know, with what helps."""
    for line in log.splitlines():
        for sign, cure in CURES.items():
            if sign in line:
                return f"{line.strip()} ({cure})"
    return ""
