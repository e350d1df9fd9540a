"""`crucible shrink`: the smallest values at which a finding still happens, and when they must act.

Each finding has a ledger of its own. Windows are searched by twins, as `crucible attribute` does,
of one failed repeat at the smallest values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.twins.attribution import (
    AttemptAttribution,
    compute_attribution,
    split_into_windows,
)
from harness.campaign.twins.twins import CampaignTwins
from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from metamorphic.search.candidates import SearchCandidate, SearchEvaluation
from metamorphic.search.confirm import (
    FindingConfirmation,
    RepeatRule,
    confirm_findings,
    is_same_failure,
    make_repeats,
)
from metamorphic.search.driving import LEDGER_FOLDER, SearchDriver, compute_fresh_seed, open_driver
from metamorphic.search.folders import FinishedSearch
from metamorphic.search.ledger import make_ledger_header, open_ledger
from metamorphic.search.recorded import RecordedMapper
from metamorphic.search.settings import compute_record_digest
from metamorphic.search.shrink import ShrinkResult, shrink_values
from metamorphic.space import Values

SHRINK = "shrink"
"""The folder in that of the search, a campaign folder itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkSettings:
    """How much shrinking may cost."""

    repeats: RepeatRule
    budget: int = 60  # evaluations for a finding
    cells: int = 6  # windows up to the violation; 0: no windows
    placebos: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkFinding:
    """A finding at its smallest values."""

    number: int
    outcome: str
    shrunk: ShrinkResult
    confirmation: FindingConfirmation  # at the smallest values, with further seeds
    attribution: AttemptAttribution | None  # none without a disturbance, or without a failed repeat


def format_probe_name(candidate: SearchCandidate) -> str:
    """Return the condition's name of a probe: the finding's number, and a digest of the values."""
    return f"e{candidate.number:04}-{compute_record_digest(dict(candidate.values))[:8]}"


def shrink_finding(
    searched: FinishedSearch,
    finding: SearchEvaluation,
    settings: ShrinkSettings,
    progress: Callable[[SearchEvaluation], object] = lambda _: None,
) -> ShrunkFinding:
    """Shrink one finding; a ledger holds every probe, so that it is resumed."""
    folder = searched.ready.folder / SHRINK
    number = finding.candidate.number
    repeats = settings.repeats
    header = make_ledger_header(
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
    with open_driver(
        searched.ready, folder, seed=compute_fresh_seed, name=format_probe_name
    ) as drives:
        with open_ledger(folder / LEDGER_FOLDER / f"e{number:04}", header) as ledger:
            recorded = RecordedMapper(ledger, drives.map_in_small_batches, progress)
            shrunk = shrink_values(
                finding,
                drives.evaluate_candidate,
                searched.ready.search.space,
                repeats=repeats,
                budget=settings.budget,
                source=find_source_values(searched, finding.candidate.values),
                mapper=recorded,
            )
            smallest = SearchEvaluation(SearchCandidate(number, shrunk.values, 0), finding.outcome)
            (confirmation,) = confirm_findings(
                [smallest], drives.evaluate_candidate, repeats, mapper=recorded
            )
        failed = find_first_failed(drives, smallest, repeats)
    attribution = None
    if failed is not None and settings.cells and searched.ready.build_condition(shrunk.values):
        attribution = find_twin_windows(folder, failed, searched.ready.campaign, settings)
    return ShrunkFinding(
        number=number,
        outcome=finding.outcome.outcome,
        shrunk=shrunk,
        confirmation=confirmation,
        attribution=attribution,
    )


def find_source_values(searched: FinishedSearch, values: Values) -> dict[str, float | str]:
    """Return the values that the campaign has without the search."""
    ready = searched.ready
    name = ready.get_route(values)
    (assignment,) = (one for one in ready.assignments if one.route.name == name)
    return ready.template.get_source_values(ready.search.space, assignment)


def find_first_failed(
    drives: SearchDriver, smallest: SearchEvaluation, repeats: RepeatRule
) -> AttemptKey | None:
    """Return the attempt of the first repeat at the smallest values that failed alike."""
    number, values = smallest.candidate.number, smallest.candidate.values
    for candidate in make_repeats(number, values, repeats, name="confirm"):
        if is_same_failure(smallest.outcome, drives.evaluate_candidate(candidate)):
            return drives.make_attempt_key(candidate)
    return None


def find_twin_windows(
    folder: Path, key: AttemptKey, campaign: CampaignSettings, settings: ShrinkSettings
) -> AttemptAttribution:
    """Return what an attempt's twins show."""
    violation = CampaignRecords(folder).read_result(key)["crucible"]["violation"]
    cells = split_into_windows(violation["frame"], campaign["perceive_every"], settings.cells)
    workers = campaign["executor"].get("workers", 1)
    twins = CampaignTwins(
        folder, workers, "quiet", trust=True
    )  # `read_search` has checked the folder
    return compute_attribution(
        twins, key, kind=violation["kind"], cells=cells, placebos=settings.placebos
    )


def select_findings_to_shrink(
    searched: FinishedSearch, confirmations: list[FindingConfirmation], numbers: list[int]
) -> list[SearchEvaluation]:
    """Return the findings of these numbers; without any, those that are confirmed."""
    by_number = {one.candidate.number: one for one in searched.evaluations if one.outcome.failed}
    for number in numbers:
        if number not in by_number:
            raise UserError(f"--finding {number}: evaluation {number} did not fail")
    chosen = numbers or [one.number for one in confirmations if one.confirmed]
    return [by_number[number] for number in chosen]
