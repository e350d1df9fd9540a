"""Maps at the command line: saves a running server's, makes towns from seeds, checks traffic."""

from __future__ import annotations

import argparse
import json
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import AttemptError, UserError
from harness.common.files import write_whole
from harness.common.protocols import (
    derive_protocol_seed,
    format_town_name,
    get_town_prefix,
    hash_protocol,
)
from harness.common.terminal_lines import print_notice, print_stdout_line
from harness.world.maps import NAME

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

COMMAND = CommandDeclaration(
    group="Routes and simulators",
    rank=20,
    purpose="save, generate and check maps of towns",
    extra="run",
    examples=(
        "crucible maps export --town Town03 --out maps",
        "crucible maps generate --seed 1 --count 6 --out towns",
        "crucible maps generate --seed 7 --blocks 4x3 --curvature 0.8 --grade 0.05 --out towns",
        "crucible maps generate --protocol protocol.md --count 4 --out towns",
        "crucible maps check Seeded_1 --maps towns",
    ),
)


TIMEOUT = 60.0
MOST_SKIPPED = 100
"""Seeds of a protocol that may fail the checks one after the other."""
BLOCKS = ("columns", "rows")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible maps` takes."""
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser("export", help="save a town's OpenDRIVE file")
    action.add_argument(
        "--host", default="localhost", metavar="HOST", help="host of CARLA (default: %(default)s)"
    )
    action.add_argument(
        "--port", type=int, default=2000, metavar="N", help="port of CARLA (default: %(default)s)"
    )
    action.add_argument(
        "--town", metavar="NAME", help="town to load first (default: the loaded town)"
    )
    action.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for the .xodr file"
    )
    action.set_defaults(run=save_server_map)
    add_maps_generate(actions)
    add_maps_check(actions)


def add_maps_generate(actions: Commands) -> None:
    """Add `maps generate`, with an option for each parameter of a town."""
    from harness.authoring.seeded.parameters import RANGES  # noqa: PLC0415
    from harness.authoring.seeded.parameters import TownParameters as Town  # noqa: PLC0415
    from harness.common.field_notes import read_class_comments  # noqa: PLC0415

    action = actions.add_parser("generate", help="make towns from seeds, and check them")
    source = action.add_mutually_exclusive_group(required=True)
    source.add_argument("--seed", type=int, metavar="N", help="seed of the first development town")
    source.add_argument(
        "--protocol",
        type=Path,
        metavar="FILE",
        help="make test towns; seeds come from the digest of the protocol",
    )
    action.add_argument(
        "--count", type=int, default=1, metavar="K", help="number of towns (default: %(default)s)"
    )
    action.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for the .xodr files"
    )
    action.add_argument(
        "--blocks",
        metavar="4x3",
        help="blocks from west to east, and from north to south: 3 to 5 (default: by the seed)",
    )
    notes = read_class_comments(Town)
    for name, (low, high) in RANGES.items():
        if name not in BLOCKS:
            text = f"{notes[name]}: {low:g} to {high:g} (default: by the seed)"
            option = f"--{name.replace('_', '-')}"
            action.add_argument(option, type=float, metavar="X", help=text.replace("%", "%%"))
    action.set_defaults(run=run_maps_generate)


def add_maps_check(actions: Commands) -> None:
    """Add `maps check`."""
    action = actions.add_parser("check", help="check a town's map, and its traffic on carlite")
    action.add_argument("town", metavar="TOWN", help="name of a town")
    action.add_argument(
        "--maps",
        type=Path,
        metavar="DIR",
        help="folder with its OpenDRIVE file (default: towns that come with Crucible)",
    )
    action.add_argument(
        "--minutes",
        type=float,
        default=10.0,
        metavar="M",
        help="simulated minutes of traffic (default: %(default)s)",
    )
    action.add_argument(
        "--vehicles",
        type=int,
        default=80,
        metavar="N",
        help="vehicles in traffic (default: %(default)s)",
    )
    action.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed of the traffic (default: %(default)s)",
    )
    action.set_defaults(run=run_maps_check)


def save_server_map(options: argparse.Namespace) -> int:
    """Save the map of a running server."""
    import carla  # noqa: PLC0415

    from harness.world.probe import probe_carla  # noqa: PLC0415

    # something must answer: the client library would wait
    try:
        probe_carla(options.host, options.port)
    except AttemptError as problem:
        raise UserError(f"{problem}; start CARLA there") from None
    # its map, or that of the town that is asked for
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
    # a server chooses the name: it must not lead out of the folder
    if not NAME.fullmatch(name):
        raise UserError(f"the server calls its town {name[:40]!r}, which is no name for a file")
    path = options.out / f"{name}.xodr"
    write_whole(path, world_map.to_opendrive())
    print_stdout_line(str(path))
    return 0


def run_maps_generate(options: argparse.Namespace) -> int:
    """Make development towns from seeds, or the test towns of a protocol."""
    given = parse_town_parameters(options)
    if options.count < 1:
        raise UserError(f"--count {options.count}: ask for one town or more")
    if options.protocol is None:
        make_development_towns(options, given)
    elif given:
        raise UserError("--protocol: the seeds decide all of a test town; give no parameter")
    else:
        make_protocol_towns(options.protocol, options.count, options.out)
    return 0


def parse_town_parameters(options: argparse.Namespace) -> dict[str, float]:
    """Return the parameters of the command line; UserError if one is out of range."""
    from harness.authoring.seeded.parameters import RANGES, WHOLE, describe_refused_parameter  # noqa: PLC0415

    values = {**vars(options), **parse_blocks(options.blocks)}
    given = {name: values[name] for name in RANGES if values.get(name) is not None}
    if problem := describe_refused_parameter(given):
        raise UserError(problem)
    for name in WHOLE & set(given):
        if given[name] != int(given[name]):
            raise UserError(f"{name} = {given[name]:g}: must be a whole number")
        given[name] = int(given[name])
    return given


def parse_blocks(text: str | None) -> dict[str, int]:
    """Return what `4x3` asks for."""
    if text is None:
        return {}
    try:
        columns, rows = map(int, text.split("x"))
    except ValueError:
        raise UserError(f"--blocks {text}: two whole numbers such as 4x3 are needed") from None
    return {"columns": columns, "rows": rows}


def make_development_towns(options: argparse.Namespace, given: dict[str, float]) -> None:
    """Make a town for each seed; UserError for the first seed that gives none."""
    from harness.authoring.seeded import format_development_name  # noqa: PLC0415

    if options.seed < 0:
        raise UserError(f"--seed {options.seed}: must be ≥ 0")
    for seed in range(options.seed, options.seed + options.count):
        faults = write_town(options.out, seed, format_development_name(seed, given), given)
        if faults:
            raise UserError(f"seed {seed} gives no valid town: {faults[0]}; choose another seed")


def make_protocol_towns(protocol: Path, wanted: int, out: Path) -> None:
    """Make the towns of a protocol: of its sequence of seeds the first that pass the checks.

    Args:
        protocol: the file; seeds come from its digest.
        wanted: number of towns.
        out: folder for the towns and for a record of the seeds.

    Raises:
        UserError: too many seeds gave no valid town.
    """
    digest = hash_protocol(protocol)
    towns: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for place in count():
        seed, name = derive_protocol_seed(digest, place), format_town_name(digest, len(towns) + 1)
        if faults := write_town(out, seed, name, {}):
            skipped.append({"place": place, "seed": seed, "fault": faults[0]})
        else:
            towns.append({"name": name, "place": place, "seed": seed})
        if len(skipped) > MOST_SKIPPED:
            raise UserError(f"{protocol}: {len(skipped)} of its seeds gave no valid town")
        if len(towns) == wanted:
            break
    record = {"protocol": protocol.name, "digest": digest, "towns": towns, "skipped": skipped}
    path = out / f"{get_town_prefix(digest)}.json"
    write_whole(path, f"{json.dumps(record, indent=1)}\n")
    print_stdout_line(
        f"{path}: {len(towns)} towns, {len(skipped)} seeds skipped, protocol {digest}"
    )


def write_town(out: Path, seed: int, name: str, given: dict[str, float]) -> list[str]:
    """Write a town's file and print a line about it, unless something is wrong; return that."""
    from harness.authoring.seeded import sample_town_parameters, write_seeded_opendrive  # noqa: PLC0415
    from harness.commands.town_checks import examine_town  # noqa: PLC0415

    print_notice(f"{name}: building and checking ...")
    try:
        text = write_seeded_opendrive(seed, name, sample_town_parameters(seed, **given))
    except ValueError as problem:
        return [str(problem)]
    faults, summary = examine_town(name, text)
    if not faults:
        write_whole(out / f"{name}.xodr", text)
        print_stdout_line(f"{out / name}.xodr: {summary}")
    return faults


def run_maps_check(options: argparse.Namespace) -> int:
    """Check a town's map, then its traffic; 1 if anything is wrong."""
    from harness.authoring.checks import DRIVABLE, list_faults, load_subject  # noqa: PLC0415
    from harness.world.flow import measure_traffic_flow  # noqa: PLC0415
    from harness.world.maps import find_map, read_map_bytes  # noqa: PLC0415

    town, maps = options.town, options.maps
    path = find_map(town, maps)
    if path is None:
        raise UserError(f"{town}: map not found; name the folder of its .xodr file with --maps DIR")
    # the map alone
    try:
        faults = list_faults(load_subject(town, read_map_bytes(path).decode()), DRIVABLE)
    except ValueError as problem:
        raise UserError(f"{path}: {problem}") from None
    # traffic on carlite: a jam is a fault
    if options.minutes > 0:
        print_notice(f"{town}: driving {options.minutes:g} minutes ...")
        flow = measure_traffic_flow(
            town, maps, minutes=options.minutes, vehicles=options.vehicles, seed=options.seed
        )
        print_stdout_line(f"{town}: {flow.summary}")
        faults += flow.jams
    for fault in faults:
        print_stdout_line(f"{town}: {fault}")
    return 1 if faults else 0
