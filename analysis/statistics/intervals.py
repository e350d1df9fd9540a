"""Estimates with intervals that respect routes: bootstrap, Wilson, Clopper-Pearson, jackknife.

Attempts on one route share its road and its traffic: they are not independent, so routes are
resampled whole. Where each route counts once there are no clusters, and a rate gets Wilson's
interval. A resampled rate of only zeros (or only ones) would have an interval of width zero, which
is wrong: it gets Wilson's interval with the number of routes as its sample size. A mean without any
spread gets no interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Integers

Method: TypeAlias = Literal["bootstrap", "wilson", "wilson over routes", "percentiles", "none"]

LEVEL = 0.95
RESAMPLES = 5000
FEWEST_RESAMPLED_ROUTES = 5
"""Routes below which resampling cannot reach 95 %: all there is to draw is their own range."""
ROUNDING = 1e-9
"""Share of themselves by which sums of equal numbers may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalEstimate:
    """A number, its interval, and what it rests on.

    Attributes:
        value: the estimate; NaN for none.
        low: lower limit; NaN without an interval.
        high: upper limit; NaN without an interval.
        routes: the number of routes among the attempts.
        method: how the interval was made.
    """

    value: float
    low: float
    high: float
    n: int  # attempts
    routes: int
    method: Method


NO_ESTIMATE = IntervalEstimate(
    value=math.nan, low=math.nan, high=math.nan, n=0, routes=0, method="none"
)


def estimate_mean(values: Floats, clusters: Floats) -> IntervalEstimate:
    """Return a mean over attempts; `clusters` are the numbers of their routes.

    Args:
        values: (attempts,).
        clusters: (attempts,).

    Returns:
        In the unit of the values.
    """
    return estimate_ratio(values, np.ones(len(values)), clusters)


def estimate_share(happened: Floats, clusters: Floats) -> IntervalEstimate:
    """Return a share of attempts, 0 to 1.

    Args:
        happened: (attempts,) 0 or 1.
        clusters: (attempts,) numbers of the routes.
    """
    # each route once: attempts are independent
    n, routes = len(happened), len(np.unique(clusters))
    if n and n == routes:
        low, high = compute_wilson_interval(float(happened.sum()), n)
        return IntervalEstimate(
            value=float(happened.mean()), low=low, high=high, n=n, routes=routes, method="wilson"
        )
    # routes several times: resampled, unless nothing or all happened
    estimate = estimate_mean(happened, clusters)
    if n and estimate.value in (0.0, 1.0):
        low, high = compute_wilson_interval(estimate.value * routes, routes)
        return IntervalEstimate(
            value=estimate.value,
            low=low,
            high=high,
            n=n,
            routes=routes,
            method="wilson over routes",
        )
    return estimate


def estimate_ratio(above: Floats, below: Floats, clusters: Floats) -> IntervalEstimate:
    """Return a sum over a sum with its route-clustered bootstrap interval.

    Percentiles are taken further out than 2.5 %, as far as few routes ask for (Hesterberg 2015,
    What Teachers Should Know About the Bootstrap, section 3.3: expanded percentiles).

    Args:
        above: (attempts,) whose sum is divided.
        below: (attempts,) by whose sum it is divided, such as ones or metres.
        clusters: (attempts,) numbers of the routes.

    Returns:
        NaN without an interval where there are fewer than two routes or no spread.
    """
    names, members = np.unique(clusters, return_inverse=True)
    total = below.sum()
    if total <= 0:
        return IntervalEstimate(
            value=math.nan,
            low=math.nan,
            high=math.nan,
            n=len(above),
            routes=len(names),
            method="none",
        )
    value = float(above.sum() / total)
    if len(names) < 2:
        return IntervalEstimate(
            value=value, low=math.nan, high=math.nan, n=len(above), routes=len(names), method="none"
        )
    # (2, routes) and then (resamples,): sums of the routes that each resample has
    sums = np.stack([np.bincount(members, values) for values in (above, below)])
    top, bottom = sums @ sample_bootstrap_weights(len(names)).T
    # a resample may have nothing to divide by: it has no ratio
    some = bottom > 0
    low, high = np.quantile(top[some] / bottom[some], compute_expanded_percentiles(len(names)))
    if high - low <= ROUNDING * abs(value):
        return IntervalEstimate(
            value=value, low=math.nan, high=math.nan, n=len(above), routes=len(names), method="none"
        )
    return IntervalEstimate(
        value=value,
        low=float(low),
        high=float(high),
        n=len(above),
        routes=len(names),
        method="bootstrap",
    )


@lru_cache(maxsize=16)
def sample_bootstrap_weights(routes: int, times: int = RESAMPLES) -> Floats:
    """Return how often each route is drawn in each resample, always the same draws.

    Args:
        routes: their number.
        times: the number of resamples.

    Returns:
        (times, routes), read-only; each row adds up to `routes`.
    """
    counts = make_named_stream(routes, "analysis", "bootstrap").multinomial(
        routes, np.full(routes, 1 / routes), times
    )
    weights = counts.astype(np.float64)
    weights.setflags(write=False)
    return weights


def compute_expanded_percentiles(routes: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the two percentiles, as shares, that few routes ask for.

    Args:
        routes: 2 or more.
        level: 0 to 1.

    Returns:
        The lower and the upper one, 0 to 1.
    """
    reach = math.sqrt(routes / (routes - 1)) * special.stdtrit(routes - 1, (1 - level) / 2)
    share = float(special.ndtr(reach))
    return share, 1 - share


def compute_wilson_interval(events: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval of a share (Wilson 1927).

    Args:
        events: how often it happened; it may be a fraction.
        n: out of how many.
        level: 0 to 1.

    Returns:
        The limits, 0 to 1.
    """
    z = float(special.ndtri((1 + level) / 2))
    centre = (events + z * z / 2) / (n + z * z)
    reach = z / (n + z * z) * math.sqrt(events * (n - events) / n + z * z / 4)
    # none and all reach the ends exactly; the formula misses them by rounding
    low = 0.0 if events == 0 else max(centre - reach, 0.0)
    high = 1.0 if events == n else min(centre + reach, 1.0)
    return low, high


def compute_clopper_pearson_interval(
    events: int, n: int, level: float = LEVEL
) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934).

    Args:
        events: how often it happened.
        n: out of how many.
        level: 0 to 1.

    Returns:
        The limits, 0 to 1.
    """
    low = special.betaincinv(events, n - events + 1, (1 - level) / 2) if events else 0.0
    high = special.betaincinv(events + 1, n - events, (1 + level) / 2) if events < n else 1.0
    return float(low), float(high)


def make_leave_one_out_weights(clusters: Integers) -> Floats:
    """Return a row of weights for each cluster, nothing for its own rows and one for the others."""
    return np.asarray(np.unique(clusters)[:, None] != clusters, np.float64)


def compute_jackknife_errors(estimate: Floats, left: Floats) -> Floats:
    """Return standard errors of estimates from those with each of G clusters left out.

    Covariance (G - 1) / G sum((b_g - b)(b_g - b)'), centred on the full estimate: CV3 of MacKinnon,
    Nielsen and Webb (2023, Journal of Applied Econometrics 38), for logit in arXiv 2406.00650.

    Args:
        estimate: (columns,) of all clusters.
        left: (G, columns), one cluster left out in each row.

    Returns:
        (columns,)
    """
    groups = len(left)
    return np.asarray(np.sqrt((groups - 1) / groups * ((left - estimate) ** 2).sum(axis=0)))
