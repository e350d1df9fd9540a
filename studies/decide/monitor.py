"""What is known of declared comparisons after each batch of routes, and where to drive next.

The same code follows one experiment while it is driven, and thousands of replayed ones at a time:
the first axis of all arrays is the experiment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from analysis.statistics.allocation import (
    allocate_samples,
    estimate_mean_squares,
    predict_differences,
)
from analysis.statistics.sequential_family import (
    Claim,
    Decision,
    Question,
    compute_needed_wealth,
    count_possible_errors,
    decide_from_wealth,
)
from analysis.statistics.sign_betting import SignWealth
from analysis.statistics.weighted_betting import MeanWealth, compute_value_range, weigh_difference
from harness.types.vocabulary import Floats, Integers, Mask

EXPLORED = 0.05
"""Growth of wealth that a stratum without a direction so far counts with."""
FLOORS: dict[Claim, float] = {"mean": 0.6, "somewhere": 0.25}
"""Least part of the samples that is as the population has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRule:
    """What is decided and how; fixed before the first drive (decision 0108).

    Attributes:
        question: superiority, equivalence or either.
        claim: `mean`, of the population; `somewhere`, of at least one stratum.
        margin: largest difference that counts as equivalent, 0 to 1.
        allocated: whether drives go where differences are.
        predicted: whether the strata's means so far serve as control variates.
        floor: least part of the samples that is as the population has it.
    """

    question: Question = "either"
    claim: Claim = "mean"
    margin: float = 0.1
    allocated: bool = True
    predicted: bool = True
    floor: float = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class RoutePopulation:
    """Where routes are sampled from.

    Attributes:
        strata: (routes,) number of each route's stratum.
        expected: (strata,) mean square of differences that is expected beforehand.
        declared: (strata,) shares of the population; None: those of the routes.
    """

    strata: Integers
    expected: Floats
    declared: Floats | None = None

    @property
    def shares(self) -> Floats:
        """(strata,) shares of the population."""
        if self.declared is not None:
            return self.declared
        counts = np.bincount(self.strata, minlength=len(self.expected))
        return np.asarray(counts / counts.sum())

    def sample_routes(self, chances: Floats, uniform: Floats) -> Integers:
        """Return routes whose strata have these chances, uniform within a stratum.

        Args:
            chances: (samples, strata).
            uniform: (samples, n, 2) from 0 to 1.

        Returns:
            (samples, n)
        """
        order = np.argsort(self.strata, kind="stable")
        counts = np.bincount(self.strata, minlength=len(self.expected))
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        limits = np.cumsum(chances, axis=1)[:, None, :-1]
        chosen = (uniform[..., :1] > limits).sum(axis=2)
        return np.asarray(
            order[starts[chosen] + (uniform[..., 1] * counts[chosen]).astype(np.int64)]
        )


