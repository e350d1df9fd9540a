"""How the routes of a kind are spread over reveal times, and which of its places are taken."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.reports import EncounterReport

STRATA = (0.8, 1.3, 2.2, 3.6)
"""Limits, s, between the strata of reveal times over which the routes of a kind are spread: evenly
on a logarithmic scale, since the shorter a glimpse is, the more a tenth of a second changes."""
LENIENT = 10
"""Places refused because their stratum is full, after which each stratum takes one more."""
EARLIEST = 5.0
"""Metres of route before the mover commits, at least."""
FORESEEN, UNFORESEEN = 70.0, 110.0
"""Metres from there to the meeting, at most: the farther ahead, the worse the ego's arrival is
foreseen. Each place that is too far ahead adds a metre to the first, up to the second."""


class RevealQuota:
    """How many routes of a kind each stratum of reveal times may still have.

    Kinds that hide no mover (`wanted` is None) are taken wherever they have room.
    """

    def __init__(self, wanted: Parameter | None, count: int) -> None:
        self._hides = isinstance(wanted, NumberParameter)
        low, high = (
            (wanted.low, wanted.high) if isinstance(wanted, NumberParameter) else (0.0, np.inf)
        )
        inner = [limit for limit in STRATA if low < limit < high]
        self._strata = list(pairwise([low, *inner, high]))
        self._most = -(-count // len(self._strata))
        self._taken: Counter[tuple[float, float]] = Counter()
        self._full = self._far = 0

    def count_free_places(self, reveal: float) -> int:
        """Return how many more routes are taken with a reveal time."""
        stratum = self._find_stratum(reveal)
        return 0 if stratum is None else self._most - self._taken[stratum]

    def is_foreseeable(self, ahead: float) -> bool:
        """Return whether the mover commits near enough to the meeting, metres ahead of it."""
        near = ahead <= min(FORESEEN + self._far, UNFORESEEN)
        self._far += not near
        return near

    def count_refusal(self) -> None:
        """Count a place that could only fill strata which are full."""
        self._full += 1
        self._most += self._full % LENIENT == 0

    def accept_encounter(self, encounter: EncounterReport | None) -> bool:
        """Return whether a hazard is taken, and count it."""
        if encounter is None or encounter.commit_station < EARLIEST:
            return False
        if not self._hides:
            return True
        stratum = self._find_stratum(encounter.reveal)
        if stratum is None:
            return False
        if not self.is_foreseeable(encounter.conflict_station - encounter.commit_station):
            return False
        if self._taken[stratum] >= self._most:
            self.count_refusal()
            return False
        self._taken[stratum] += 1
        return True

    def _find_stratum(self, reveal: float) -> tuple[float, float] | None:
        return next(((low, high) for low, high in self._strata if low <= reveal < high), None)
