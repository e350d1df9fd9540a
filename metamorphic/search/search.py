"""A search: a sampler asks for candidates, they are evaluated, the ledger keeps what they gave.

Batches are of one size and are reported in the order in which they were asked for: the ledger does
not depend on the number of workers. An interrupted search is resumed by asking the sampler again
for what the ledger holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import UserError
from metamorphic.search.candidates import (
    Evaluate,
    Mapper,
    SearchCandidate,
    SearchEvaluation,
    SearchOutcome,
)
from metamorphic.search.ledger import SearchLedger, make_search_header, open_ledger
from metamorphic.search.making import list_sampler_versions, make_sampler
from metamorphic.search.settings import SearchSettings


def run_search_loop(
    settings: SearchSettings,
    evaluate: Evaluate,
    folder: Path,
    *,
    mapper: Mapper = map,
    progress: Callable[[SearchEvaluation], object] = lambda _: None,
) -> Path:
    """Search, or resume a search, up to the budget; return the ledger's path.

    `mapper` evaluates a batch, such as the `map` of an executor of `concurrent.futures`. `progress`
    gets every new evaluation once it is on the disk.
    """
    sampler = make_sampler(settings)
    with open_ledger(
        folder, make_search_header(settings, list_sampler_versions(sampler))
    ) as ledger:
        if len(ledger.evaluations) > settings.budget:
            raise UserError(f"{ledger.file}: more evaluations than budget = {settings.budget}")
        for first in range(0, settings.budget, settings.batch):
            candidates = sampler.ask(settings.batch)
            known = ledger.evaluations[first : first + settings.batch]
            refuse_other_candidates(ledger, known, candidates)
            outcomes = [evaluation.outcome for evaluation in known]
            remaining = candidates[len(known) :]
            results = mapper(evaluate, remaining) if remaining else ()
            for candidate, outcome in zip(remaining, results, strict=True):
                check_outcome_names(settings, outcome)
                evaluation = SearchEvaluation(candidate, outcome)
                ledger.append_evaluation(evaluation)
                outcomes.append(outcome)
                progress(evaluation)
            sampler.report(outcomes)
    return ledger.file


def refuse_other_candidates(
    ledger: SearchLedger, known: Sequence[SearchEvaluation], asked: Sequence[SearchCandidate]
) -> None:
    """Refuse a ledger of which the sampler would have asked something else."""
    for evaluation, candidate in zip(known, asked, strict=False):
        if evaluation.candidate != candidate:
            raise UserError(
                f"{ledger.file}: line {candidate.number + 2}:"
                f" {describe_candidate_difference(evaluation, candidate)}:"
                " the ledger was changed, or comes from another kind of machine"
            )


def describe_candidate_difference(evaluation: SearchEvaluation, asked: SearchCandidate) -> str:
    """Return in which value an evaluation is not what the sampler asks for."""
    values = evaluation.candidate.values
    for name, value in asked.values.items():
        if values.get(name) != value:
            return f"{name} = {values.get(name)}, but the sampler asks for {value}"
    return f"seed {evaluation.candidate.seed}, but the sampler asks for {asked.seed}"


def check_outcome_names(settings: SearchSettings, outcome: SearchOutcome) -> None:
    """Refuse a result that lacks an objective or a behaviour measure of the settings."""
    if not outcome.has_result:
        return
    for kind, names, given in (
        ("objective", settings.objectives, outcome.objectives),
        ("measure", tuple(axis.name for axis in settings.behaviour), outcome.measures),
    ):
        missing = sorted(set(names) - set(given))
        if missing:
            raise UserError(f"evaluation: no {kind} {missing[0]} (has: {', '.join(sorted(given))})")