@dataclass(slots=True, eq=False, kw_only=True)
class ComparisonMonitor:
    """One comparison: what was bet on its differences, and what was decided.

    Attributes:
        counts: (samples, 3, strata) routes, sums and sums of squares of their differences.
        decision: (samples,) a `Decision`.
        decided_after: (samples,) routes that it took; 0 while undecided.
    """

    rule: DecisionRule
    counts: Floats
    mean: MeanWealth
    signs: SignWealth
    decision: Integers
    decided_after: Integers

    @classmethod
    def start(cls, rule: DecisionRule, samples: int, strata: int) -> ComparisonMonitor:
        """Return a comparison before its first route."""
        means = np.array([-rule.margin, 0.0, rule.margin])
        nothing = np.zeros(samples, np.int64)
        return cls(
            rule=rule,
            counts=np.zeros((samples, 3, strata)),
            mean=MeanWealth.start(means, samples),
            signs=SignWealth.start(samples, strata),
            decision=nothing,
            decided_after=nothing.copy(),
        )

    @property
    def predictions(self) -> Floats:
        """(samples, strata) the control variate of the next routes."""
        predicted = predict_differences(self.counts[:, 0], self.counts[:, 1])
        return predicted if self.rule.predicted else np.zeros_like(predicted)

    @property
    def superiority(self) -> Floats:
        """(samples, 2) logarithm of the largest wealth on `more`, and on `fewer`."""
        return self.signs.best if self.rule.claim == "somewhere" else self.mean.best[:, :, 1]

    @property
    def equivalence(self) -> Floats:
        """(samples, 2) the same on above minus the margin, and on below the margin."""
        return np.stack([self.mean.best[:, 0, 0], self.mean.best[:, 1, 2]], axis=1)

    def weigh_strata(self, population: RoutePopulation) -> Floats:
        """Return in proportion to what the strata are of use, (samples, strata).

        For a mean: share times spread. For `somewhere`: how fast wealth grows on a route.
        """
        squares = estimate_mean_squares(
            self.counts[:, 0], self.counts[:, 2], prior=population.expected
        )
        if self.rule.claim == "somewhere" and self.rule.question != "equivalence":
            return np.asarray(squares * (self.signs.compute_growth() + EXPLORED))
        spread = np.maximum(squares - self.predictions**2, 1e-6) ** 0.5
        return np.asarray(population.shares * spread)

    def weigh_batch(
        self, population: RoutePopulation, batch: RouteBatch, differences: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return values whose mean is the population's, with the predictions of so far.

        Args:
            population: that routes are sampled from.
            batch: the routes.
            differences: (samples, n) of them.

        Returns:
            (samples, n) values; (samples,) the lowest and the highest that there could be.
        """
        rows = np.arange(len(differences))[:, None]
        predictions = self.predictions
        strata = population.strata[batch.routes]
        weights = (population.shares / batch.chances)[rows, strata]
        values = weigh_difference(differences, predictions[rows, strata], weights)
        values += (population.shares * predictions).sum(axis=1)[:, None]
        return values, *compute_value_range(population.shares, batch.chances, predictions)

    def learn(self, population: RoutePopulation, batch: RouteBatch, differences: Floats) -> None:
        """Bet on the differences of a batch.

        Args:
            population: that routes are sampled from.
            batch: the routes.
            differences: (samples, n) of them.
        """
        rows = np.arange(len(differences))[:, None]
        strata = population.strata[batch.routes]
        self.mean.bet(*self.weigh_batch(population, batch, differences))
        self.signs.bet(differences, strata)
        powers = (np.ones_like(differences), differences, differences**2)
        for number, power in enumerate(powers):
            np.add.at(self.counts[:, number], (rows, strata), power)

    def count_possible(self) -> Integers:
        """Return how many of its null hypotheses can still be true at once, (samples,)."""
        return count_possible_errors(self.rule.question, self.rule.claim, self.decision)

    def decide(self, needed: Floats, driven: int) -> Mask:
        """Decide where the wealth suffices; return which samples were decided now.

        Args:
            needed: (samples,) logarithm of the wealth that rejects.
            driven: routes so far.
        """
        asked = (self.rule.question, self.rule.claim)
        newly = decide_from_wealth(self.superiority, self.equivalence, needed, asked)
        now = (self.decision == Decision.UNDECIDED) & (newly != Decision.UNDECIDED)
        self.decision = np.where(now, newly, self.decision)
        self.decided_after = np.where(now, driven, self.decided_after)
        return np.asarray(now)

    def select(self, kept: Integers) -> ComparisonMonitor:
        """Return some of the samples."""
        return replace(
            self,
            counts=self.counts[kept],
            mean=self.mean.select(kept),
            signs=self.signs.select(kept),
            decision=self.decision[kept],
            decided_after=self.decided_after[kept],
        )


@dataclass(frozen=True, slots=True, eq=False)
class RouteBatch:
    """Routes that are driven together.

    Attributes:
        routes: (samples, n) numbers in the population.
        chances: (samples, strata) with which they were sampled.
    """

    routes: Integers
    chances: Floats


def propose_chances(
    population: RoutePopulation, comparisons: list[ComparisonMonitor], samples: int
) -> Floats:
    """Return the chances of the next routes' strata: the mean of what undecided comparisons want.

    Args:
        population: that routes are sampled from.
        comparisons: with rules that agree on allocation and floor.
        samples: experiments.

    Returns:
        (samples, strata)
    """
    rule, shares = comparisons[0].rule, population.shares
    if not rule.allocated:
        return np.tile(shares, (samples, 1))
    total = np.zeros((samples, len(shares)))
    for comparison in comparisons:
        wanted = comparison.weigh_strata(population)
        part = wanted / wanted.sum(axis=1, keepdims=True)
        total += part * (comparison.decision == Decision.UNDECIDED)[:, None]
    return allocate_samples(shares, total, rule.floor)


def decide_comparisons(comparisons: list[ComparisonMonitor], level: float, driven: int) -> None:
    """Decide all comparisons that can be; a decision can lower what the next one needs.

    Args:
        comparisons: of one family.
        level: its error rate.
        driven: routes so far.
    """
    while True:
        needed = compute_needed_wealth(level, [one.count_possible() for one in comparisons])
        decided = [one.decide(needed, driven) for one in comparisons]
        if not np.any(decided):
            return
