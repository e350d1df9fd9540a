"""Tests of paired differences, one value for each route, and corrections for many tests.

**Sign flips.** Two arms meet the same routes and seeds. Under the null hypothesis a route's
difference might as well have had the other sign: all signs are tried, or a random sample of them.
Exact McNemar needs binary outcomes and independent pairs, so it is for designs in which each route
counts once.

**One family of tests.** Tests stand in slots. Only the first test of a slot is tried; the next one
once it is rejected, with the slot's own share (a serial gatekeeper). At each step the bound for a
p-value t is the sum, over the slots still open, of the largest attainable p-value of that slot that
is not above t. Tests by sign flips attain few p-values, so that one which cannot reach t costs
nothing (Tarone 1990, Biometrics 46; the sum is Westfall and Wolfinger's 1997, The American
Statistician 51). Rejecting step by step is Goeman and Solari's sequential rejection (2010, Annals
of Statistics 38): bounds only fall, and of each slot at most one true null hypothesis is tried at a
time, so that the union bound holds whatever is true and however tests depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats

MOST_EXACT = 18
"""Routes with a difference up to which all signs are tried."""
SAMPLES = 20_000
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class SignFlipTest:
    """How often random signs give as large a difference as was seen.

    Attributes:
        p: two-sided.
        exact: all signs were tried.
    """

    p: float
    routes: int  # with a difference
    exact: bool


def run_sign_flip_test(differences: Floats) -> SignFlipTest:
    """Return the two-sided test of the sum of the routes' differences.

    Args:
        differences: (routes,) in any unit.

    Returns:
        Routes without a difference do not count.
    """
    # a difference of rounding is none
    moved = differences[np.abs(differences) > ROUNDING]
    seen = abs(float(moved.sum())) - ROUNDING * max(1.0, float(np.abs(moved).sum()))
    if len(moved) <= MOST_EXACT:
        sums = compute_signed_sums(moved)
        return SignFlipTest(float((np.abs(sums) >= seen).mean()), len(moved), True)
    # the observed signs count as one sample more: p is never 0
    as_large = int(
        (np.abs(sample_random_signs(len(moved)).astype(np.float64) @ moved) >= seen).sum()
    )
    return SignFlipTest((as_large + 1) / (SAMPLES + 1), len(moved), False)


@lru_cache(maxsize=64)
def sample_random_signs(routes: int) -> NDArray[np.int8]:
    """Return the samples of signs for a number of routes with a difference, always the same."""
    signs = make_named_stream(routes, "analysis", "sign_flip").choice(
        (-1.0, 1.0), (SAMPLES, routes)
    )
    small = signs.astype(np.int8)
    small.setflags(write=False)
    return small


def list_attainable_p_values(differences: Floats) -> Floats | None:
    """Return the p-values that other signs would give, ascending; None beyond exact tests.

    Args:
        differences: (routes,).
    """
    moved = differences[np.abs(differences) > ROUNDING]
    if len(moved) > MOST_EXACT:
        return None
    sums = np.sort(np.abs(compute_signed_sums(moved)))
    # sums that differ by rounding only are one p-value
    steps = np.flatnonzero(
        np.diff(sums, prepend=-np.inf) > ROUNDING * max(1.0, np.abs(moved).sum())
    )
    return np.asarray((len(sums) - steps[::-1]) / len(sums), np.float64)


def compute_signed_sums(values: Floats) -> Floats:
    """Return the sums under all signs, 2 to the power of their number."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def compute_mcnemar_p(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p of pairs in which one arm alone violated (McNemar 1947).

    Args:
        only_a: pairs in which only the first arm violated.
        only_b: pairs in which only the second arm violated.
    """
    discordant = only_a + only_b
    return min(1.0, 2 * float(bdtr(min(only_a, only_b), discordant, 0.5)))


@dataclass(frozen=True, slots=True, eq=False)
class HypothesisTest:
    """A p-value, NaN without a test, and the p-values it could have had.

    Attributes:
        p: 0 to 1.
    """

    __test__ = False  # for pytest

    p: float
    attainable: Floats | None = None  # ascending; nothing: any

    def compute_least_p(self) -> float:
        """Return the smallest p-value that the test can have."""
        if not np.isfinite(self.p):
            return np.nan
        return 0.0 if self.attainable is None else float(self.attainable[0])

    def compute_chance_at_most(self, limits: Floats) -> Floats:
        """Return the chance under the null hypothesis of a p-value at or below each limit.

        Args:
            limits: (n,).

        Returns:
            (n,)
        """
        if not np.isfinite(self.p):
            return np.zeros(len(limits))
        if self.attainable is None:
            return limits
        place = np.searchsorted(self.attainable, limits * (1 + 1e-12), "right")
        return np.append(0.0, self.attainable)[place]


def adjust_p_values(slots: Sequence[Sequence[HypothesisTest]]) -> list[list[float]]:
    """Return every test's smallest family-wise level at which it is rejected; NaN is no test.

    Args:
        slots: tests in the order in which they are tried, for each slot.

    Returns:
        Adjusted p-values in the order of the slots.
    """
    flat = [(number, step) for number, slot in enumerate(slots) for step in range(len(slot))]
    # (tests,) a test that was not made costs nothing and blocks what follows in its slot
    limits = np.array([slots[number][step].p for number, step in flat])
    at = np.where(np.isfinite(limits), limits, 1.0)
    # What a slot costs while its tests from `step` on are open, for the p-value of each test.
    costs = [
        [
            np.max([test.compute_chance_at_most(at) for test in slot[step:]], axis=0)
            for step in range(len(slot))
        ]
        for slot in slots
    ]
    tested = [np.cumprod(np.isfinite([test.p for test in slot])) > 0 for slot in slots]
    # 1 until a test is rejected
    levels: list[list[float]] = [np.where(mask, 1.0, np.nan).tolist() for mask in tested]
    place = {test: column for column, test in enumerate(flat)}
    tried = [0] * len(slots)
    total = np.sum([slot_costs[0] for slot_costs in costs if slot_costs], axis=0) if flat else at
    level = 0.0
    while True:
        # the next test of every slot that has one
        ready = [
            place[number, step]
            for number, step in enumerate(tried)
            if step < len(slots[number]) and np.isfinite(slots[number][step].p)
        ]
        if not ready or level >= 1:  # the largest level that there is
            return levels
        # the test with the lowest bound is rejected next; levels never fall
        best = min(ready, key=lambda column: (total[column], at[column]))
        number, step = flat[best]
        level = max(level, float(total[best]))
        levels[number][step] = min(level, 1.0)
        tried[number] += 1
        # the slot is now open from its next test on
        total = total - costs[number][step]
        if tried[number] < len(slots[number]):
            total = total + costs[number][tried[number]]


def compute_holm_p_values(p: Floats) -> Floats:
    """Return p-values that hold for the whole family (Holm 1979); NaN is no test.

    Args:
        p: (tests,).

    Returns:
        (tests,)
    """
    adjusted = np.full(len(p), np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
