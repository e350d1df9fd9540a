"""The distribution of a number that is known up to an interval only, without assuming a family.

An observation is an interval (low, high]: the number is above `low` and at most `high`. Minus
infinity on the left is left-censored, infinity on the right is right-censored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.intervals import (
    NO_ESTIMATE,
    Estimate,
    expanded_percentiles,
    resample_weights,
    wilson,
)
from harness.vocabulary import Floats, Mask

RESAMPLES = 2000
STEPS = 20_000
"""Of the algorithm, at most."""
CLOSE = 1e-10
"""Change of every probability in a step at which the algorithm ends."""
ROUNDING = 1e-6
"""By which shares may be off."""


@dataclass(frozen=True, slots=True, eq=False)
class Masses:
    """Probabilities of intervals (low, high]; where inside an interval is not known.

    Each row of `mass` is an estimate, of the data or of a resample.
    """

    low: Floats  # (M,)
    high: Floats  # (M,)
    mass: Floats  # (B, M)

    def above(self, size: float) -> tuple[Floats, Floats]:
        """Return the least and the largest probability of more than a size, one of each row.

        They differ where the size lies inside an interval.
        """
        certainly, perhaps = self.low >= size, self.high > size
        least, most = self.mass @ certainly, self.mass @ perhaps
        return np.asarray(least, np.float64), np.asarray(most, np.float64)

    def mean_up_to(self, largest: float) -> Floats:
        """Return the mean of the smaller of the number and `largest`, one of each row.

        Each interval counts with its upper end: the first size of which the outcome is known.
        """
        return np.asarray(self.mass @ np.minimum(self.high, largest), np.float64)


def innermost_intervals(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the intervals that alone can have probability in the maximum-likelihood estimate.

    They begin at an observation's lower end and stop at an upper end with no other end between
    (Turnbull 1976, Journal of the Royal Statistical Society B 38, section 2; for intervals that
    are open below and closed above, an upper end comes before an equal lower one).
    """
    ends = np.concatenate([high, low])
    is_low = np.repeat([False, True], len(low))
    order = np.lexsort((is_low, ends))
    ends, is_low = ends[order], is_low[order]
    begins = np.flatnonzero(is_low[:-1] & ~is_low[1:])
    return ends[begins], ends[begins + 1]


def turnbull(low: Floats, high: Floats, weights: Floats | None = None) -> Masses:
    """Return the non-parametric maximum-likelihood estimate of a distribution.

    Turnbull's self-consistency algorithm (1976, Journal of the Royal Statistical Society B 38,
    section 3) on the innermost intervals. `weights` (B, N) count each observation, one row for an
    estimate; without them each counts once.
    """
    if not (low < high).all():
        raise ValueError("an interval has no size inside")
    weights = np.ones((1, len(low))) if weights is None else weights
    kinds, of_kind = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    weights = weights @ np.eye(len(kinds))[of_kind.ravel()]  # (B, K): equal intervals together
    inner_low, inner_high = innermost_intervals(low, high)
    inside: Mask = (inner_low >= kinds[:, :1]) & (inner_high <= kinds[:, 1:])  # (K, M)
    allowed = inside.astype(np.float64)
    mass = np.full((len(weights), len(inner_low)), 1 / len(inner_low))
    totals = weights.sum(axis=1, keepdims=True)
    for _ in range(STEPS):
        likelihood = mass @ allowed.T  # (B, K)
        shares = np.divide(weights, likelihood, out=np.zeros_like(weights), where=weights > 0)
        better = mass * (shares @ allowed) / totals
        moved = np.abs(better - mass).max()
        mass = better
        if moved < CLOSE:
            break
    return Masses(inner_low, inner_high, mass)


def resampled(low: Floats, high: Floats, clusters: Floats) -> tuple[Masses, Masses, int]:
    """Return the estimate, those of resampled clusters, and how many clusters there are.

    Clusters (routes) are sampled whole, with replacement.
    """
    members = np.unique(clusters, return_inverse=True)[1]
    count = int(members.max()) + 1
    weights = (
        resample_weights(count, RESAMPLES)[:, members] if count > 1 else np.ones((1, len(low)))
    )
    return turnbull(low, high), turnbull(low, high, weights), count


def share_above(data: Masses, samples: Masses, *, size: float, n: int, routes: int) -> Estimate:
    """Return the share above a size; its interval holds whatever is unknown inside intervals.

    A share of none or all gets Wilson's interval over routes, as rates do.
    """
    least, most = (float(side[0]) for side in data.above(size))
    if routes < 2:
        low, high = (np.nan, np.nan) if least == most else (least, most)
        return estimate_of((least + most) / 2, low, high, n=n, routes=routes)
    if most < ROUNDING or least > 1 - ROUNDING:
        low, high = wilson(round(least) * routes, routes)
        return Estimate(
            value=float(round(least)),
            low=low,
            high=high,
            n=n,
            routes=routes,
            method="wilson over routes",
        )
    below, above = samples.above(size)
    share, rest = expanded_percentiles(routes)
    low, high = float(np.quantile(below, share)), float(np.quantile(above, rest))
    return estimate_of((least + most) / 2, low, high, n=n, routes=routes)


def estimate_of(value: float, low: float, high: float, *, n: int, routes: int) -> Estimate:
    """Return an estimate with a resampled interval."""
    return Estimate(
        value=value,
        low=low,
        high=high,
        n=n,
        routes=routes,
        method="bootstrap" if np.isfinite(low) else "none",
    )


def mean_up_to(ends: tuple[Floats, Floats], clusters: Floats, largest: float) -> Estimate:
    """Return the mean of the smaller of the number and `largest`."""
    data, samples, routes = resampled(*ends, clusters)
    values = float(data.mean_up_to(largest)[0]), samples.mean_up_to(largest)
    return with_percentiles(*values, n=len(clusters), routes=routes)


def mean_difference(
    a: tuple[Floats, Floats], b: tuple[Floats, Floats], clusters: Floats, largest: float
) -> Estimate:
    """Return how much larger the mean up to `largest` is in b, of pairs in the same clusters.

    Both are resampled together: a cluster that is left out is left out of both.
    """
    if not len(clusters):
        return NO_ESTIMATE
    (one, sampled, routes), (other, others, _) = (resampled(*side, clusters) for side in (a, b))
    value = float(other.mean_up_to(largest)[0] - one.mean_up_to(largest)[0])
    differences = others.mean_up_to(largest) - sampled.mean_up_to(largest)
    return with_percentiles(value, differences, n=len(clusters), routes=routes)


def with_percentiles(value: float, samples: Floats, *, n: int, routes: int) -> Estimate:
    """Return a value with the percentiles of its resamples; without any spread it has none."""
    if routes < 2:
        return estimate_of(value, np.nan, np.nan, n=n, routes=routes)
    low, high = np.quantile(samples, expanded_percentiles(routes))
    if high - low < ROUNDING:
        low = high = np.nan
    return estimate_of(value, float(low), float(high), n=n, routes=routes)


def order_of_pairs(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> Floats:
    """Return 1 where the number of b is surely larger than that of a, -1 where smaller, else 0.

    Of intervals (low, high] only those without a common size have an order.
    """
    larger, smaller = b[0] >= a[1], b[1] <= a[0]
    return larger.astype(np.float64) - smaller.astype(np.float64)
