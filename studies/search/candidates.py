"""What a search evaluates and what comes back, with the rows of the ledger that hold both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from harness.common.randomness import derive_seed
from studies.space import Values


@dataclass(frozen=True, slots=True)
class SearchCandidate:
    """Values to evaluate, and the seed of everything random in that evaluation.

    Repeats of a finding have its number and other seeds: a folder of an evaluation needs both.

    Attributes:
        values: by name of the parameter.
        seed: of everything random in the evaluation.
    """

    number: int  # of the evaluation, from 0
    values: Values
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """What an evaluation gave; without objectives it has no result, and samplers learn nothing."""

    outcome: str  # class, such as "collision"
    failed: bool
    objectives: Mapping[str, float] = field(default_factory=dict)  # all minimised
    measures: Mapping[str, float] = field(default_factory=dict)  # of behaviour

    def __post_init__(self) -> None:
        for name, value in (*self.objectives.items(), *self.measures.items()):
            if not math.isfinite(value):
                raise ValueError(f"{name} = {value}: must be finite")
        if self.failed and not self.objectives:
            raise ValueError(f"{self.outcome}: failed, but has no objectives")

    @property
    def has_result(self) -> bool:
        """Return whether the evaluation can be used."""
        return bool(self.objectives)


Evaluate: TypeAlias = Callable[[SearchCandidate], SearchOutcome]
Mapper: TypeAlias = Callable[[Evaluate, Sequence[SearchCandidate]], Iterable[SearchOutcome]]
"""Like `map`: outcomes in the order of the candidates, whichever is finished first."""


@dataclass(frozen=True, slots=True)
class SearchEvaluation:
    """A row of the ledger.

    Attributes:
        candidate: number, values and seed.
        outcome: what driving it gave.
    """

    candidate: SearchCandidate
    outcome: SearchOutcome

    def to_record(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        return {
            "number": self.candidate.number,
            "values": dict(self.candidate.values),
            "seed": self.candidate.seed,
            "objectives": {name: float(at) for name, at in self.outcome.objectives.items()},
            "measures": {name: float(at) for name, at in self.outcome.measures.items()},
            "outcome": self.outcome.outcome,
            "failed": bool(self.outcome.failed),
        }

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> SearchEvaluation:
        """Return the row that a record holds; raises KeyError, TypeError or ValueError."""
        return SearchEvaluation(
            SearchCandidate(record["number"], record["values"], record["seed"]),
            SearchOutcome(
                outcome=record["outcome"],
                failed=record["failed"],
                objectives=record["objectives"],
                measures=record["measures"],
            ),
        )


def number_candidates(values: Iterable[Values], first: int, seed: int) -> list[SearchCandidate]:
    """Return candidates with numbers and seeds; equal search seeds give equal ones.

    Args:
        values: of each candidate.
        first: number of the first one.
        seed: of the search.
    """
    return [
        SearchCandidate(number, of_one, derive_seed(seed, "search", str(number)))
        for number, of_one in enumerate(values, first)
    ]
