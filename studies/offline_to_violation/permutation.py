"""Whether a finding says something of the residuals of a model that has not seen the route.

Under the null hypothesis, it does not matter of which route of a town a finding is. Findings are
permuted between the routes of a town as wholes, all systems of a route together, so that rows of a
route may depend on each other in any way.
"""

from __future__ import annotations

import math

import numpy as np

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Integers
from studies.offline_to_violation.prediction import OutcomeRows, standardise_findings

PERMUTATIONS = 9999
ROUNDING_SHARE = 1e-9


def sum_route_residuals(rows: OutcomeRows, p: Floats) -> Floats:
    """Return observed less predicted violations of each route and system: (routes, systems)."""
    sums = np.zeros((rows.count_routes, rows.count_systems))
    np.add.at(sums, (rows.routes, rows.systems), rows.violated - p)
    return sums


def centre_by_town(values: Floats, towns: Integers) -> Floats:
    """Return values less the mean of their town: (routes, systems).

    Args:
        values: (routes, systems).
        towns: (routes,) number of the town.
    """
    centred = values.copy()
    for town in np.unique(towns):
        centred[towns == town] -= values[towns == town].mean(axis=0)
    return centred


def remove_linear_part(finding: Floats, others: Floats) -> Floats:
    """Return a finding less what other columns say of it, by least squares within each system.

    Args:
        finding: (routes, systems) standardised.
        others: (routes, systems, columns) standardised.

    Returns:
        (routes, systems)
    """
    left = np.empty_like(finding)
    for system in range(finding.shape[1]):
        design = np.column_stack([np.ones(len(finding)), others[:, system]])
        coefficients, *_ = np.linalg.lstsq(design, finding[:, system], rcond=None)
        left[:, system] = finding[:, system] - design @ coefficients
    return left


def sample_permutations(towns: Integers, count: int = PERMUTATIONS) -> Integers:
    """Return permutations of routes within their towns, always the same: (count, routes).

    Args:
        towns: (routes,) number of the town.
        count: of permutations.
    """
    stream = make_named_stream(len(towns), "offline_to_violation", "permutations")
    permuted = np.tile(np.arange(len(towns)), (count, 1))
    for town in np.unique(towns):
        members = np.flatnonzero(towns == town)
        permuted[:, members] = stream.permuted(np.tile(members, (count, 1)), axis=1)
    return permuted


def compute_route_permutation_p(
    finding: Floats, residuals: Floats, permutations: Integers
) -> float:
    """Return the two-sided p of the sum of products; NaN for a finding that does not vary.

    Args:
        finding: (routes, systems), centred by town.
        residuals: (routes, systems) of the reference model, held out, centred by town.
        permutations: (count, routes).
    """
    if np.abs(finding).max(initial=0.0) < 1e-9:
        return math.nan
    # (routes, routes): the finding of one route with the residuals of another
    products = finding @ residuals.T
    seen = abs(float(np.trace(products)))
    sums = np.abs(products[permutations, np.arange(len(products))].sum(axis=1))
    least = seen - ROUNDING_SHARE * max(seen, 1.0)
    return float((1 + (sums >= least).sum()) / (1 + len(permutations)))


def compute_finding_p(
    finding: Floats,
    trivial: Floats,
    *,
    base: Floats,
    informed: Floats,
    towns: Integers,
    permutations: Integers,
) -> float:
    """Return the larger p: of the residuals of the base rate, and of the trivial predictors' model.

    Args:
        finding: (routes, systems), NaN where nothing was asked.
        trivial: (routes, systems, columns).
        base: (routes, systems) residuals of the base rate.
        informed: (routes, systems) residuals of the model with the trivial predictors.
        towns: (routes,) number of the town.
        permutations: (count, routes).
    """
    everywhere = np.ones(len(finding), np.bool_)
    scaled = standardise_findings(finding[:, :, None], everywhere)[:, :, 0]
    known = standardise_findings(trivial, everywhere)
    columns = [centre_by_town(known[:, :, at], towns) for at in range(known.shape[2])]
    scaled = centre_by_town(scaled, towns)
    left = remove_linear_part(scaled, np.dstack(columns))
    return max(
        compute_route_permutation_p(scaled, centre_by_town(base, towns), permutations),
        compute_route_permutation_p(left, centre_by_town(informed, towns), permutations),
    )
