"""Rates of rare failures: defensive importance sampling, and strata.

Disturbances are described by independent standard normal numbers, one for each parameter; a
parameter's share of its range is their distribution function, `convert_points_to_shares`. The
proposal is the same distribution round another centre, to which the cross-entropy method moves it.
Its width is kept: a
narrow proposal gives a rate that is too low and looks precise. Half of the samples come from the
proposal and half from the nominal distribution, so that no weight exceeds 2 and failures that the
proposal misses still count (Hesterberg 1995, Technometrics 37).

The interval is always valid, also where the proposal is bad. Its price: failures that no sample met
have half their rate among the samples, so that with n samples the upper limit is never below about
10 / n. Use the interval for a promise, the standard error to compare proposals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from analysis.statistics.confidence_sequence import LEVEL, compute_confidence_sequence
from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Mask

NOMINAL_SHARE = 0.5
"""Of the samples, from the nominal distribution."""
LARGEST_WEIGHT = 1 / NOMINAL_SHARE
FEWEST_EFFECTIVE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RateEstimate:
    """A failure rate, its always-valid interval, and what it rests on.

    Attributes:
        value: failures for each sample of the nominal distribution, 0 to 1.
        low: lower limit.
        high: upper limit.
        n: samples.
    """

    value: float
    low: float
    high: float
    standard_error: float
    n: int
    effective: float  # sample size of the failures' weights
    largest_share: float  # of the sum of the failures' weights, in one sample


def convert_points_to_shares(points: Floats) -> Floats:
    """Return the shares of parameters' ranges, from 0 to 1, that points stand for."""
    return np.asarray(ndtr(points))


def sample_proposal(centre: Floats, count: int, random: np.random.Generator) -> Floats:
    """Return points, each from the nominal distribution or round the centre with equal chance.

    Args:
        centre: (dimensions,).
        count: points.
        random: the stream.

    Returns:
        (count, dimensions) standard normal numbers, half of them moved.
    """
    standard = random.standard_normal((count, len(centre)))
    return standard + np.where(random.random((count, 1)) < NOMINAL_SHARE, 0.0, centre)


def compute_defensive_weights(points: Floats, centre: Floats) -> Floats:
    """Return nominal density over that of the samples: at most 2.

    Args:
        points: (n, dimensions).
        centre: (dimensions,) of the proposal.

    Returns:
        (n,)
    """
    ratio = np.exp(np.minimum(points @ centre - centre @ centre / 2, 700.0))
    return np.asarray(1 / (NOMINAL_SHARE + (1 - NOMINAL_SHARE) * ratio))


def fit_proposal_centre(
    margin: Callable[[Floats], Floats],
    dimensions: int,
    random: np.random.Generator,
    *,
    samples: int = 200,
    elite: float = 0.1,
    rounds: int = 10,
) -> Floats:
    """Return a proposal's centre near the failures, points whose margin is 0 or less.

    Each round of the cross-entropy method samples, keeps the share `elite` with the smallest
    margins, and takes their weighted mean; the last one is the first in which all of those failed.

    Args:
        margin: gives (samples,) margins of (samples, dimensions) points.
        dimensions: numbers of a point.
        random: the stream.
        samples: points in a round.
        elite: share of the points that are kept.
        rounds: at most so many.

    Returns:
        (dimensions,)
    """
    centre = np.zeros(dimensions)
    for _ in range(rounds):
        points = sample_proposal(centre, samples, random)
        margins = margin(points)
        # the elite's margin; once it is 0 all of the elite failed
        level = max(float(np.quantile(margins, elite)), 0.0)
        chosen = points[margins <= level]
        # weights undo that points were not sampled from the nominal distribution
        centre = np.average(chosen, axis=0, weights=compute_defensive_weights(chosen, centre))
        if level <= 0:
            break
    return centre


def estimate_failure_rate(failed: Mask, weights: Floats, level: float = LEVEL) -> RateEstimate:
    """Return the failure rate of weighted samples in the order in which they were taken.

    Refused if the failures' weights are worth fewer than 30 samples: a rate that rests on a few
    large weights is unstable. `compute_upper_limit` is valid with any number.

    Args:
        failed: (n,).
        weights: (n,) at most 2.
        level: 0 to 1.

    Raises:
        UserError: too few failures for a standard error.
    """
    parts = np.where(failed, weights, 0.0)
    effective = compute_effective_sample_size(parts)
    if effective < FEWEST_EFFECTIVE:
        raise UserError(
            f"effective sample size of the failures = {effective:.1f}: must be"
            f" ≥ {FEWEST_EFFECTIVE:.0f}; take more samples or fit the proposal again"
        )
    low, high = _compute_rate_limits(parts, level)
    return RateEstimate(
        value=float(parts.mean()),
        low=low,
        high=high,
        standard_error=float(parts.std(ddof=1) / np.sqrt(len(parts))),
        n=len(parts),
        effective=effective,
        largest_share=float(parts.max() / parts.sum()),
    )


def compute_upper_limit(failed: Mask, weights: Floats, level: float = LEVEL) -> float:
    """Return the always-valid upper limit of the rate, also without any failure."""
    return _compute_rate_limits(np.where(failed, weights, 0.0), level)[1]


def compute_effective_sample_size(weights: Floats) -> float:
    """Return Kish's effective sample size, (sum w)² / sum w²."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def _compute_rate_limits(parts: Floats, level: float) -> tuple[float, float]:
    if len(parts) and parts.max() > LARGEST_WEIGHT * (1 + 1e-9):
        raise UserError(f"weight = {parts.max():.3f}: must be ≤ {LARGEST_WEIGHT:.0f}")
    scaled = np.minimum(parts / LARGEST_WEIGHT, 1.0)
    low, high = compute_confidence_sequence(scaled, level).last
    return low * LARGEST_WEIGHT, min(high * LARGEST_WEIGHT, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedRate:
    """A failure rate over routes, its always-valid interval, and the routes' own rates."""

    value: float
    low: float
    high: float
    rounds: int
    by_route: tuple[float, ...]


def estimate_stratified_rate(
    failed: Floats, route_shares: Floats, level: float = LEVEL
) -> StratifiedRate:
    """Return the rate of a mixture of routes; a row for each round, a column for each route.

    One round drives every route once with new seeds, and its mean over routes, by their shares, is
    one value from 0 to 1: the interval holds after every round, whatever the routes' rates are.

    Args:
        failed: (rounds, routes) 0 or 1.
        route_shares: (routes,) adding up to 1.
        level: 0 to 1.
    """
    if failed.ndim != 2 or failed.shape[1] != len(route_shares) or not len(failed):
        raise UserError("failed: must have a row for each round, a column for each route")
    if route_shares.min() < 0 or not np.isclose(route_shares.sum(), 1):
        raise UserError("route_shares: must be ≥ 0 and sum up to 1")
    means = np.clip(failed @ route_shares, 0.0, 1.0)
    low, high = compute_confidence_sequence(means, level).last
    return StratifiedRate(
        value=float(means.mean()),
        low=low,
        high=high,
        rounds=len(means),
        by_route=tuple(float(rate) for rate in failed.mean(axis=0)),
    )
