"""`crucible confirm`: the findings of a search, driven again with seeds that it did not use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import UserError
from metamorphic.search.candidates import Candidate, Evaluate, Evaluation, Outcome
from metamorphic.search.confirm import Confirmation, Repeats, confirm, repeated
from metamorphic.search.driving import LEDGERS, driver, fresh_seed
from metamorphic.search.folders import Searched, ledger_of
from metamorphic.search.ledger import header_with, open_ledger, read_ledger
from metamorphic.search.recorded import Recorded

CONFIRM = "confirm"
"""Their folder in that of the search, a campaign folder itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirming:
    """Which findings are repeated, and how often."""

    repeats: Repeats
    most: int = 20  # findings, the first of every distinct failure

    def __post_init__(self) -> None:
        if self.most < 1:
            raise UserError(f"most = {self.most}: must be ≥ 1")

    def chosen(self, searched: Searched) -> list[Evaluation]:
        """Return the findings that are repeated: a rule that looks at no repeat."""
        return searched.findings[: self.most]

    def header(self, searched: Searched) -> dict[str, Any]:
        """Return the first line of the ledger."""
        settings = {
            "of": searched.digest,
            "findings": [finding.candidate.number for finding in self.chosen(searched)],
            "repeats": self.repeats.count,
            "least": self.repeats.least,
            "seed": self.repeats.seed,
            "most": self.most,
        }
        return header_with(settings, {})


def confirm_search(
    searched: Searched,
    confirming: Confirming,
    progress: Callable[[Evaluation], object] = lambda _: None,
) -> list[Confirmation]:
    """Drive what is not driven yet; return every finding with its rate, confirmed or not."""
    findings = confirming.chosen(searched)
    refuse_used_seeds(searched, findings, confirming.repeats)
    folder = searched.ready.folder / CONFIRM
    with (
        driver(searched.ready, folder, seed=fresh_seed) as drives,
        open_ledger(folder / LEDGERS, confirming.header(searched)) as ledger,
    ):
        return confirm(
            findings,
            drives.evaluate,
            confirming.repeats,
            searched=searched.evaluations,
            mapper=Recorded(ledger, drives.mapper, progress),
        )


def refuse_used_seeds(searched: Searched, findings: Sequence[Evaluation], repeats: Repeats) -> None:
    """Refuse repeats in a world in which the search has driven."""
    used = {searched.seed(one.candidate) for one in searched.evaluations}
    for finding in findings:
        number, values = finding.candidate.number, finding.candidate.values
        for candidate in repeated(number, values, repeats, name=CONFIRM):
            if fresh_seed(candidate) in used:
                raise UserError(
                    f"seed = {repeats.seed}: the search used its seeds; choose another --seed"
                )


def read_confirmations(searched: Searched) -> list[Confirmation]:
    """Return what a finished confirmation found."""
    folder = searched.ready.folder
    file = ledger_of(folder / CONFIRM)
    if not os.path.lexists(file):
        raise UserError(f"{folder}: not confirmed yet; run crucible confirm {folder}")
    header, rows = read_ledger(file)
    settings = header["settings"]
    repeats = Repeats(count=settings["repeats"], least=settings["least"], seed=settings["seed"])
    confirming = Confirming(repeats=repeats, most=settings["most"])
    if confirming.header(searched) != header:
        raise UserError(f"{file}: the confirmation of another search")
    findings = confirming.chosen(searched)
    if len(rows) < len(findings) * repeats.count:
        raise UserError(f"{folder}: not confirmed to the end; run crucible confirm {folder} again")
    left = iter(rows)

    def mapper(evaluate: Evaluate, candidates: Sequence[Candidate]) -> Iterator[Outcome]:
        return (next(left).outcome for _ in candidates)

    return confirm(findings, never, repeats, searched=searched.evaluations, mapper=mapper)


def never(candidate: Candidate) -> Outcome:
    """Refuse to evaluate: everything is in a ledger."""
    raise AssertionError(candidate)
