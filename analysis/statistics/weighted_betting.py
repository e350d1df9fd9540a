"""Betting on a mean of differences from -1 to 1 whose routes are sampled with unequal chances.

A route is sampled from stratum h with the chance q_h, its share of the population is W_h. With a
prediction f_h of the difference, made before the sample, the value

    X = sum of W f + (W_h / q_h) (difference - f_h)

has the population's mean difference as its mean, whatever q and f are: importance weights with a
control variate (Robins, Rotnitzky and Zhao 1994, Journal of the American Statistical Association
89; with predictions by a model: Angelopoulos et al. 2023, "Prediction-powered inference", Science
382). q and f may depend on all earlier samples. So the wealth of a bet on X, at stakes that were
fixed before, has a mean of at most 1 under the null hypothesis, and exceeds 1 / level with a chance
of at most `level`, ever (Ville 1939; Waudby-Smith and Ramdas 2024, Journal of the Royal Statistical
Society B 86, "Estimating means of bounded random variables by betting"; with weights: Waudby-Smith,
Wu, Ramdas, Karampatziakis and Mineiro 2024, "Anytime-valid off-policy inference").

All functions treat many samples of an experiment at a time: the first axis of arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import Floats, Integers

STAKES = (0.5, 0.9)
"""Shares of its wealth that a gambler can lose in one constant bet."""
MOST_AT_STAKE = 0.9
"""The same in the bet that follows the mean and variance so far."""
PRIOR_VALUES, PRIOR_VARIANCE = 4.0, 0.1
"""The bet that follows starts as if so many values of this variance around zero had been seen."""
STEP = 0.01
"""Between means that are tried for an interval; limits are rounded outwards to one of them."""


def weigh_difference(differences: Floats, predictions: Floats, weights: Floats) -> Floats:
    """Return the weighted error of predictions; the predictions' mean is added by the caller.

    Args:
        differences: (samples, n) from -1 to 1.
        predictions: (samples, n) of the same.
        weights: (samples, n) share of the stratum over its chance.
    """
    return np.asarray(weights * (differences - predictions))


def compute_value_range(
    shares: Floats, chances: Floats, predictions: Floats
) -> tuple[Floats, Floats]:
    """Return the lowest and the highest X that the next sample can have.

    Args:
        shares: (strata,) of the population; they sum up to 1.
        chances: (samples, strata) with which the next route is of each.
        predictions: (samples, strata) of its difference.

    Returns:
        (samples,) each.
    """
    overall = (shares * predictions).sum(axis=1)
    weights = shares / chances
    return (
        overall + (weights * (-1 - predictions)).min(axis=1),
        overall + (weights * (1 - predictions)).max(axis=1),
    )


@dataclass(slots=True, eq=False)
class MeanWealth:
    """What bets on means made of 1, so far.

    Attributes:
        means: (means,) what is bet against.
        logarithms: (samples, 2, means, bets) of the wealth of each bet: that the mean is above,
            that it is below.
        best: (samples, 2, means) logarithm of the largest wealth at any time, over all bets.
    """

    means: Floats
    logarithms: Floats
    best: Floats
    moments: Floats  # (samples, 3): number, sum and sum of squares of the values

    @classmethod
    def start(cls, means: Floats, samples: int) -> MeanWealth:
        """Return the wealth before the first value."""
        shape = (samples, 2, len(means), len(STAKES) + 1)
        moments = np.tile([PRIOR_VALUES, 0.0, PRIOR_VALUES * PRIOR_VARIANCE], (samples, 1))
        return cls(np.asarray(means, np.float64), np.zeros(shape), np.zeros(shape[:3]), moments)

    def bet(self, values: Floats, low: Floats, high: Floats) -> None:
        """Bet on values; the stakes follow from the values of earlier calls only.

        Args:
            values: (samples, n) X of the next n routes.
            low: (samples,) the lowest value that they could have.
            high: (samples,) the highest one.
        """
        stakes = self.compute_stakes(low, high)
        signs = np.array([1.0, -1.0])[:, None]
        for value in values.T:
            # (samples, 2, means): what is won for a stake of 1
            gains = signs * (value[:, None, None] - self.means)
            self.logarithms += np.log1p(stakes * gains[..., None])
            total = np.logaddexp.reduce(self.logarithms, axis=-1) - np.log(len(STAKES) + 1)
            np.maximum(self.best, total, out=self.best)
        powers = np.stack([np.ones_like(values), values, values**2], axis=-1)
        self.moments += powers.sum(axis=1)

    def compute_stakes(self, low: Floats, high: Floats) -> Floats:
        """Return the stakes of the next bets, (samples, 2, means, bets); none can lose everything.

        The last one is near the stake of the largest expected logarithm for the mean and the
        variance so far (the paper's aGRAPA, its section B.3).
        """
        # (samples, 2, means): largest loss for a stake of 1
        loss = np.stack([self.means - low[:, None], high[:, None] - self.means], axis=1)
        most = 1 / np.maximum(loss, 1e-9)
        mean = self.moments[:, 1] / self.moments[:, 0]
        variance = self.moments[:, 2] / self.moments[:, 0] - mean**2
        gap = mean[:, None] - self.means
        both = np.stack([gap, -gap], axis=1)
        follow = np.clip(both / (variance[:, None, None] + both**2), 0, MOST_AT_STAKE * most)
        return np.stack([*(stake * most for stake in STAKES), follow], axis=-1)

    def select(self, kept: Integers) -> MeanWealth:
        """Return some of the samples."""
        return MeanWealth(self.means, self.logarithms[kept], self.best[kept], self.moments[kept])


def make_interval_means() -> Floats:
    """Return the means that an interval is looked for in."""
    return np.asarray(np.round(np.arange(-1, 1 + STEP / 2, STEP), 10))


def compute_mean_interval(wealth: MeanWealth, level: float) -> tuple[Floats, Floats]:
    """Return the limits of the mean, which hold at all moments together with the chance `level`.

    Args:
        wealth: with ascending means from -1 to 1.
        level: 0 to 1; each side takes half of what is left.

    Returns:
        (samples,) lower and upper limits, rounded outwards; the last mean that is excluded from
        below without a gap, and from above.
    """
    excluded = wealth.best >= np.log(2 / (1 - level))
    last = len(wealth.means) - 1
    too_low = np.cumprod(excluded[:, 0], axis=1).sum(axis=1)
    too_high = np.cumprod(excluded[:, 1, ::-1], axis=1).sum(axis=1)
    low = wealth.means[np.clip(too_low - 1, 0, last)]
    high = wealth.means[np.clip(last + 1 - too_high, 0, last)]
    return low, high
