"""The distribution of a number that is known up to an interval only, without assuming a family.

An observation is an interval (low, high]: the number is above `low` and at most `high`. Minus
infinity on the left is left-censored, infinity on the right is right-censored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.intervals import (
    NO_ESTIMATE,
    IntervalEstimate,
    compute_expanded_percentiles,
    compute_wilson_interval,
    sample_bootstrap_weights,
)
from harness.types.vocabulary import Floats, Mask

RESAMPLES = 2000
STEPS = 20_000
"""Of the algorithm, at most."""
CLOSE = 1e-10
"""Change of every probability in a step at which the algorithm ends."""
ROUNDING = 1e-6
"""By which shares may be off."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityMasses:
    """Probabilities of intervals (low, high]; where inside an interval is not known.

    Each row of `mass` is an estimate, of the data or of a resample.
    """

    low: Floats  # (M,)
    high: Floats  # (M,)
    mass: Floats  # (B, M)

    def bound_share_above(self, size: float) -> tuple[Floats, Floats]:
        """Return the least and the largest probability of more than a size, one of each row.

        They differ where the size lies inside an interval.
        """
        certainly, perhaps = self.low >= size, self.high > size
        least, most = self.mass @ certainly, self.mass @ perhaps
        return np.asarray(least, np.float64), np.asarray(most, np.float64)

    def compute_restricted_mean(self, largest: float) -> Floats:
        """Return the mean of the smaller of the number and `largest`, one of each row.

        Each interval counts with its upper end: the first size of which the outcome is known.
        """
        return np.asarray(self.mass @ np.minimum(self.high, largest), np.float64)


