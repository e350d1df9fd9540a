"""Which kinds of failures a search came upon: a grid of behaviour measures.

Failures of one class in one cell of the grid count as one. Measures come from evaluations, so that
a search's ledger is enough; what was confirmed comes from repeats with other seeds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from studies.search.candidates import SearchEvaluation, SearchOutcome
from studies.search.settings import BehaviourAxis

CellPlace: TypeAlias = tuple[int, ...]
"""The numbers of a cell along the axes."""


@dataclass(frozen=True, slots=True)
class ArchiveCell:
    """What a search has in one cell."""

    evaluations: tuple[int, ...]  # their numbers, ascending
    failures: tuple[int, ...]
    confirmed: tuple[int, ...]
    best: float  # lowest first objective


@dataclass(frozen=True, slots=True)
class FailureArchive:
    """The cells in which a search has evaluations."""

    axes: tuple[BehaviourAxis, ...]
    cells: Mapping[CellPlace, ArchiveCell]

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

    def compute_quality(self, worst: float) -> float:
        """Return the QD-score: the sum over cells of how far the best is below a worst value."""
        return sum(max(worst - cell.best, 0.0) for cell in self.cells.values())


def find_cell_place(axes: tuple[BehaviourAxis, ...], outcome: SearchOutcome) -> CellPlace:
    """Return the cell of an outcome."""
    return tuple(axis.find_cell(outcome.measures[axis.name]) for axis in axes)


def make_distinct_key(
    axes: tuple[BehaviourAxis, ...], outcome: SearchOutcome
) -> tuple[str, CellPlace]:
    """Return what distinct failures differ in: the class of failure, or the cell.

    Args:
        axes: of the archive; none: one cell.
        outcome: of an evaluation.
    """
    return outcome.outcome, find_cell_place(axes, outcome)


def build_failure_archive(
    axes: tuple[BehaviourAxis, ...],
    evaluations: Iterable[SearchEvaluation],
    *,
    objective: str,
    confirmed: Collection[int] = (),
) -> FailureArchive:
    """Return the archive of evaluations; `confirmed` are numbers of confirmed failures."""
    members: dict[CellPlace, list[SearchEvaluation]] = {}
    for evaluation in evaluations:
        if evaluation.outcome.has_result:
            members.setdefault(find_cell_place(axes, evaluation.outcome), []).append(evaluation)
    return FailureArchive(
        axes,
        {
            place: build_archive_cell(members[place], objective, frozenset(confirmed))
            for place in sorted(members)
        },
    )


def build_archive_cell(
    members: list[SearchEvaluation], objective: str, confirmed: frozenset[int]
) -> ArchiveCell:
    """Return the cell of some evaluations."""
    failures = tuple(one.candidate.number for one in members if one.outcome.failed)
    return ArchiveCell(
        evaluations=tuple(one.candidate.number for one in members),
        failures=failures,
        confirmed=tuple(number for number in failures if number in confirmed),
        best=min(one.outcome.objectives[objective] for one in members),
    )
