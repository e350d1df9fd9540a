"""Does a failure happen again? Repeats with seeds that the search did not use.

A search reports the worst of many evaluations, some of which failed by chance. What is reported as
confirmed failed in the same class in enough repeats; all other findings are listed as unconfirmed.

`crucible confirm`: the findings of a search, driven again with seeds that it did not use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.common.errors import UserError
from harness.common.randomness import derive_seed
from studies.search.candidates import (
    Evaluate,
    Mapper,
    SearchCandidate,
    SearchEvaluation,
    SearchOutcome,
)
from studies.search.driving import LEDGER_FOLDER, compute_fresh_seed, open_driver
from studies.search.folders import FinishedSearch, get_ledger_file
from studies.search.following import DrivenEvaluations, SearchFollower
from studies.search.ledger import (
    count_ledger_evaluations,
    make_ledger_header,
    open_ledger,
    read_ledger,
)
from studies.search.recorded import RecordedMapper
from studies.search.samplers import load_optional_module
from studies.space import Values

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatRule:
    """How often a failure must happen again."""

    count: int = 20
    least: int = 10  # of them
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.count:
            raise UserError(f"least = {self.least}: must be from 1 up to count = {self.count}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingConfirmation:
    """A finding with the rate of its failure among repeats."""

    number: int  # of the finding's evaluation
    outcome: str
    failures: int
    repeats: int  # with a result
    low: float  # of the rate: Clopper and Pearson's 95 %
    high: float
    confirmed: bool

    @property
    def rate(self) -> float:
        """Return the share of repeats that failed."""
        return self.failures / self.repeats if self.repeats else 0.0


def select_failures(evaluations: Iterable[SearchEvaluation]) -> list[SearchEvaluation]:
    """Return the evaluations that failed."""
    return [evaluation for evaluation in evaluations if evaluation.outcome.failed]


def confirm_findings(
    findings: Sequence[SearchEvaluation],
    evaluate: Evaluate,
    repeats: RepeatRule,
    *,
    searched: Sequence[SearchEvaluation] = (),
    mapper: Mapper = map,
) -> list[FindingConfirmation]:
    """Repeat every finding; seeds of the evaluations `searched` are not used again."""
    used = {one.candidate.seed for one in (*searched, *findings)}
    return [
        _confirm_finding(finding, evaluate, repeats, used=used, mapper=mapper)
        for finding in findings
    ]


def _confirm_finding(
    finding: SearchEvaluation,
    evaluate: Evaluate,
    repeats: RepeatRule,
    *,
    used: set[int],
    mapper: Mapper,
) -> FindingConfirmation:
    number, values = finding.candidate.number, finding.candidate.values
    candidates = make_repeats(number, values, repeats, name="confirm")
    if used & {candidate.seed for candidate in candidates}:
        raise UserError(f"seed = {repeats.seed}: the search used its seeds; choose another")
    outcomes = [outcome for outcome in mapper(evaluate, candidates) if outcome.has_result]
    failures = sum(is_same_failure(finding.outcome, outcome) for outcome in outcomes)
    low, high = compute_repeat_rate_interval(failures, len(outcomes))
    return FindingConfirmation(
        number=number,
        outcome=finding.outcome.outcome,
        failures=failures,
        repeats=len(outcomes),
        low=low,
        high=high,
        confirmed=failures >= repeats.least,
    )


def select_unconfirmed(confirmations: Iterable[FindingConfirmation]) -> list[FindingConfirmation]:
    """Return the findings that did not happen again often enough."""
    return [confirmation for confirmation in confirmations if not confirmation.confirmed]


def is_same_failure(failure: SearchOutcome, outcome: SearchOutcome) -> bool:
    """Return whether an outcome is the same failure: of the same class."""
    return outcome.failed and outcome.outcome == failure.outcome


def make_repeats(
    number: int, values: Values, repeats: RepeatRule, *, name: str
) -> list[SearchCandidate]:
    """Return the same values with other seeds; a name for each purpose keeps seeds apart."""
    return [
        SearchCandidate(number, values, derive_seed(repeats.seed, name, str(number), str(repeat)))
        for repeat in range(repeats.count)
    ]


def compute_repeat_rate_interval(events: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934); 0 to 1 of nothing."""
    beta: Any = load_optional_module("scipy.stats", extra="analysis").beta
    low = beta.ppf((1 - level) / 2, events, n - events + 1) if events else 0.0
    high = beta.ppf((1 + level) / 2, events + 1, n - events) if events < n else 1.0
    return float(low), float(high)


