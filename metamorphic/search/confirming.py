"""`crucible confirm`: the findings of a search, driven again with seeds that it did not use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import UserError
from metamorphic.search.candidates import Evaluate, SearchCandidate, SearchEvaluation, SearchOutcome
from metamorphic.search.confirm import (
    FindingConfirmation,
    RepeatRule,
    confirm_findings,
    make_repeats,
)
from metamorphic.search.driving import LEDGER_FOLDER, compute_fresh_seed, open_driver
from metamorphic.search.folders import FinishedSearch, get_ledger_file
from metamorphic.search.ledger import make_ledger_header, open_ledger, read_ledger
from metamorphic.search.recorded import RecordedMapper

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
    progress: Callable[[SearchEvaluation], object] = lambda _: None,
) -> list[FindingConfirmation]:
    """Drive what is not driven yet; return every finding with its rate, confirmed or not."""
    findings = confirming.select_findings(searched)
    refuse_used_seeds(searched, findings, confirming.repeats)
    folder = searched.ready.folder / CONFIRM
    with (
        open_driver(searched.ready, folder, seed=compute_fresh_seed) as drives,
        open_ledger(folder / LEDGER_FOLDER, confirming.make_header(searched)) as ledger,
    ):
        return confirm_findings(
            findings,
            drives.evaluate_candidate,
            confirming.repeats,
            searched=searched.evaluations,
            mapper=RecordedMapper(ledger, drives.map_candidates, progress),
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
    header, rows = read_ledger(file)
    settings = header["settings"]
    repeats = RepeatRule(count=settings["repeats"], least=settings["least"], seed=settings["seed"])
    confirming = ConfirmationSettings(repeats=repeats, most=settings["most"])
    if confirming.make_header(searched) != header:
        raise UserError(f"{file}: the confirmation of another search")
    findings = confirming.select_findings(searched)
    if len(rows) < len(findings) * repeats.count:
        raise UserError(f"{folder}: not confirmed to the end; run crucible confirm {folder} again")
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
