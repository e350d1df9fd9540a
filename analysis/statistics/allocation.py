"""From which strata the next routes are sampled, by a rule that is fixed beforehand.

Neyman's allocation (1934, Journal of the Royal Statistical Society 97) samples a stratum in
proportion to its share times its spread. The spread is estimated from earlier routes. A floor keeps
a part of the samples as the population has them, so that no weight exceeds 1 / floor (defensive
mixture: Hesterberg 1995, Technometrics 37).
"""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Floats

PRIOR_ROUTES, PRIOR_SQUARE = 4.0, 0.1
"""A stratum starts as if so many routes with this mean square of the difference had been driven."""


def allocate_samples(shares: Floats, wanted: Floats, floor: float) -> Floats:
    """Return the chances of the next route's stratum.

    Args:
        shares: (strata,) of the population; they sum up to 1.
        wanted: (samples, strata) in proportion to which the rest above the floor is sampled.
        floor: 0 to 1; 1 samples as the population has it.

    Returns:
        (samples, strata) sums of 1; each chance is at least floor times the share.
    """
    total = wanted.sum(axis=1, keepdims=True)
    even = np.where(total > 0, wanted / np.where(total > 0, total, 1.0), shares)
    return np.asarray(floor * shares + (1 - floor) * even)


def predict_differences(counts: Floats, sums: Floats) -> Floats:
    """Return the mean of each stratum, drawn towards zero.

    Args:
        counts: (samples, strata) of routes.
        sums: (samples, strata) of their differences.
    """
    return np.asarray(sums / (counts + PRIOR_ROUTES))


def estimate_mean_squares(counts: Floats, squares: Floats, prior: Floats | float) -> Floats:
    """Return the mean square of each stratum's differences, drawn towards a prior.

    Args:
        counts: (samples, strata) of routes.
        squares: (samples, strata) sums of squares.
        prior: (strata,) mean squares expected before the first route.
    """
    return np.asarray((squares + PRIOR_ROUTES * prior) / (counts + PRIOR_ROUTES))