CONFIRM = "confirm"
"""Their folder in that of the search, a campaign folder itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationSettings:
    """Which findings are repeated, and how often."""

    repeats: RepeatRule
    most: int = 20  # findings, the first of every distinct failure

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UserError(f"most = {self.most}: must be ≥ 1")

    def select_findings(self, searched: FinishedSearch) -> list[SearchEvaluation]:
        """Return the findings that are repeated: a rule that looks at no repeat."""
        return searched.findings[: self.most]

    def describe_repeats(self, searched: FinishedSearch) -> DrivenEvaluations:
        """Return what is driven, and how much of it is done."""
        findings, count = len(self.select_findings(searched)), self.repeats.count
        total = findings * count
        return DrivenEvaluations(
            plan=f"{findings} findings × {count} seeds = {total} drives",  # noqa: RUF001
            total=total,
            word="drive",
            done=count_ledger_evaluations(get_ledger_file(searched.ready.folder / CONFIRM)),
        )

    def make_header(self, searched: FinishedSearch) -> dict[str, Any]:
        """Return the first line of the ledger."""
        settings = {
            "of": searched.digest,
            "findings": [finding.candidate.number for finding in self.select_findings(searched)],
            "repeats": self.repeats.count,
            "least": self.repeats.least,
            "seed": self.repeats.seed,
            "most": self.most,
        }
        return make_ledger_header(settings, {})


def confirm_search(
    searched: FinishedSearch,
    confirming: ConfirmationSettings,
    follower: SearchFollower | None = None,
) -> list[FindingConfirmation]:
    """Drive what is not driven yet; return every finding with its rate, confirmed or not.

    Args:
        searched: a finished search.
        confirming: how often a finding is repeated, and how many are.
        follower: is called as repeats are driven.
    """
    findings = confirming.select_findings(searched)
    refuse_used_seeds(searched, findings, confirming.repeats)
    folder = searched.ready.folder / CONFIRM
    follower = follower or SearchFollower()
    with (
        open_driver(searched.ready, folder, seed=compute_fresh_seed, listener=follower) as drives,
        open_ledger(folder / LEDGER_FOLDER, confirming.make_header(searched)) as ledger,
    ):
        return confirm_findings(
            findings,
            drives.evaluate_candidate,
            confirming.repeats,
            searched=searched.evaluations,
            mapper=RecordedMapper(ledger, drives.map_candidates, follower.note_evaluation),
        )


def refuse_used_seeds(
    searched: FinishedSearch, findings: Sequence[SearchEvaluation], repeats: RepeatRule
) -> None:
    """Refuse repeats in a world in which the search has driven."""
    used = {searched.get_seed(one.candidate) for one in searched.evaluations}
    for finding in findings:
        number, values = finding.candidate.number, finding.candidate.values
        for candidate in make_repeats(number, values, repeats, name=CONFIRM):
            if compute_fresh_seed(candidate) in used:
                raise UserError(
                    f"seed = {repeats.seed}: the search used its seeds; choose another --seed"
                )


def read_confirmations(searched: FinishedSearch) -> list[FindingConfirmation]:
    """Return what a finished confirmation found."""
    folder = searched.ready.folder
    file = get_ledger_file(folder / CONFIRM)
    if not os.path.lexists(file):
        raise UserError(f"{folder}: not confirmed yet; run crucible confirm {folder}")
    # settings come from the header; they must make the same header again
    header, rows = read_ledger(file)
    settings = header["settings"]
    repeats = RepeatRule(count=settings["repeats"], least=settings["least"], seed=settings["seed"])
    confirming = ConfirmationSettings(repeats=repeats, most=settings["most"])
    if confirming.make_header(searched) != header:
        raise UserError(f"{file}: the confirmation of another search")
    findings = confirming.select_findings(searched)
    if len(rows) < len(findings) * repeats.count:
        raise UserError(f"{folder}: not confirmed to the end; run crucible confirm {folder} again")
    # evaluations of the ledger in place of drives
    left = iter(rows)

    def mapper(
        evaluate: Evaluate, candidates: Sequence[SearchCandidate]
    ) -> Iterator[SearchOutcome]:
        return (next(left).outcome for _ in candidates)

    return confirm_findings(
        findings, refuse_evaluation, repeats, searched=searched.evaluations, mapper=mapper
    )


def refuse_evaluation(candidate: SearchCandidate) -> SearchOutcome:
    """Refuse to evaluate: everything is in a ledger."""
    raise AssertionError(candidate)
