"""Which kinds of failures a search came upon: a grid of behaviour measures.

Failures of one class in one cell of the grid count as one. Measures come from evaluations, so that
a search's ledger is enough; what was confirmed comes from repeats with other seeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from metamorphic.search.candidates import Evaluation, Outcome
from metamorphic.search.settings import BehaviourAxis

Place: TypeAlias = tuple[int, ...]
"""The numbers of a cell along the axes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What a search has in one cell."""

    evaluations: tuple[int, ...]  # their numbers, ascending
    failures: tuple[int, ...]
    confirmed: tuple[int, ...]
    best: float  # lowest first objective


@dataclass(frozen=True, slots=True)
class Archive:
    """The cells in which a search has evaluations."""

    axes: tuple[BehaviourAxis, ...]
    cells: Mapping[Place, Cell]

    @property
    def size(self) -> int:
        """Return the number of cells of the whole grid."""
        return prod(axis.cells for axis in self.axes)

    @property
    def coverage(self) -> float:
        """Return the share of cells with an evaluation."""
        return len(self.cells) / self.size

    @property
    def distinct_failures(self) -> int:
        """Return the number of cells with a failure."""
        return sum(bool(cell.failures) for cell in self.cells.values())

    @property
    def confirmed_failures(self) -> int:
        """Return the number of cells with a confirmed failure."""
        return sum(bool(cell.confirmed) for cell in self.cells.values())

    def quality(self, worst: float) -> float:
        """Return the QD-score: the sum over cells of how far the best is below a worst value."""
        return sum(max(worst - cell.best, 0.0) for cell in self.cells.values())


def place_of(axes: tuple[BehaviourAxis, ...], outcome: Outcome) -> Place:
    """Return the cell of an outcome."""
    return tuple(axis.cell(outcome.measures[axis.name]) for axis in axes)


def distinct_key(axes: tuple[BehaviourAxis, ...], outcome: Outcome) -> tuple[str, Place]:
    """Return what distinct failures differ in: the class of failure, or the cell."""
    return outcome.outcome, place_of(axes, outcome)


def archive_of(
    axes: tuple[BehaviourAxis, ...],
    evaluations: Iterable[Evaluation],
    *,
    objective: str,
    confirmed: Collection[int] = (),
) -> Archive:
    """Return the archive of evaluations; `confirmed` are numbers of confirmed failures."""
    members: dict[Place, list[Evaluation]] = {}
    for evaluation in evaluations:
        if evaluation.outcome.has_result:
            members.setdefault(place_of(axes, evaluation.outcome), []).append(evaluation)
    return Archive(
        axes,
        {
            place: cell_of(members[place], objective, frozenset(confirmed))
            for place in sorted(members)
        },
    )


def cell_of(members: list[Evaluation], objective: str, confirmed: frozenset[int]) -> Cell:
    """Return the cell of some evaluations."""
    failures = tuple(one.candidate.number for one in members if one.outcome.failed)
    return Cell(
        evaluations=tuple(one.candidate.number for one in members),
        failures=failures,
        confirmed=tuple(number for number in failures if number in confirmed),
        best=min(one.outcome.objectives[objective] for one in members),
    )
