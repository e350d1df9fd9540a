"""Compares a CARLA that runs with a carlite started for it, in the same town."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.bounded_log import CopiedOutput
from harness.common.environments import build_child_environment
from harness.common.errors import AttemptError, UserError
from harness.common.subprocesses import build_module_command
from harness.doctor.comparing import ServerDifference, compare_server_facts
from harness.doctor.facts import Section
from harness.world.maps import NAME, find_map
from harness.world.probe import probe_carla
from harness.world.simulators import CarliteSimulator

STANDING = "-"
"""The town that stands."""
PATIENCE = 1800.0
"""Seconds for all facts of a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerComparison:
    """A server compared with carlite."""

    address: str
    version: str
    town: str
    carlite: dict[str, Section]
    other: dict[str, Section]
    differences: tuple[ServerDifference, ...]


def compare_with_carlite(address: str, town: str | None, maps: Path | None) -> ServerComparison:
    """Ask a server, then a carlite with the same town, everything that can be asked.

    Args:
        address: host:port of a running server.
        town: to load there; None for the one that it has.
        maps: folder of OpenDRIVE files; None: the map that the server sends.

    Returns:
        Facts of both, and where they differ.

    Raises:
        UserError: no answer, or carlite has no such town.
    """
    # the other server
    host, port = parse_server_address(address)
    version = refuse_silent(host, port)
    if maps is not None and not maps.is_dir():
        raise UserError(f"--maps: folder not found: {maps}")
    # then carlite, with the map that the other server has
    with tempfile.TemporaryDirectory(prefix="crucible-doctor-") as folder:
        scratch = Path(folder)
        theirs = run_collector(host, port, town or STANDING, scratch / "other.json")
        name = get_town_name(theirs["facts"])
        map_file = prepare_town_map(name, maps, theirs["opendrive"], scratch)
        try:
            with CarliteSimulator(None if map_file is None else str(map_file)).lease_server(
                name
            ) as server:
                ours = run_collector(server.host, server.port, name, scratch / "carlite.json")
        except AttemptError as problem:
            raise UserError(f"carlite with {name}: {problem}") from None
    differences = compare_server_facts(ours["facts"], theirs["facts"])
    return ServerComparison(
        address=f"{host}:{port}",
        version=version,
        town=name,
        carlite=ours["facts"],
        other=theirs["facts"],
        differences=tuple(differences),
    )


def parse_server_address(address: str) -> tuple[str, int]:
    """Return host and port."""
    match = re.fullmatch(r"(.+):(\d{1,5})", address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise UserError(f"--probe {address}: HOST:PORT is needed")
    return match[1], int(match[2])


def refuse_silent(host: str, port: int) -> str:
    """Return the version of the CARLA that answers; the client library never sees another port."""
    try:
        return probe_carla(host, port)
    except AttemptError as problem:
        raise UserError(f"{problem}; start CARLA there") from None


def run_collector(host: str, port: int, town: str, file: Path) -> dict[str, Any]:
    """Collect the facts of one server in a process of its own."""
    command = build_module_command("harness.doctor.collecting", host, str(port), town, str(file))
    # the client library may crash or wait for ever: a process with a limit
    with tempfile.TemporaryFile() as log:
        with CopiedOutput(log.fileno()) as output, suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command,
                env=build_child_environment(),
                stderr=output.writing,
                timeout=PATIENCE,
                check=False,
            )
        output.wait(1.0)
        log.seek(0)
        said = log.read().decode(errors="replace").strip().splitlines()
    # without a file, its last line says why
    last_line = said[-1:] or [f"nothing for {PATIENCE:g} s"]
    if not file.exists():
        raise UserError(f"{host}:{port}: could not be asked everything; last came: {last_line[0]}")
    record: dict[str, Any] = json.loads(file.read_text())
    return record


def get_town_name(facts: dict[str, Section]) -> str:
    """Return the town a server has; it names a file, so it must be fit for that."""
    name = str(facts["map"].get("OpenDRIVE", {}).get("name"))
    if not NAME.fullmatch(name):
        raise UserError(f"the server calls its town {name[:40]!r}, which is no name for a file")
    return name


def prepare_town_map(town: str, maps: Path | None, opendrive: str, scratch: Path) -> Path | None:
    """Return the folder with the town's map: as given, ours, or as received from the server."""
    if maps is not None and (maps / f"{town}.xodr").is_file():
        return maps
    if find_map(town, None) is not None:
        return None
    (scratch / f"{town}.xodr").write_text(opendrive, encoding="utf-8")
    return scratch
