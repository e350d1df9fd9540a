"""Routes of a benchmark, and which of them are driven."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.carlite.errors import UserError


@dataclass(frozen=True)
class BenchmarkRoute:
    """A route of a leaderboard's file."""

    id: str
    town: str
    scenarios: tuple[str, ...]


def read_benchmark_routes(path: Path) -> list[BenchmarkRoute]:
    """Read a leaderboard's file of routes, in the order of the file."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError) as error:
        raise UserError(f"{path}: no file of routes: {error}") from None
    routes = [
        BenchmarkRoute(
            element.get("id", ""),
            element.get("town", ""),
            tuple(scenario.get("type", "") for scenario in element.iter("scenario")),
        )
        for element in root.iter("route")
    ]
    if not routes:
        raise UserError(f"{path}: no element <route>")
    # Names of folders and files are made from both.
    if not all(route.id.isdecimal() and route.town.isalnum() for route in routes):
        raise UserError(f"{path}: every route needs an id (digits) and a town (letters, digits)")
    if len({route.id for route in routes}) < len(routes):
        raise UserError(f"{path}: an id is there twice")
    return routes


def choose_routes(
    routes: Sequence[BenchmarkRoute], towns: Collection[str], wanted: str
) -> list[BenchmarkRoute]:
    """Return the routes to drive, in the order of the file.

    Args:
        routes: of the file.
        towns: with an OpenDRIVE file.
        wanted: "all", "first" (the first of each town in the file's order) or ids with commas.
    """
    possible = [route for route in routes if route.town in towns]
    if wanted == "all":
        return possible
    if wanted == "first":
        first: dict[str, BenchmarkRoute] = {}
        for route in possible:
            first.setdefault(route.town, route)
        return list(first.values())
    ids = wanted.split(",")
    for id_ in ids:
        if id_ not in {route.id for route in possible}:
            known = any(route.id == id_ for route in routes)
            raise UserError(
                f"--routes: {id_}: " + ("its town has no file in --maps" if known else "no such id")
            )
    return [route for route in possible if route.id in ids]
