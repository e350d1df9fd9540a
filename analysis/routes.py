"""Which routes are one way through a town: attempts on them belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.common.errors import UserError
from harness.common.safe_reading import LAID_ROUTE, refuse_link
from harness.records.keys import MOST_ROUTES
from harness.records.reading import read_json_object
from harness.types.geometry import is_same_way
from harness.types.vocabulary import Floats

ROUTES = "routes"
"""The folder of a campaign in which its routes lie as they were laid."""


@dataclass(frozen=True, slots=True, eq=False)
class RouteWay:
    """A route as it was laid."""

    name: str
    town: str
    xyz: Floats  # (n, 3), m in the world


def read_route_ways(folder: Path) -> list[RouteWay]:
    """Return the routes of a campaign folder; empty if it has none."""
    refuse_link(folder / ROUTES)
    files = sorted((folder / ROUTES).glob("*.json"))
    if len(files) > MOST_ROUTES:
        raise UserError(f"{folder / ROUTES}: {len(files):,} routes; {MOST_ROUTES:,} at most")
    return [read_route_way(file, folder) for file in files]


def read_route_way(file: Path, folder: Path) -> RouteWay:
    """Return the route in a file of a campaign's folder."""
    record = read_json_object(file, LAID_ROUTE, within=folder)
    try:
        xyz = np.asarray(record["way"]["xyz"], np.float64)
        if xyz.ndim != 2 or xyz.shape[1] != 3 or not len(xyz) or not np.isfinite(xyz).all():
            raise ValueError("way.xyz")
        return RouteWay(str(record["name"]), str(record["town"]), xyz)
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise UserError(f"{file}: not a route of a campaign ({problem!r})") from None


def resolve_geometries(ways: Sequence[RouteWay]) -> list[str]:
    """Return for each way the town and the name of the first one that is driven like it.

    Returns:
        (ways,) names: equal for routes that are driven along one way.
    """
    first: list[tuple[str, RouteWay]] = []
    names = []
    for way in ways:
        # the first way that is alike gives the name; names of others are made different
        name = next((name for name, other in first if has_same_way(other, way)), None)
        if name is None:
            taken = {first_name for first_name, _ in first}
            name = f"{way.town}/{way.name}"
            while name in taken:
                name += "'"
            first.append((name, way))
        names.append(name)
    return names


def has_same_way(a: RouteWay, b: RouteWay) -> bool:
    """Return whether two routes are driven along one way."""
    return a.town == b.town and is_same_way(a.xyz, b.xyz)
