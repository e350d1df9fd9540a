"""Replays the sequential design on a population whose outcomes are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.statistics.sequential_family import Decision
from harness.types.vocabulary import Floats, Integers
from studies.decide.monitor import (
    ComparisonMonitor,
    DecisionRule,
    RouteBatch,
    RoutePopulation,
    decide_comparisons,
    propose_chances,
)


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedDecisions:
    """How replayed experiments ended.

    Attributes:
        decisions: (samples, comparisons) a `Decision`.
        routes: (samples, comparisons) that it took; `most` where undecided.
    """

    decisions: Integers
    routes: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """How it is replayed.

    Attributes:
        rule: of all comparisons.
        level: family-wise error rate.
        batch: routes between two looks.
        most: routes after which an experiment ends.
        samples: experiments.
    """

    rule: DecisionRule
    level: float = 0.05
    batch: int = 8
    most: int = 1000
    samples: int = 400


def replay_decisions(
    population: RoutePopulation,
    differences: Mapping[str, Floats],
    plan: ReplayPlan,
    random: np.random.Generator,
) -> ReplayedDecisions:
    """Return how experiments end that sample routes with replacement and look after each batch.

    Args:
        population: routes and their strata.
        differences: by comparison, (routes,) of the population.
        plan: how it is decided.
        random: samples routes.
    """
    table = np.stack(list(differences.values()))
    monitors = [
        ComparisonMonitor.start(plan.rule, plan.samples, len(population.expected))
        for _ in differences
    ]
    decisions = np.zeros((plan.samples, len(monitors)), np.int64)
    routes = np.full((plan.samples, len(monitors)), plan.most)
    running = np.arange(plan.samples)
    for driven in range(0, plan.most, plan.batch):
        count = min(plan.batch, plan.most - driven)
        chances = propose_chances(population, monitors, len(running))
        chosen = population.sample_routes(chances, random.random((len(running), count, 2)))
        for monitor, values in zip(monitors, table, strict=True):
            monitor.learn(population, RouteBatch(chosen, chances), values[chosen])
        decide_comparisons(monitors, plan.level, driven + count)
        # experiments that are decided leave the arrays
        done = np.all([monitor.decision != Decision.UNDECIDED for monitor in monitors], axis=0)
        last = done | (driven + count >= plan.most)
        for column, monitor in enumerate(monitors):
            decisions[running[last], column] = monitor.decision[last]
            took = np.where(monitor.decided_after > 0, monitor.decided_after, plan.most)
            routes[running[last], column] = took[last]
        kept = np.flatnonzero(~last)
        if not len(kept):
            break
        running, monitors = running[kept], [monitor.select(kept) for monitor in monitors]
    return ReplayedDecisions(decisions, routes)


def list_right_decisions(difference: float, rule: DecisionRule) -> set[Decision]:
    """Return the decisions that are right for a population's mean difference."""
    right = set[Decision]()
    if rule.question != "superiority" and abs(difference) < rule.margin:
        right.add(Decision.EQUIVALENT)
    if rule.question != "equivalence" and difference:
        right.add(Decision.MORE if difference > 0 else Decision.FEWER)
    return right


def compute_mean_routes(
    decisions: Integers, routes: Integers, right: set[Decision], power: float
) -> float:
    """Return the mean number of routes of a design that ends where it reached the power.

    Its largest number is the smallest by which a share `power` of experiments is decided rightly.

    Args:
        decisions: (samples,).
        routes: (samples,).
        right: decisions that are right.
        power: 0 to 1.

    Returns:
        Infinite where the power is not reached.
    """
    rightly = np.isin(decisions, [int(one) for one in right])
    ordered = np.sort(np.where(rightly, routes, np.inf))
    largest = ordered[int(np.ceil(power * len(ordered))) - 1]
    return float(np.minimum(routes, largest).mean())
