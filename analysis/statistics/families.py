"""Many tests as one family: the chance of rejecting any true null hypothesis stays below a level.

Tests stand in slots. Only the first test of a slot is tried; the next one once it is rejected, with
the slot's own share (a serial gatekeeper). At each step the bound for a p-value t is the sum, over
the slots still open, of the largest attainable p-value of that slot that is not above t. Tests by
sign flips attain few p-values, so that one which cannot reach t costs nothing (Tarone 1990,
Biometrics 46; the sum is Westfall and Wolfinger's 1997, The American Statistician 51). Rejecting
step by step is Goeman and Solari's sequential rejection (2010, Annals of Statistics 38): bounds
only fall, and of each slot at most one true null hypothesis is tried at a time, so that the union
bound holds whatever is true and however tests depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.vocabulary import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A p-value, NaN without a test, and the p-values it could have had."""

    __test__ = False  # for pytest

    p: float
    attainable: Floats | None = None  # ascending; nothing: any

    def least(self) -> float:
        """Return the smallest p-value that the test can have."""
        if not np.isfinite(self.p):
            return np.nan
        return 0.0 if self.attainable is None else float(self.attainable[0])

    def at_most(self, limits: Floats) -> Floats:
        """Return the chance under the null hypothesis of a p-value at or below each limit."""
        if not np.isfinite(self.p):
            return np.zeros(len(limits))
        if self.attainable is None:
            return limits
        place = np.searchsorted(self.attainable, limits * (1 + 1e-12), "right")
        return np.append(0.0, self.attainable)[place]


def adjusted(slots: Sequence[Sequence[Test]]) -> list[list[float]]:
    """Return every test's smallest family-wise level at which it is rejected; NaN is no test."""
    flat = [(number, step) for number, slot in enumerate(slots) for step in range(len(slot))]
    limits = np.array([slots[number][step].p for number, step in flat])
    at = np.where(np.isfinite(limits), limits, 1.0)
    # What a slot costs while its tests from `step` on are open, for the p-value of each test.
    costs = [
        [np.max([test.at_most(at) for test in slot[step:]], axis=0) for step in range(len(slot))]
        for slot in slots
    ]
    found = [[np.nan] * len(slot) for slot in slots]
    place = {each: column for column, each in enumerate(flat)}
    tried = [0] * len(slots)
    total = np.sum([own[0] for own in costs if own], axis=0) if flat else at
    level = 0.0
    while True:
        ready = [
            place[number, step]
            for number, step in enumerate(tried)
            if step < len(slots[number]) and np.isfinite(slots[number][step].p)
        ]
        if not ready:
            return found
        best = min(ready, key=lambda column: (total[column], at[column]))
        number, step = flat[best]
        level = max(level, float(total[best]))
        found[number][step] = min(level, 1.0)
        tried[number] += 1
        total = total - costs[number][step]
        if tried[number] < len(slots[number]):
            total = total + costs[number][tried[number]]
