"""Tests of paired differences, one value for each route.

Two arms meet the same routes and seeds. If they do not differ, a route's difference might as well
have had the other sign: all signs are tried, or many drawn. Exact McNemar knows only yes and no and
independent pairs, so that it is for designs in which each route counts once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.randomness import stream
from harness.vocabulary import Floats

MOST_EXACT = 18
"""Routes with a difference up to which all signs are tried."""
DRAWS = 20_000
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class SignFlip:
    """How often random signs give as large a difference as was seen."""

    p: float
    routes: int  # with a difference; the others cannot tell
    exact: bool


def sign_flip(differences: Floats) -> SignFlip:
    """Return the two-sided test of the sum of the routes' differences."""
    moved = differences[np.abs(differences) > ROUNDING]
    seen = abs(float(moved.sum())) - ROUNDING * max(1.0, float(np.abs(moved).sum()))
    if len(moved) <= MOST_EXACT:
        sums = all_signed_sums(moved)
        return SignFlip(float((np.abs(sums) >= seen).mean()), len(moved), True)
    signs = stream(len(moved), "analysis", "sign_flip").choice((-1.0, 1.0), (DRAWS, len(moved)))
    as_large = int((np.abs(signs @ moved) >= seen).sum())
    return SignFlip((as_large + 1) / (DRAWS + 1), len(moved), False)


def attainable(differences: Floats) -> Floats | None:
    """Return the p-values that other signs would give, ascending; None beyond exact tests."""
    moved = differences[np.abs(differences) > ROUNDING]
    if len(moved) > MOST_EXACT:
        return None
    sums = np.sort(np.abs(all_signed_sums(moved)))
    steps = np.flatnonzero(
        np.diff(sums, prepend=-np.inf) > ROUNDING * max(1.0, np.abs(moved).sum())
    )
    return np.asarray((len(sums) - steps[::-1]) / len(sums), np.float64)


def all_signed_sums(values: Floats) -> Floats:
    """Return the sums under all signs, 2 to the power of their number."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p of pairs in which one arm alone violated (McNemar 1947)."""
    discordant = only_a + only_b
    return float(stats.binomtest(only_a, discordant).pvalue) if discordant else 1.0
