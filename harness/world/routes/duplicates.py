"""Finds routes that are driven along the same way, whatever points their files name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.vocabulary import Floats, Route

TOLERANCE = 3.0


def duplicates(routes: Sequence[Route], tolerance: float = TOLERANCE) -> list[list[str]]:
    """Return groups of routes whose ways lie within `tolerance` metres of each other all along.

    The first route of a group stands for it: every other one is the same way as the first.
    """
    groups: list[list[Route]] = []
    for route in routes:
        for group in groups:
            if same_way(group[0], route, tolerance):
                group.append(route)
                break
        else:
            groups.append([route])
    return [[route.name for route in group] for group in groups if len(group) > 1]


def same_way(a: Route, b: Route, tolerance: float = TOLERANCE) -> bool:
    """Return whether two routes are driven along the same way, in the same direction."""
    if a.town != b.town or abs(a.length - b.length) > 2.0 * tolerance:
        return False
    ends = np.linalg.norm(a.xyz[[0, -1]] - b.xyz[[0, -1]], axis=1)
    if (ends > tolerance).any():
        return False
    return _strays(a.xyz, b.xyz) <= tolerance and _strays(b.xyz, a.xyz) <= tolerance


def _strays(way: Floats, other: Floats) -> float:
    """Return how far a way strays from another one, compared at equal shares of their lengths."""
    shares = np.linspace(0.0, 1.0, len(way))
    rows = np.linspace(0.0, 1.0, len(other))
    beside = np.stack([np.interp(shares, rows, column) for column in other.T], axis=1)
    return float(np.linalg.norm(way - beside, axis=1).max())
