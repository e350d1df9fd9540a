"""How many pairs a study may still need, by simulating how it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.sequential_family import Decision
from harness.types.vocabulary import Floats, Integers
from studies.decide.monitor import (
    ComparisonMonitor,
    RouteBatch,
    RoutePopulation,
    decide_comparisons,
    propose_chances,
)
from studies.decide.progress import ComparisonProgress

FUTURES = 40
"""Simulated continuations of a study after each batch."""
PRIOR_PAIRS = 2
"""A stratum's differences are sampled as if so many of zero had been seen in it."""
SampleDifferences = Callable[[Integers, np.random.Generator], Floats]
"""Gives differences of routes by their strata, (samples, n)."""


@dataclass(frozen=True, slots=True, eq=False)
class ForecastPairs:
    """How simulated studies end.

    Attributes:
        decisions: (samples, comparisons) a `Decision`.
        pairs: (samples, comparisons) that it took from now on; `most` where undecided.
    """

    decisions: Integers
    pairs: Integers


def forecast_pairs(
    population: RoutePopulation,
    monitors: list[ComparisonMonitor],
    samplers: Sequence[SampleDifferences],
    *,
    level: float,
    batch: int,
    most: int,
    random: np.random.Generator,
) -> ForecastPairs:
    """Return how a study goes on, look by look, with differences that samplers give.

    Args:
        population: that routes are sampled from.
        monitors: of the comparisons, with as many samples as are simulated; they are changed.
        samplers: for each comparison.
        level: family-wise error rate.
        batch: pairs between two looks.
        most: pairs at most, from now on.
        random: samples routes and differences.
    """
    count = len(monitors[0].decision)
    pairs = np.full((count, len(monitors)), most)
    known = np.stack([monitor.decision for monitor in monitors], axis=1)
    pairs[known != Decision.UNDECIDED] = 0
    for driven in range(0, most, batch):
        size = min(batch, most - driven)
        chances = propose_chances(population, monitors, count)
        routes = population.sample_routes(chances, random.random((count, size, 2)))
        for monitor, sample in zip(monitors, samplers, strict=True):
            differences = sample(population.strata[routes], random)
            monitor.learn(population, RouteBatch(routes, chances), differences)
        decide_comparisons(monitors, level, driven + size)
        decisions = np.stack([monitor.decision for monitor in monitors], axis=1)
        newly = (decisions != Decision.UNDECIDED) & (known == Decision.UNDECIDED)
        pairs[newly] = driven + size
        known = decisions
        if (known != Decision.UNDECIDED).all():
            break
    return ForecastPairs(known, pairs)


def make_observed_sampler(comparison: ComparisonProgress, strata: int) -> SampleDifferences:
    """Return what samples a comparison's differences as they were observed in each stratum.

    A stratum is joined by the mean share of all strata and by some differences of zero: a few
    pairs do not say that it has none.
    """
    overall = [difference for _, difference in comparison.observed] or [0.0]
    pools = []
    for stratum in range(strata):
        seen = [difference for at, difference in comparison.observed if at == stratum]
        pools.append(
            np.array([*seen, *([0.0] * PRIOR_PAIRS), *([float(np.mean(overall))] * PRIOR_PAIRS)])
        )

    def sample(chosen: Integers, random: np.random.Generator) -> Floats:
        uniform, values = random.random(chosen.shape), np.zeros(chosen.shape)
        for stratum, pool in enumerate(pools):
            inside = chosen == stratum
            values[inside] = pool[(uniform[inside] * len(pool)).astype(np.int64)]
        return values

    return sample


def make_rate_sampler(more: float, fewer: float) -> SampleDifferences:
    """Return what samples a difference of 1 and of -1 with these chances, in every stratum."""

    def sample(chosen: Integers, random: np.random.Generator) -> Floats:
        uniform = random.random(chosen.shape)
        return (uniform < more).astype(np.float64) - (uniform > 1 - fewer)

    return sample


def forecast_study(
    population: RoutePopulation,
    comparisons: Sequence[ComparisonProgress],
    *,
    level: float,
    batch: int,
    most: int,
    random: np.random.Generator,
) -> ForecastPairs:
    """Return how the study may go on from here."""
    same = np.zeros(FUTURES, np.int64)
    return forecast_pairs(
        population,
        [one.monitor.select(same) for one in comparisons],
        [make_observed_sampler(one, len(population.expected)) for one in comparisons],
        level=level,
        batch=batch,
        most=most,
        random=random,
    )
