"""What `crucible routes list` and `check` print: what a file holds, whether it can be driven."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from harness.common.errors import UserError
from harness.common.terminal_lines import print_problem, print_stdout_line
from harness.types.vocabulary import Route
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import load_road_network
from harness.world.routes.duplicates import find_duplicate_routes
from harness.world.routes.files import RouteSpec, read_routes
from harness.world.routes.hazard_files import read_hazards, read_nested_hazards
from harness.world.routes.kinds import NOT_RUN
from harness.world.routes.resolve import resolve_mapped_route
from harness.world.routes.scenarios import SAMPLINGS, classify_turn, list_route_junctions


def add_route_file_argument(parser: argparse.ArgumentParser) -> None:
    """Add the route file."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a route file, a folder of route files, or a pattern",
    )


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the route file, its maps and its hazards."""
    add_route_file_argument(parser)
    parser.add_argument(
        "--maps",
        type=Path,
        metavar="DIR",
        help="folder with OpenDRIVE files of further towns (default: none)",
    )
    parser.add_argument(
        "--hazards",
        type=Path,
        metavar="FILE",
        help="a hazard or Leaderboard scenario file (default: none)",
    )
    parser.add_argument(
        "--sampling",
        choices=SAMPLINGS,
        default=SAMPLINGS[0],
        help="rule that chooses scenarios of a Leaderboard file (default: %(default)s)",
    )


def list_routes(options: argparse.Namespace) -> int:
    """Print one line for each route."""
    for spec in read_routes(options.file):
        apart = sum(float(((b[:2] - a[:2]) ** 2).sum()) ** 0.5 for a, b in pairwise(spec.keypoints))
        parts = [f"{len(spec.keypoints)} points", f"{apart:.0f} m between them"]
        if spec.weather is not None:
            parts.append("weather")
        if spec.scenarios:
            parts.append(f"{len(spec.scenarios)} scenarios")
        print_stdout_line(f"{spec.id:12} {spec.town:12} {', '.join(parts)}")
    return 0


def check_routes(options: argparse.Namespace) -> int:
    """Resolve every route, list duplicates, count hazards; exit code 2 if a route is invalid."""
    specs = {spec.id: spec for spec in read_routes(options.file)}
    # every route is tried, so that all problems are printed at once
    tried = {name: _try_resolve(spec, options.maps) for name, spec in specs.items()}
    for problem in tried.values():
        if isinstance(problem, UserError):
            print_problem(str(problem))
    laid = {name: way for name, way in tried.items() if isinstance(way, Route)}
    # hazards of those that can be laid
    good = {name: spec for name, spec in specs.items() if name in laid}
    hazards = load_route_hazards(options, good)
    for name, route in laid.items():
        print_stdout_line(_format_route_line(route, hazards.get(name, [])))
    # what a campaign would leave out
    for group in find_duplicate_routes(list(laid.values())):
        print_stdout_line(f"the same way: {', '.join(group)}")
    for hazard, why in _iter_unplaced_hazards(laid, hazards, options.maps):
        print_stdout_line(
            f"no place on route {hazard.route}: {hazard.kind} at {hazard.station:.0f} m: {why}"
        )
    left_out = Counter(
        (hazard.source, hazard.kind.removeprefix(NOT_RUN))
        for specs in hazards.values()
        for hazard in specs
        if hazard.kind.startswith(NOT_RUN)
    )
    for (source, reason), count in sorted(left_out.items()):
        print_stdout_line(f"not run on {count} routes: {source}: {reason}")
    return 0 if len(laid) == len(specs) else 2


def _try_resolve(spec: RouteSpec, maps: Path | None) -> Route | UserError:
    try:
        return resolve_mapped_route(spec, maps)
    except UserError as problem:
        return problem


def load_route_hazards(
    options: argparse.Namespace, routes: dict[str, RouteSpec]
) -> dict[str, list[HazardSpec]]:
    """Return the hazards of every route; refuse kinds and parameters that there are not.

    Args:
        options: with `hazards`, `maps` and `sampling`.
        routes: by id.

    Returns:
        Hazards by id of the route; a route without any has an empty list.

    Raises:
        UserError: unknown kinds or parameters.
    """
    from harness.world.hazards.catalogue import KINDS, build_hazard  # noqa: PLC0415

    hazards = (
        read_nested_hazards(kinds=KINDS, routes=routes, maps=options.maps)
        if options.hazards is None
        else read_hazards(
            options.hazards,
            kinds=KINDS,
            routes=routes,
            maps=options.maps,
            sampling=options.sampling,
        )
    )
    for hazard in hazards:
        if not hazard.kind.startswith(NOT_RUN):
            build_hazard(hazard)
    return {name: [hazard for hazard in hazards if hazard.route == name] for name in routes}


def _iter_unplaced_hazards(
    laid: dict[str, Route], hazards: dict[str, list[HazardSpec]], maps: Path | None
) -> Iterator[tuple[HazardSpec, str]]:
    from harness.world.hazards.catalogue import build_hazard  # noqa: PLC0415
    from harness.world.hazards.track import Track  # noqa: PLC0415

    for name, specs in hazards.items():
        track = Track(load_road_network(laid[name].town, maps).map, laid[name])
        for hazard in specs:
            why = (
                ""
                if hazard.kind.startswith(NOT_RUN)
                else build_hazard(hazard).explain_impossible(track)
            )
            if why:
                yield hazard, why


def _format_route_line(route: Route, hazards: list[HazardSpec]) -> str:
    turns = [classify_turn(route, first, last) for first, last in list_route_junctions(route)]
    parts = [f"{route.length:5.0f} m"]
    parts.append(", ".join(turns) if turns else "no junction")
    if route.lane_change.any():
        parts.append("changes lanes")
    parts += [
        f"{hazard.kind} at {hazard.station:.0f} m"
        for hazard in hazards
        if not hazard.kind.startswith(NOT_RUN)
    ]
    return f"{route.name:12} {route.town:12} {'; '.join(parts)}"
