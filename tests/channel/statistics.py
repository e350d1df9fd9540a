"""Whether samples come from the distribution they should."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from harness.types.vocabulary import Floats

Cdf = Callable[[Floats], Floats]


def follows(samples: Sequence[float] | Floats, cdf: Cdf) -> bool:
    """Return whether Kolmogorov and Smirnov see no difference (one in a thousand they would)."""
    ordered = np.sort(np.asarray(samples, float))
    count = len(ordered)
    expected = cdf(ordered)
    above = np.max(np.arange(1, count + 1) / count - expected)
    below = np.max(expected - np.arange(count) / count)
    return bool(max(above, below) < 1.95 / math.sqrt(count))


def uniform_cdf(low: float, high: float) -> Cdf:
    return lambda values: np.clip((values - low) / (high - low), 0, 1)


def normal_cdf(mean: float, deviation: float) -> Cdf:
    scale = deviation * math.sqrt(2)
    return lambda values: np.array([0.5 * math.erfc((mean - value) / scale) for value in values])
