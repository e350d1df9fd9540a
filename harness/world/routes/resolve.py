"""Lays the routes of files on the roads of their towns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.common.errors import UserError
from harness.types.vocabulary import Route
from harness.world.maps import load_road_network
from harness.world.roads import RoadNetwork
from harness.world.routes.files import RouteSpec


def resolve_route(spec: RouteSpec, network: RoadNetwork) -> Route:
    """Return the way through the town that a route of a file means.

    Args:
        spec: as its file has it.
        network: the town's roads.

    Raises:
        UserError: a point lies off the road, or cannot be reached; it names the file and line.
    """
    try:
        return network.find_route(spec.id, spec.town, spec.locations)
    except UserError as problem:
        raise UserError(f"{spec.file}: line {spec.line}: {problem}") from None


def load_route_network(spec: RouteSpec, maps: Path | None) -> RoadNetwork:
    """Return the roads of a route's town, whose map lies in a file.

    Args:
        spec: with town, file and line.
        maps: folder of OpenDRIVE files; None for shipped towns.

    Raises:
        UserError: the town has no map; the message names file and line.
    """
    try:
        return load_road_network(spec.town, maps)
    except UserError as problem:
        raise UserError(f"{spec.file}: line {spec.line}: route {spec.id}: {problem}") from None


def resolve_mapped_route(spec: RouteSpec, maps: Path | None) -> Route:
    """Return the way through the town of a route whose map lies in a file.

    Args:
        spec: points of the route.
        maps: folder of OpenDRIVE files; None for shipped towns.

    Returns:
        A row for each metre, in the world frame.
    """
    return resolve_route(spec, load_route_network(spec, maps))


def resolve_routes(routes: Iterable[RouteSpec], maps: Path | None) -> dict[str, Route]:
    """Return the ways of routes by id, from maps in files.

    Args:
        routes: as their files have them.
        maps: folder of OpenDRIVE files; None for shipped towns.
    """
    return {spec.id: resolve_mapped_route(spec, maps) for spec in routes}
