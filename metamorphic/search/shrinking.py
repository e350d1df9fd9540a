"""`crucible shrink`: the smallest values at which a finding still happens, and when they must act.

Each finding has a ledger of its own. Windows are searched by twins, as `crucible attribute` does,
of one failed repeat at the smallest values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.campaign.settings.declared import Settings
from harness.campaign.twins.attribution import Attribution, attribute, grid
from harness.campaign.twins.twins import Twins
from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from metamorphic.search.candidates import Candidate, Evaluation
from metamorphic.search.confirm import (
    Confirmation,
    Repeats,
    confirm,
    repeated,
    same_failure,
)
from metamorphic.search.driving import LEDGERS, Driver, driver, fresh_seed
from metamorphic.search.folders import Searched
from metamorphic.search.ledger import header_with, open_ledger
from metamorphic.search.recorded import Recorded
from metamorphic.search.settings import digest_of
from metamorphic.search.shrink import Shrunk, shrink
from metamorphic.space import Values

SHRINK = "shrink"
"""The folder in that of the search, a campaign folder itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinking:
    """How much shrinking may cost."""

    repeats: Repeats
    budget: int = 60  # evaluations for a finding
    cells: int = 6  # windows up to the violation; 0: no windows
    placebos: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkFinding:
    """A finding at its smallest values."""

    number: int
    outcome: str
    shrunk: Shrunk
    confirmation: Confirmation  # at the smallest values, with further seeds
    attribution: Attribution | None  # none without a disturbance, or without a failed repeat


def name_of(candidate: Candidate) -> str:
    """Return the condition's name of a probe: the finding's number, and a digest of the values."""
    return f"e{candidate.number:04}-{digest_of(dict(candidate.values))[:8]}"


def shrink_finding(
    searched: Searched,
    finding: Evaluation,
    settings: Shrinking,
    progress: Callable[[Evaluation], object] = lambda _: None,
) -> ShrunkFinding:
    """Shrink one finding; a ledger holds every probe, so that it is resumed."""
    folder = searched.ready.folder / SHRINK
    number = finding.candidate.number
    repeats = settings.repeats
    header = header_with(
        {
            "of": searched.digest,
            "finding": number,
            "repeats": repeats.count,
            "least": repeats.least,
            "seed": repeats.seed,
            "budget": settings.budget,
        },
        {},
    )
    with driver(searched.ready, folder, seed=fresh_seed, name=name_of) as drives:
        with open_ledger(folder / LEDGERS / f"e{number:04}", header) as ledger:
            recorded = Recorded(ledger, drives.few_at_a_time, progress)
            shrunk = shrink(
                finding,
                drives.evaluate,
                searched.ready.search.space,
                repeats=repeats,
                budget=settings.budget,
                source=source_of(searched, finding.candidate.values),
                mapper=recorded,
            )
            smallest = Evaluation(Candidate(number, shrunk.values, 0), finding.outcome)
            (confirmation,) = confirm([smallest], drives.evaluate, repeats, mapper=recorded)
        failed = first_failed(drives, smallest, repeats)
    attribution = None
    if failed is not None and settings.cells and searched.ready.condition_of(shrunk.values):
        attribution = windows_of(folder, failed, searched.ready.campaign, settings)
    return ShrunkFinding(
        number=number,
        outcome=finding.outcome.outcome,
        shrunk=shrunk,
        confirmation=confirmation,
        attribution=attribution,
    )


def source_of(searched: Searched, values: Values) -> dict[str, float | str]:
    """Return the values that the campaign has without the search."""
    ready = searched.ready
    name = ready.route_of(values)
    (assignment,) = (one for one in ready.assignments if one.route.name == name)
    return ready.template.source(ready.search.space, assignment)


def first_failed(drives: Driver, smallest: Evaluation, repeats: Repeats) -> AttemptKey | None:
    """Return the attempt of the first repeat at the smallest values that failed alike."""
    number, values = smallest.candidate.number, smallest.candidate.values
    for candidate in repeated(number, values, repeats, name="confirm"):
        if same_failure(smallest.outcome, drives.evaluate(candidate)):
            return drives.key(candidate)
    return None


def windows_of(
    folder: Path, key: AttemptKey, campaign: Settings, settings: Shrinking
) -> Attribution:
    """Return what an attempt's twins show."""
    violation = Campaign(folder).result(key)["crucible"]["violation"]
    cells = grid(violation["frame"], campaign["perceive_every"], settings.cells)
    workers = campaign["executor"].get("workers", 1)
    twins = Twins(folder, workers, "quiet", trust=True)  # `read_search` has checked the folder
    return attribute(twins, key, kind=violation["kind"], cells=cells, placebos=settings.placebos)


def chosen_findings(
    searched: Searched, confirmations: list[Confirmation], numbers: list[int]
) -> list[Evaluation]:
    """Return the findings of these numbers; without any, those that are confirmed."""
    by_number = {one.candidate.number: one for one in searched.evaluations if one.outcome.failed}
    for number in numbers:
        if number not in by_number:
            raise UserError(f"--finding {number}: evaluation {number} did not fail")
    chosen = numbers or [one.number for one in confirmations if one.confirmed]
    return [by_number[number] for number in chosen]
