"""Intervals that hold at every moment of an experiment, for means of values from 0 to 1.

The hedged betting confidence sequence of Waudby-Smith and Ramdas (2024, Journal of the Royal
Statistical Society B 86, "Estimating means of bounded random variables by betting"). For each
possible mean m two gamblers bet, one on values above m and one on values below. If m is the mean,
neither is expected to win, so that their wealth reaches 2 / (1 - level) with a chance of at most
(1 - level) / 2 each, ever (Ville's inequality). Means at which one of them did are excluded for
good: you may look after every value and stop whenever you like.

Each gambler divides its money among the paper's predictable bets (its equation 26), which are best
in the long run, and a few constant ones (its diversified bets). Those narrow the interval of a few
hundred values by a quarter, and need not learn first that a tiny mean has a tiny variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import Floats

LEVEL = 0.95
MOST_AT_STAKE = 0.75
"""Share of its wealth that a gambler can lose in one predictable bet."""
STAKES = (0.1, 0.3, 0.6, 0.9)
"""The same of constant bets."""
SMALLEST = 1e-12
"""A mean of 0 counts as this in a limit of bets."""
CHUNK = 64
"""Means whose wealth is held in memory at a time."""
_SMALL = np.geomspace(1e-7, 1e-2, 200)
MEANS: Floats = np.unique(np.concatenate([[0.0], _SMALL, np.linspace(0, 1, 1001), 1 - _SMALL]))
"""Means that are tried; limits are rounded outwards to one of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceSequence:
    """The limits after 1, 2, ... values.

    Attributes:
        low: (values,) lower limits.
        high: (values,) upper limits.
    """

    low: Floats
    high: Floats

    @property
    def last(self) -> tuple[float, float]:
        """Return the limits after all values; 0 and 1 without any."""
        return (float(self.low[-1]), float(self.high[-1])) if len(self.low) else (0.0, 1.0)


def compute_confidence_sequence(values: Floats, level: float = LEVEL) -> ConfidenceSequence:
    """Return limits of the mean; all of them hold together with the chance `level`.

    Values must have the same mean given those before them. Should every mean be excluded, which
    happens with a chance of at most 1 - level, the limits stay where they were.

    Args:
        values: (n,) from 0 to 1, in the order in which they were taken.
        level: 0 to 1.

    Returns:
        (n,) limits.
    """
    values = np.asarray(values, np.float64)
    if len(values) and not (values.min() >= 0 and values.max() <= 1):
        raise ValueError("values: must be from 0 to 1")
    bets, enough = compute_predictable_bets(values, level), 2 / (1 - level)
    too_low, too_high = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    # means in chunks: the wealth of a chunk is (n, CHUNK)
    for start in range(0, len(MEANS), CHUNK):
        means = MEANS[start : start + CHUNK]
        too_low += (compute_betting_wealth(values, means, bets) >= enough).sum(axis=1)
        too_high += (compute_betting_wealth(1 - values, 1 - means, bets) >= enough).sum(axis=1)
    # wealth falls as the mean rises, so that the excluded means are the first ones
    low = np.maximum.accumulate(MEANS[np.maximum(too_low - 1, 0)])
    high = np.minimum.accumulate(MEANS[len(MEANS) - np.maximum(too_high, 1)])
    return _stop_before_crossing(low, high)


def compute_predictable_bets(values: Floats, level: float) -> Floats:
    """Return bets from the values before: larger ones where the variance has been small.

    Args:
        values: (n,).
        level: 0 to 1.

    Returns:
        (n,); the bet on a value depends on those before it only.
    """
    count = np.arange(1, len(values) + 1)
    means = (0.5 + np.cumsum(values)) / (count + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (count + 1)
    # a bet may not see the value that it is on: variances are shifted by one
    before = np.concatenate([[0.25], variances[:-1]])[: len(values)]
    return np.asarray(np.sqrt(2 * np.log(2 / (1 - level)) / (before * count * np.log(count + 1))))


def compute_betting_wealth(values: Floats, means: Floats, bets: Floats) -> Floats:
    """Return what bets on values above a mean made of 1, after each value.

    A row for each value, a column for each mean. Wealth falls as the mean rises.

    Args:
        values: (n,).
        means: (m,).
        bets: (n,).

    Returns:
        (n, m)
    """
    # (m,) a larger bet could lose more than everything
    most = 1 / np.maximum(means, SMALLEST)
    gains = values[:, None] - means
    with np.errstate(over="ignore"):
        total = np.cumprod(1 + np.minimum(bets[:, None], MOST_AT_STAKE * most) * gains, axis=0)
        for stake in STAKES:
            total += np.cumprod(1 + stake * most * gains, axis=0)
    return np.asarray(total / (1 + len(STAKES)))


def _stop_before_crossing(low: Floats, high: Floats) -> ConfidenceSequence:
    """Return limits that stay as they are once the lower one would exceed the upper one."""
    crossed = np.flatnonzero(low > high)
    if len(crossed):
        first = crossed[0]
        low[first:] = low[first - 1] if first else 0.0
        high[first:] = high[first - 1] if first else 1.0
    return ConfidenceSequence(low, high)
