"""Two result sets on the routes that both have: differences, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.statistics.intervals import IntervalEstimate, estimate_mean
from analysis.statistics.significance import run_sign_flip_test
from studies.outside_results.bench2drive import is_success
from studies.outside_results.driven_route import DrivenRoute
from studies.outside_results.reading import ResultSet
from studies.outside_results.scoring_rules import ScoringRule
from studies.outside_results.totals import CrashTreatment, choose_drives

MEASURES = ("driving score", "route completion", "success, %")
MOST_UNLIKE = 0.05
"""Share by which two lengths of one route may differ: leaderboards interpolate otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteDifference:
    """A measure of two result sets on equal routes.

    Attributes:
        measure: one of `MEASURES`.
        first: mean of the first set.
        second: mean of the second set.
        difference: second minus first, with its interval.
        p: of a sign-flip test over routes.
    """

    measure: str
    first: float
    second: float
    difference: IntervalEstimate
    p: float


@dataclass(frozen=True, slots=True)
class RouteMeasures:
    """Means of each route over its repetitions, by measure."""

    by_route: dict[str, dict[str, float]]


def measure_routes(
    results: ResultSet, rule: ScoringRule, treatment: CrashTreatment
) -> RouteMeasures:
    """Return each route's measures; a drive that counts as zero has 0 in all."""
    asked: dict[str, Callable[[DrivenRoute], float]] = {
        "driving score": rule.compute_score,
        "route completion": lambda drive: 100 * drive.completion,
        "success, %": lambda drive: 100.0 * is_success(drive),
    }
    routes: dict[str, list[DrivenRoute | None]] = {}
    for (route, _), drive in choose_drives(results.drives, treatment).items():
        routes.setdefault(route, []).append(drive)
    return RouteMeasures(
        {
            route: {
                measure: float(np.mean([0.0 if one is None else ask(one) for one in drives]))
                for measure, ask in asked.items()
            }
            for route, drives in routes.items()
        }
    )


def compare_routes(first: RouteMeasures, second: RouteMeasures) -> list[RouteDifference]:
    """Return a difference for each measure, over the routes that both sets have."""
    routes = sorted(first.by_route.keys() & second.by_route.keys())
    if not routes:
        return []
    differences = []
    for measure in MEASURES:
        a, b = (
            np.array([side.by_route[route][measure] for route in routes])
            for side in (first, second)
        )
        differences.append(
            RouteDifference(
                measure=measure,
                first=float(a.mean()),
                second=float(b.mean()),
                difference=estimate_mean(b - a, np.arange(len(routes), dtype=np.float64)),
                p=run_sign_flip_test(b - a).p if len(routes) > 1 else math.nan,
            )
        )
    return differences


def list_unlike_routes(first: ResultSet, second: ResultSet) -> list[str]:
    """Return the routes of one name whose lengths in two sets are those of different routes."""
    lengths, others = measure_lengths(first), measure_lengths(second)
    return sorted(
        route
        for route in lengths.keys() & others.keys()
        if not math.isclose(lengths[route], others[route], rel_tol=MOST_UNLIKE)
    )


def measure_lengths(results: ResultSet) -> dict[str, float]:
    """Return the length of each route in metres; without routes whose file has none, or 0.

    A drive that crashed while it was set up has a length of 0.
    """
    return {drive.route: drive.length for drive in results.drives if drive.length > 0}