def find_innermost_intervals(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the intervals that alone can have probability in the maximum-likelihood estimate.

    They begin at an observation's lower end and stop at an upper end with no other end between
    (Turnbull 1976, Journal of the Royal Statistical Society B 38, section 2; for intervals that
    are open below and closed above, an upper end comes before an equal lower one).

    Args:
        low: (N,).
        high: (N,).

    Returns:
        (M,) lower and (M,) upper ends, ascending.
    """
    ends = np.concatenate([high, low])
    is_low = np.repeat([False, True], len(low))
    order = np.lexsort((is_low, ends))
    ends, is_low = ends[order], is_low[order]
    begins = np.flatnonzero(is_low[:-1] & ~is_low[1:])
    return ends[begins], ends[begins + 1]


def fit_turnbull(low: Floats, high: Floats, weights: Floats | None = None) -> ProbabilityMasses:
    """Return the non-parametric maximum-likelihood estimate of a distribution.

    Turnbull's self-consistency algorithm (1976, Journal of the Royal Statistical Society B 38,
    section 3) on the innermost intervals. `weights` (B, N) count each observation, one row for an
    estimate; without them each counts once.

    Args:
        low: (N,) lower ends; minus infinity is left-censored.
        high: (N,) upper ends; infinity is right-censored.
        weights: (B, N).

    Returns:
        B estimates on M intervals.

    Raises:
        ValueError: an interval is empty.
    """
    if not (low < high).all():
        raise ValueError("an interval has no size inside")
    weights = np.ones((1, len(low))) if weights is None else weights
    # K different intervals: the algorithm's steps are then small products
    kinds, of_kind = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    weights = weights @ np.eye(len(kinds))[of_kind.ravel()]  # (B, K): equal intervals together
    inner_low, inner_high = find_innermost_intervals(low, high)
    inside: Mask = (inner_low >= kinds[:, :1]) & (inner_high <= kinds[:, 1:])  # (K, M)
    allowed = inside.astype(np.float64)
    # equal masses at first; the algorithm keeps their sum
    mass = np.full((len(weights), len(inner_low)), 1 / len(inner_low))
    totals = weights.sum(axis=1, keepdims=True)
    for _ in range(STEPS):
        # self-consistency: an observation is spread over its intervals by their masses
        likelihood = mass @ allowed.T  # (B, K)
        shares = np.divide(weights, likelihood, out=np.zeros_like(weights), where=weights > 0)
        better = mass * (shares @ allowed) / totals
        moved = np.abs(better - mass).max()
        mass = better
        if moved < CLOSE:
            break
    return ProbabilityMasses(inner_low, inner_high, mass)


def fit_resampled_turnbull(
    low: Floats, high: Floats, clusters: Floats
) -> tuple[ProbabilityMasses, ProbabilityMasses, int]:
    """Return the estimate, those of resampled clusters, and how many clusters there are.

    Clusters (routes) are sampled whole, with replacement.

    Args:
        low: (N,) lower ends.
        high: (N,) upper ends.
        clusters: (N,) numbers of the routes.
    """
    members = np.unique(clusters, return_inverse=True)[1]
    count = int(members.max()) + 1
    weights = (
        sample_bootstrap_weights(count, RESAMPLES)[:, members]
        if count > 1
        else np.ones((1, len(low)))
    )
    return fit_turnbull(low, high), fit_turnbull(low, high, weights), count


def estimate_share_above(
    data: ProbabilityMasses, samples: ProbabilityMasses, *, size: float, n: int, routes: int
) -> IntervalEstimate:
    """Return the share above a size; its interval holds whatever is unknown inside intervals.

    A share of none or all gets Wilson's interval over routes, as rates do.

    Args:
        data: the estimate of all observations.
        samples: those of resampled routes.
        size: in the unit of the intervals.
        n: number of attempts.
        routes: number of routes.

    Returns:
        A share, 0 to 1.
    """
    least, most = (float(side[0]) for side in data.bound_share_above(size))
    # one route cannot be resampled
    if routes < 2:
        low, high = (np.nan, np.nan) if least == most else (least, most)
        return make_resampled_estimate((least + most) / 2, low, high, n=n, routes=routes)
    # none or all: resampling would give an interval of width zero
    if most < ROUNDING or least > 1 - ROUNDING:
        low, high = compute_wilson_interval(round(least) * routes, routes)
        return IntervalEstimate(
            value=float(round(least)),
            low=low,
            high=high,
            n=n,
            routes=routes,
            method="wilson over routes",
        )
    # the lower limit of the least share, the upper limit of the largest
    below, above = samples.bound_share_above(size)
    share, rest = compute_expanded_percentiles(routes)
    low, high = float(np.quantile(below, share)), float(np.quantile(above, rest))
    return make_resampled_estimate((least + most) / 2, low, high, n=n, routes=routes)


def make_resampled_estimate(
    value: float, low: float, high: float, *, n: int, routes: int
) -> IntervalEstimate:
    """Return an estimate with a resampled interval."""
    return IntervalEstimate(
        value=value,
        low=low,
        high=high,
        n=n,
        routes=routes,
        method="bootstrap" if np.isfinite(low) else "none",
    )


def estimate_restricted_mean(
    ends: tuple[Floats, Floats], clusters: Floats, largest: float
) -> IntervalEstimate:
    """Return the mean of the smaller of the number and `largest`.

    Args:
        ends: lower and upper ends, (N,) each.
        clusters: (N,) numbers of the routes.
        largest: where the number is cut.

    Returns:
        In the unit of the intervals.
    """
    data, samples, routes = fit_resampled_turnbull(*ends, clusters)
    values = (
        float(data.compute_restricted_mean(largest)[0]),
        samples.compute_restricted_mean(largest),
    )
    return make_percentile_estimate(*values, n=len(clusters), routes=routes)


def estimate_restricted_mean_difference(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats], clusters: Floats, largest: float
) -> IntervalEstimate:
    """Return how much larger the mean up to `largest` is in b, of pairs in the same clusters.

    Both are resampled together: a cluster that is left out is left out of both.

    Args:
        a: lower and upper ends, (N,) each.
        b: the same of the pairs.
        clusters: (N,) numbers of the routes.
        largest: where both numbers are cut.

    Returns:
        b less a, in the unit of the intervals.
    """
    if not len(clusters):
        return NO_ESTIMATE
    (one, sampled, routes), (other, others, _) = (
        fit_resampled_turnbull(*side, clusters) for side in (a, b)
    )
    value = float(
        other.compute_restricted_mean(largest)[0] - one.compute_restricted_mean(largest)[0]
    )
    differences = others.compute_restricted_mean(largest) - sampled.compute_restricted_mean(largest)
    return make_percentile_estimate(value, differences, n=len(clusters), routes=routes)


def make_percentile_estimate(
    value: float, samples: Floats, *, n: int, routes: int
) -> IntervalEstimate:
    """Return a value with the percentiles of its resamples; without any spread it has none."""
    if routes < 2:
        return make_resampled_estimate(value, np.nan, np.nan, n=n, routes=routes)
    low, high = np.quantile(samples, compute_expanded_percentiles(routes))
    if high - low < ROUNDING:
        low = high = np.nan
    return make_resampled_estimate(value, float(low), float(high), n=n, routes=routes)


def compare_interval_pairs(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> Floats:
    """Return 1 where the number of b is surely larger than that of a, -1 where smaller, else 0.

    Of intervals (low, high] only those without a common size have an order.

    Args:
        a: lower and upper ends, (N,) each.
        b: the same of the pairs.

    Returns:
        (N,)
    """
    larger, smaller = b[0] >= a[1], b[1] <= a[0]
    return larger.astype(np.float64) - smaller.astype(np.float64)
