"""Simulated populations with known differences: nulls, effects, and what lies at the margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.allocation import PRIOR_SQUARE
from analysis.statistics.sequential_family import Claim, Decision
from harness.types.vocabulary import Floats
from studies.decide.monitor import DecisionRule, RoutePopulation
from studies.decide.replay import list_right_decisions

ROUTES_OF_STRATUM = 200
PERCENT = 100


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedPopulation:
    """Routes in four equal strata, and the difference on each of them.

    Attributes:
        differences: (routes,) -1, 0 or 1.
    """

    name: str
    population: RoutePopulation
    differences: Floats

    def list_right(self, rule: DecisionRule) -> set[Decision]:
        """Return the decisions that are no error.

        For a claim about strata a direction is right if the mean of any stratum has it.
        """
        right = list_right_decisions(float(self.differences.mean()), rule)
        if rule.claim == "somewhere" and rule.question != "equivalence":
            right -= {Decision.MORE, Decision.FEWER}
            counts = np.bincount(self.population.strata)
            means = np.bincount(self.population.strata, self.differences) / counts
            right |= {Decision.MORE} if (means > 0).any() else set()
            right |= {Decision.FEWER} if (means < 0).any() else set()
        return right


def make_simulated_population(
    name: str, percents: tuple[tuple[int, int], ...]
) -> SimulatedPopulation:
    """Return a population whose strata have exactly these shares.

    Args:
        name: as it is shown.
        percents: for each stratum, of routes with a difference of 1, and of -1.
    """
    parts = []
    for more, fewer in percents:
        part = np.zeros(ROUTES_OF_STRATUM)
        part[: more * ROUTES_OF_STRATUM // PERCENT] = 1.0
        part[ROUTES_OF_STRATUM - fewer * ROUTES_OF_STRATUM // PERCENT :] = -1.0
        parts.append(part)
    strata = np.repeat(np.arange(len(percents)), ROUTES_OF_STRATUM)
    return SimulatedPopulation(
        name, RoutePopulation(strata, np.full(len(percents), PRIOR_SQUARE)), np.concatenate(parts)
    )


def list_null_populations(claim: Claim) -> list[SimulatedPopulation]:
    """Return populations in which some or all decisions about a claim are errors."""
    listed = [
        make_simulated_population("no difference", ((0, 0), (0, 0), (0, 0), (0, 0))),
        make_simulated_population("as many of both", ((20, 20), (5, 5), (3, 3), (2, 2))),
        make_simulated_population("often both", ((40, 40), (20, 20), (10, 10), (5, 5))),
        make_simulated_population("at the margin", ((45, 5), (5, 5), (2, 2), (0, 0))),
        make_simulated_population(
            "at the margin, everywhere", ((12, 2), (12, 2), (12, 2), (12, 2))
        ),
    ]
    if claim == "mean":
        opposite = ((2, 22), (3, 3), (12, 2), (12, 2))
        listed.append(make_simulated_population("opposite in strata", opposite))
    return listed


def list_effect_populations() -> list[SimulatedPopulation]:
    """Return populations with an effect, or with none that matters."""
    return [
        make_simulated_population("in one stratum, -0.08", ((3, 35), (2, 2), (1, 1), (0, 0))),
        make_simulated_population("in two strata, +0.08", ((25, 3), (12, 2), (1, 1), (0, 0))),
        make_simulated_population("everywhere, -0.08", ((2, 10), (2, 10), (2, 10), (2, 10))),
        make_simulated_population("none", ((15, 15), (4, 4), (2, 2), (1, 1))),
    ]
