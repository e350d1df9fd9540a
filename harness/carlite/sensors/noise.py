"""Counter-based randomness for sensors: a ray's noise depends on its number alone.

Whatever else is sensed, in whichever order, a ray of a frame samples the same numbers.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
UNIFORM_BITS = 20
QUANTILES = 4096


def build_quantile_table() -> Floats:
    """Quantiles of the normal distribution, evenly spaced in probability, of unit variance."""
    inverse = NormalDist().inv_cdf
    inner = [inverse(n / QUANTILES) for n in range(1, QUANTILES)]
    end = inverse(0.25 / QUANTILES)
    table = np.array([end, *inner, -end])
    low, high = table[:-1], table[1:]
    variance = float(np.mean((low * low + low * high + high * high) / 3))
    return np.asarray(table / np.sqrt(variance))


@compiled
def hash_counter(counter: np.uint64) -> np.uint64:
    """Spread a counter over all 64 bits (the finalizer of SplitMix64)."""
    z = counter * STEP
    z = (z ^ (z >> np.uint64(30))) * FIRST_FACTOR
    z = (z ^ (z >> np.uint64(27))) * SECOND_FACTOR
    return z ^ (z >> np.uint64(31))


@compiled
def sample_first_uniform(bits: np.uint64) -> float:
    """A number in [0, 1) from the lowest bits."""
    return float(bits & np.uint64(0xFFFFF)) * 2.0**-UNIFORM_BITS


@compiled
def sample_second_uniform(bits: np.uint64) -> float:
    """A number in [0, 1) from the next bits."""
    return float((bits >> np.uint64(20)) & np.uint64(0xFFFFF)) * 2.0**-UNIFORM_BITS


@compiled
def sample_standard_normal(bits: np.uint64, table: Floats) -> float:
    """A standard normal number from the 24 highest bits."""
    index = int(bits >> np.uint64(52))
    part = float((bits >> np.uint64(40)) & np.uint64(0xFFF)) * 2.0**-12
    value: float = table[index] + part * (table[index + 1] - table[index])
    return value
