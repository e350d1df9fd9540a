"""What is known of a study's comparisons while it is driven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from analysis.statistics.sequential_family import Decision
from analysis.statistics.weighted_betting import (
    MeanWealth,
    compute_mean_interval,
    make_interval_means,
)
from harness.types.vocabulary import Floats
from studies.decide.declaration import DeclaredComparison
from studies.decide.monitor import (
    ComparisonMonitor,
    RouteBatch,
    RoutePopulation,
    decide_comparisons,
    propose_chances,
)
from studies.decide.outcomes import OUTCOMES

OPEN, SUPERIOR, INFERIOR = "open", "superior", "inferior"
EQUIVALENT, OUT_OF_BUDGET = "equivalent", "out of budget"
MILLION = 1_000_000


@dataclass(slots=True, eq=False, kw_only=True)
class ComparisonProgress:
    """One comparison of a study.

    Attributes:
        monitor: of one experiment: what was bet, what was decided.
        interval: bets on all means, for the interval.
        values: weighted differences, whose mean is the population's.
        observed: (stratum, difference) of each pair.
    """

    declared: DeclaredComparison
    monitor: ComparisonMonitor
    interval: MeanWealth
    values: list[float] = field(default_factory=list)
    observed: list[tuple[int, float]] = field(default_factory=list)

    @classmethod
    def start(cls, declared: DeclaredComparison, floor: float, strata: int) -> ComparisonProgress:
        """Return a comparison before its first pair."""
        return cls(
            declared=declared,
            monitor=ComparisonMonitor.start(declared.make_rule(floor), 1, strata),
            interval=MeanWealth.start(make_interval_means(), 1),
        )

    @property
    def decision(self) -> Decision:
        """What was decided, or that nothing is."""
        return Decision(int(self.monitor.decision[0]))

    @property
    def is_open(self) -> bool:
        """Whether nothing is decided."""
        return self.decision is Decision.UNDECIDED

    @property
    def pairs(self) -> int:
        """Pairs so far."""
        return len(self.values)

    @property
    def estimate(self) -> float:
        """Weighted mean difference, b less a; 0 before the first pair."""
        return float(np.mean(self.values)) if self.values else 0.0

    def compute_interval(self, level: float) -> tuple[float, float]:
        """Return limits of the mean that hold at all times together with the chance 1 - level."""
        low, high = compute_mean_interval(self.interval, 1 - level)
        return float(low[0]), float(high[0])

    def describe_state(self, ended: bool) -> str:
        """Return the state of the comparison, of arm b against arm a.

        Args:
            ended: whether the budget is spent.
        """
        if self.is_open:
            return OUT_OF_BUDGET if ended else OPEN
        if self.decision is Decision.EQUIVALENT:
            return EQUIVALENT
        higher = OUTCOMES[self.declared.outcome].higher_is_better
        return SUPERIOR if (self.decision is Decision.MORE) == higher else INFERIOR

    def learn(self, population: RoutePopulation, batch: RouteBatch, differences: Floats) -> None:
        """Take in the differences of a batch, (1, n)."""
        values, low, high = self.monitor.weigh_batch(population, batch, differences)
        self.interval.bet(values, low, high)
        self.values += values[0].tolist()
        strata = population.strata[batch.routes[0]].tolist()
        self.observed += list(zip(strata, differences[0].tolist(), strict=True))
        self.monitor.learn(population, batch, differences)


def start_comparisons(
    declared: Sequence[DeclaredComparison], floor: float, strata: int
) -> list[ComparisonProgress]:
    """Return all comparisons before the first pair."""
    return [ComparisonProgress.start(one, floor, strata) for one in declared]


def decide_study(comparisons: Sequence[ComparisonProgress], level: float, driven: int) -> None:
    """Decide all comparisons that can be; they are one family.

    Args:
        comparisons: all of the study.
        level: family-wise error rate.
        driven: pairs so far.
    """
    decide_comparisons([one.monitor for one in comparisons], level, driven)


def choose_chances(
    population: RoutePopulation, comparisons: Sequence[ComparisonProgress]
) -> Floats:
    """Return the chances of the next routes' strata, (1, strata), as the record can have them.

    They are millionths, so that a record says exactly what was sampled with.
    """
    proposed = propose_chances(population, [one.monitor for one in comparisons], 1)[0]
    millionths = np.maximum(np.round(proposed * MILLION), 1).astype(np.int64)
    millionths[np.argmax(millionths)] += MILLION - millionths.sum()
    return np.asarray(millionths[None] / MILLION)
