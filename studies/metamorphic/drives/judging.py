"""Whether follow-up drives differ more than placebos do, route by route.

A route's value is its largest over seeds. Without an effect, a route's follow-up is one more
placebo of that route: each of the K + 1 values was as likely to be the follow-up's. So the sum over
routes has a known distribution (a permutation test within routes, exact for exchangeable values),
and a follow-up beyond the split-conformal band of its own route has at most the band's level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from analysis.statistics.significance import MOST_EXACT, compute_signed_sums
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats
from studies.metamorphic.judging.bands import count_allowed, fit_band

MOST_ASSIGNMENTS = 20_000
ROUNDING = 1e-9


def compute_permutation_p(follow: Floats, placebos: Sequence[Floats]) -> float:
    """Return how often as large a sum arises where any value of a route may be the follow-up's."""
    # of each route the values that could be the follow-up's
    routes = [np.append(value, others) for value, others in zip(follow, placebos, strict=True)]
    if not routes:
        return float("nan")
    seen = float(follow.sum()) - ROUNDING
    # all assignments if they are few, else random ones
    if np.prod([float(len(values)) for values in routes]) <= MOST_ASSIGNMENTS:
        sums = np.array([sum(values) for values in product(*(one.tolist() for one in routes))])
        return float((sums >= seen).mean())
    random = make_named_stream(len(routes), "drives", "assignments")
    sums = np.zeros(MOST_ASSIGNMENTS)
    for values in routes:
        sums += values[random.integers(len(values), size=MOST_ASSIGNMENTS)]
    return (1 + int((sums >= seen).sum())) / (1 + MOST_ASSIGNMENTS)


def compute_sign_p(differences: Floats) -> float:
    """Return the one-sided p of routes' differences: how often random signs give as large a sum."""
    moved = differences[np.abs(differences) > ROUNDING]
    seen = float(moved.sum()) - ROUNDING
    if len(moved) <= MOST_EXACT:
        return float((compute_signed_sums(moved) >= seen).mean())
    random = make_named_stream(len(moved), "drives", "signs")
    signs = random.choice((-1.0, 1.0), (MOST_ASSIGNMENTS, len(moved)))
    return (1 + int((signs @ moved >= seen).sum())) / (1 + MOST_ASSIGNMENTS)


def find_routes_beyond_bands(
    follow: Floats, placebos: Sequence[Floats], level: float
) -> tuple[list[bool], float]:
    """Return which routes' follow-ups lie beyond their bands, and how many would by chance at most.

    A band of K placebos has no finer level than 1 / (K + 1).
    """
    beyond, expected = [], 0.0
    for value, others in zip(follow.tolist(), placebos, strict=True):
        finest = max(level, 1 / (len(others) + 1))
        band = fit_band(others, [str(number) for number in range(len(others))], finest)
        beyond.append(bool(value > band.threshold))
        expected += count_allowed(len(others), finest) / (len(others) + 1)
    return beyond, expected


def find_maximum_over_seeds(values: Mapping[tuple[str, int], float]) -> dict[str, float]:
    """Return the largest value of every route over its seeds."""
    largest: dict[str, float] = {}
    for (route, _), value in values.items():
        largest[route] = max(largest.get(route, value), value)
    return largest


def average_over_seeds(values: Mapping[tuple[str, int], float]) -> dict[str, float]:
    """Return the mean of every route over its seeds."""
    groups: dict[str, list[float]] = {}
    for (route, _), value in values.items():
        groups.setdefault(route, []).append(value)
    return {route: float(np.mean(group)) for route, group in groups.items()}
