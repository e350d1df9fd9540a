"""Evaluations in a fixed order, kept in a ledger: confirmation, shrinking and rates are resumed.

What is asked for depends on earlier outcomes and settings alone. A ledger's rows are given back in
order, and only what comes after them is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from harness.common.errors import UserError
from studies.search.candidates import (
    Evaluate,
    Mapper,
    SearchCandidate,
    SearchEvaluation,
    SearchOutcome,
)
from studies.search.ledger import SearchLedger


class RecordedMapper:
    """A mapper that evaluates what its ledger does not hold yet, and adds that to the ledger.

    Args:
        ledger: of the evaluations so far.
        mapper: evaluates what is not in it.
        progress: called with each new evaluation.
    """

    def __init__(
        self,
        ledger: SearchLedger,
        mapper: Mapper,
        progress: Callable[[SearchEvaluation], object] = lambda _: None,
    ) -> None:
        self._ledger, self._mapper, self._progress = ledger, mapper, progress
        self._given = 0

    def __call__(
        self, evaluate: Evaluate, candidates: Sequence[SearchCandidate]
    ) -> Iterator[SearchOutcome]:
        """Yield outcomes in order; those that are not asked for are not in the ledger."""
        known = self._ledger.evaluations[self._given : self._given + len(candidates)]
        for candidate, evaluation in zip(candidates, known, strict=False):
            self._refuse_other(candidate, evaluation)
            self._given += 1
            yield evaluation.outcome
        left = list(candidates[len(known) :])
        results = self._mapper(evaluate, left) if left else ()
        for candidate, outcome in zip(left, results, strict=True):
            row = SearchCandidate(self._given, candidate.values, candidate.seed)
            evaluation = SearchEvaluation(row, outcome)
            self._ledger.append_evaluation(evaluation)
            self._given += 1
            self._progress(evaluation)
            yield outcome

    def _refuse_other(self, candidate: SearchCandidate, evaluation: SearchEvaluation) -> None:
        """Refuse a row of other values or of another seed."""
        row = evaluation.candidate
        if dict(row.values) != dict(candidate.values) or row.seed != candidate.seed:
            raise UserError(
                f"{self._ledger.file}: line {row.number + 2}: of other values or of another seed:"
                " the ledger was changed, or comes from another kind of machine"
            )
