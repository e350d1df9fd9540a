"""Means of drives, what is computed from a few of them, and intervals by resampling ways.

All drives of a way (routes of equal geometry) are resampled together: they meet the same hazards,
so that they are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr

from analysis.statistics.intervals import compute_expanded_percentiles, sample_bootstrap_weights
from harness.types.vocabulary import Floats, Integers

Combine = Callable[[Floats], Floats]
"""From means, (..., means), to the number that is asked for, (...)."""


@dataclass(frozen=True, slots=True, eq=False)
class DriveMean:
    """A mean over some drives.

    Attributes:
        values: (drives,) of what the mean is taken.
        ways: (drives,) the number of each drive's way.
    """

    values: Floats
    ways: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class ResampledEstimate:
    """A number, its 95 % interval and its p; NaN where there is none.

    Attributes:
        value: computed from all drives.
        low: lower limit.
        high: upper limit.
        p: of the number being zero, two-sided; consistent with the interval.
        n: drives that take part.
        ways: different ways among them.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    ways: int


def estimate_resampled(means: Sequence[DriveMean], combine: Combine) -> ResampledEstimate:
    """Return a number that is computed from means of drives, with its interval.

    Args:
        means: over drives; a way has the same number in all of them.
        combine: from (..., means) to (...).

    Returns:
        Without interval where a mean has no drive, or all drives are of one way.
    """
    names = np.unique(np.concatenate([mean.ways for mean in means]))
    n = sum(len(mean.values) for mean in means)
    nothing = ResampledEstimate(
        value=math.nan, low=math.nan, high=math.nan, p=math.nan, n=n, ways=len(names)
    )
    if any(len(mean.values) == 0 for mean in means):
        return nothing
    # (ways, means): sums and counts of the drives of each way
    members = [np.searchsorted(names, mean.ways) for mean in means]
    sums = np.stack(
        [np.bincount(at, mean.values, len(names)) for at, mean in zip(members, means, strict=True)],
        axis=1,
    )
    counts = np.stack([np.bincount(at, minlength=len(names)) for at in members], axis=1)
    value = float(combine(sums.sum(axis=0) / counts.sum(axis=0)))
    if len(names) < 2:
        return ResampledEstimate(
            value=value, low=math.nan, high=math.nan, p=math.nan, n=n, ways=len(names)
        )
    # (resamples, means), and without resamples in which a mean has no drive
    weights = sample_bootstrap_weights(len(names))
    above, below = weights @ sums, weights @ counts
    some = (below > 0).all(axis=1)
    again = combine(above[some] / below[some])
    low, high = np.quantile(again, compute_expanded_percentiles(len(names)))
    return ResampledEstimate(
        value=value,
        low=float(low),
        high=float(high),
        p=compute_resampled_p(again, len(names)),
        n=n,
        ways=len(names),
    )


def compute_resampled_p(again: Floats, ways: int) -> float:
    """Return the level at which the expanded percentile interval begins to leave out zero.

    Args:
        again: (resamples,) the number in each resample.
        ways: 2 or more.

    Returns:
        0 to 1; at least what one resample can show.
    """
    # the smaller tail beyond zero; a resample at zero counts for both
    least = 1 / (len(again) + 1)
    tail = min(float((again <= 0).mean()), float((again >= 0).mean()))
    reach = float(ndtri(min(max(tail, least), 0.5))) / math.sqrt(ways / (ways - 1))
    return min(2 * float(stdtr(ways - 1, reach)), 1.0)


def subtract_means(means: Floats) -> Floats:
    """Return the first mean less the second."""
    gap: Floats = means[..., 0] - means[..., 1]
    return gap


def take_mean(means: Floats) -> Floats:
    """Return the only mean."""
    mean: Floats = means[..., 0]
    return mean


def compare_in_percent(means: Floats) -> Floats:
    """Return by how many per cent the first mean differs from the second."""
    percent: Floats = 100 * (means[..., 0] / means[..., 1] - 1)
    return percent


def subtract_last_from_lowest(means: Floats) -> Floats:
    """Return the lowest of all means but the last, less the last."""
    gap: Floats = means[..., :-1].min(axis=-1) - means[..., -1]
    return gap
