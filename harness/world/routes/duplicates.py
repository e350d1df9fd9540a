"""Finds routes that are driven along the same way, whatever points their files name."""

from __future__ import annotations

from collections.abc import Sequence

from harness.types.geometry import is_same_way
from harness.types.vocabulary import Route


def find_duplicate_routes(routes: Sequence[Route]) -> list[list[str]]:
    """Return groups of routes that are driven along one way, in one direction.

    The first route of a group stands for it: every other one is the same way as the first.
    """
    groups: list[list[Route]] = []
    for route in routes:
        for group in groups:
            if group[0].town == route.town and is_same_way(group[0].xyz, route.xyz):
                group.append(route)
                break
        else:
            groups.append([route])
    return [[route.name for route in group] for group in groups if len(group) > 1]
