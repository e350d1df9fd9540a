"""Betting on the sign of differences, stratum by stratum: does an arm do better anywhere?

The null hypothesis of one gambler is that the mean difference is not positive in any stratum, that
of the other that it is not negative in any. Strata need no weights, so that routes may be sampled
where differences are. If no route's difference has a direction, which is what a test by sign flips
asks, both hold. The claim is then: there is a stratum in which the arm does better. It is weaker
than a claim about the mean of the population, in which a stratum with an opposite difference counts
as well.

The stake in a stratum is the one of the largest expected logarithm for the shares of signs that are
expected there (Kelly 1956, Bell System Technical Journal 35; as a test: Shafer 2021, Journal of the
Royal Statistical Society A 184, "Testing by betting"). It depends on earlier routes only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import Floats, Integers

MOST_AT_STAKE = 0.94
"""Share of its wealth that a gambler can lose on one route."""
EXPECTED_SHARE = 0.75
"""Share of differences in a gambler's favour that it expects before the first one."""
POOLED_PRIOR, STRATUM_PRIOR = 2.0, 3.0
"""Differences that the expectation counts as: of all strata, and of one."""


@dataclass(slots=True, eq=False)
class SignWealth:
    """What bets on signs made of 1, so far.

    Attributes:
        favour: (samples, 2, strata) sums of positive differences, and of negative ones.
        logarithms: (samples, 2) of the wealth: on positive differences, on negative ones.
        best: (samples, 2) the largest logarithm at any time.
    """

    favour: Floats
    logarithms: Floats
    best: Floats

    @classmethod
    def start(cls, samples: int, strata: int) -> SignWealth:
        """Return the wealth before the first route."""
        both = np.zeros((samples, 2))
        return cls(np.zeros((samples, 2, strata)), both, both.copy())

    def bet(self, differences: Floats, strata: Integers) -> None:
        """Bet on differences; the stakes follow from earlier calls only.

        Args:
            differences: (samples, n) from -1 to 1.
            strata: (samples, n) of their routes.
        """
        stakes, rows = self.compute_stakes(), np.arange(len(differences))
        for values, chosen in zip(differences.T, strata.T, strict=True):
            signed = np.stack([values, -values], axis=1)
            self.logarithms += np.log1p(stakes[rows, :, chosen] * signed)
            np.maximum(self.best, self.logarithms, out=self.best)
        for values, chosen in zip(differences.T, strata.T, strict=True):
            self.favour[rows, 0, chosen] += np.maximum(values, 0)
            self.favour[rows, 1, chosen] += np.maximum(-values, 0)

    def compute_stakes(self) -> Floats:
        """Return the stakes of the next bets, (samples, 2, strata)."""
        share = self.compute_expected_shares()
        return np.clip(2 * share - 1, 0.0, MOST_AT_STAKE)

    def compute_expected_shares(self) -> Floats:
        """Return the share of differences in a gambler's favour, (samples, 2, strata).

        A stratum's share is drawn towards that of all strata.
        """
        total = self.favour.sum(axis=1, keepdims=True)
        pooled = (self.favour.sum(axis=2, keepdims=True) + POOLED_PRIOR * EXPECTED_SHARE) / (
            total.sum(axis=2, keepdims=True) + POOLED_PRIOR
        )
        return np.asarray((self.favour + STRATUM_PRIOR * pooled) / (total + STRATUM_PRIOR))

    def compute_growth(self) -> Floats:
        """Return the larger gambler's expected logarithm on a route that differs.

        Returns:
            (samples, strata)
        """
        stakes, share = self.compute_stakes(), self.compute_expected_shares()
        growth = share * np.log1p(stakes) + (1 - share) * np.log1p(-stakes)
        leads = np.argmax(self.logarithms, axis=1)
        return np.asarray(growth[np.arange(len(growth)), leads])

    def select(self, kept: Integers) -> SignWealth:
        """Return some of the samples."""
        return SignWealth(self.favour[kept], self.logarithms[kept], self.best[kept])
