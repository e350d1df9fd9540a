"""Maps at the command line: saves a town's OpenDRIVE file from a running server."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import AttemptError, UserError
from harness.files import write_whole
from harness.world.maps import NAME

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

TIMEOUT = 60.0


def add(commands: Commands) -> None:
    """Add `maps export`."""
    parser = commands.add_parser("maps", help="save a town's map from a running CARLA")
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser("export", help="save a town's OpenDRIVE file")
    action.add_argument("--host", default="localhost", help="of CARLA (default: %(default)s)")
    action.add_argument("--port", type=int, default=2000, help="of CARLA (default: %(default)s)")
    action.add_argument("--town", help="town to load first (default: the one that is loaded)")
    action.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for the .xodr file"
    )
    action.set_defaults(run=export)


def export(options: argparse.Namespace) -> int:
    """Save the map of a running server."""
    import carla  # noqa: PLC0415

    from harness.world.probe import probe  # noqa: PLC0415

    try:
        probe(options.host, options.port)
    except AttemptError as problem:
        raise UserError(f"{problem}; start CARLA there") from None
    client = carla.Client(options.host, options.port)
    client.set_timeout(TIMEOUT)
    try:
        world_map = client.get_world().get_map()
        name = world_map.name.rsplit("/", 1)[-1]
        if options.town not in (None, name):
            world_map = client.load_world(options.town).get_map()
            name = options.town.rsplit("/", 1)[-1]
    except RuntimeError as problem:
        raise UserError(f"{options.host}:{options.port}: {problem}; check the town") from None
    if not NAME.fullmatch(name):
        raise UserError(f"the server calls its town {name[:40]!r}, which is no name for a file")
    path = options.out / f"{name}.xodr"
    write_whole(path, world_map.to_opendrive())
    print(path)
    return 0
