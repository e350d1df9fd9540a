"""`crucible routes generate`: its options, and the files that it writes."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.errors import UserError
from harness.common.protocols import (
    ROUTES,
    derive_protocol_seed,
    hash_protocol,
    is_test_town,
    refuse_unannounced,
)
from harness.common.terminal_lines import print_stdout_line
from harness.world.maps import load_road_network
from harness.world.routes import generate
from harness.world.routes.files import write_routes
from harness.world.routes.generate import (
    SHIPPED,
    generate_in_simulator,
    iter_shortages,
    refuse_unknown_kinds,
)
from harness.world.routes.hazard_files import write_hazards
from harness.world.routes.space import read_space

PLACEMENTS = "placements.jsonl"
"""The file, next to the routes, of an interrupted command; a finished one removes it."""
RESUMES = "the same command resumes from here"
MAPS_HELP = "folder with OpenDRIVE files of further towns (default: none)"
KINDS_HELP = f"hazards to place (default: {', '.join(SHIPPED)})"
PORT_HELP = "port of a running simulator, in which every hazard is tried (default: a new carlite)"
FEWER_HELP = "if some routes have no room, write the other routes (default: refuse)"
SEED_HELP = "seed of routes and hazards (default: 0)"
PROTOCOL_HELP = (
    "protocol of a test town; the seed comes from the digest of the protocol (default: none)"
)
SPACE_HELP = "YAML file with narrower ranges: kind, parameter, then [low, high] or words"


def choose_routes_seed(town: str, seed: int, protocol: Path | None) -> int:
    """Return the seed of routes: that of the protocol in a test town, the one given elsewhere."""
    refuse_unannounced([town], protocol)
    if protocol is None:
        return seed
    if not is_test_town(town):
        raise UserError(f"{town}: not a test town; give --seed and no --protocol")
    return derive_protocol_seed(hash_protocol(protocol), ROUTES)


def add_generate_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible routes generate` takes."""
    parser.description = generate.__doc__
    add = parser.add_argument
    add("--town", required=True, metavar="NAME", help="town to make routes in")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--seed", type=int, default=0, metavar="N", help=SEED_HELP)
    source.add_argument("--protocol", type=Path, metavar="FILE", help=PROTOCOL_HELP)
    add("--count", type=int, default=32, metavar="N", help="number of routes (default: 32)")
    add("--fewer", action="store_true", help=FEWER_HELP)
    add("--kinds", default=",".join(SHIPPED), metavar="KIND[,KIND ...]", help=KINDS_HELP)
    add("--space", type=Path, metavar="FILE", help=SPACE_HELP)
    add("--maps", type=Path, metavar="DIR", help=MAPS_HELP)
    add("--host", default="127.0.0.1", help="host of the simulator of --port (default: 127.0.0.1)")
    add("--port", type=int, metavar="PORT", help=PORT_HELP)
    add("--out", type=Path, required=True, metavar="DIR", help="folder for both files")


def run_routes_generate(options: argparse.Namespace) -> int:
    """Write `routes.xml` and `hazards.json` into a folder."""
    if options.count < 1:
        raise UserError(f"--count {options.count}: ask for one route or more")
    town, seed = options.town, choose_routes_seed(options.town, options.seed, options.protocol)
    network, kinds = load_road_network(town, options.maps), options.kinds.split(",")
    refuse_unknown_kinds(kinds)
    space = None if options.space is None else read_space(options.space, kinds)
    # placements take the time: an interrupted command finds those that were tried
    kept = options.out / PLACEMENTS
    try:
        routes, hazards = generate_in_simulator(
            network,
            town,
            seed=seed,
            count=options.count,
            kinds=kinds,
            space=space,
            maps=options.maps,
            address=None if options.port is None else (options.host, options.port),
            fewer=options.fewer,
            kept=kept,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(RESUMES) from None
    write_routes(options.out / "routes.xml", routes)
    write_hazards(options.out / "hazards.json", hazards)
    kept.unlink(missing_ok=True)
    for shortage in iter_shortages(hazards, kinds, options.count):
        print_stdout_line(shortage)
    print_stdout_line(f"{len(routes)} routes with {len(hazards)} hazards in {options.out}")
    return 0
