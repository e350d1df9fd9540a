"""The smallest change that still fails: parameters are moved towards the source, one by one.

Each parameter is set to its source value if the failure still happens there; otherwise half of the
distance is tried, then half of what is left, up to the border of the failures. The result is
confirmed with further seeds afterwards: here a failure has many chances to happen.

`crucible shrink`: the smallest values at which a finding still happens, and when they must act.

Each finding has a ledger of its own. Windows are searched by twins, as `crucible attribute` does,
of one failed repeat at the smallest values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.twins.twins import CampaignTwins
from harness.common.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from studies.attribution.driving import AttemptAttribution, compute_attribution, split_into_windows
from studies.search.candidates import Evaluate, Mapper, SearchCandidate, SearchEvaluation
from studies.search.confirm import (
    FindingConfirmation,
    RepeatRule,
    confirm_findings,
    is_same_failure,
    make_repeats,
)
from studies.search.driving import LEDGER_FOLDER, SearchDriver, compute_fresh_seed, open_driver
from studies.search.folders import FinishedSearch
from studies.search.following import DrivenEvaluations, SearchFollower
from studies.search.ledger import (
    LEDGER_FILE,
    count_ledger_evaluations,
    make_ledger_header,
    open_ledger,
)
from studies.search.recorded import RecordedMapper
from studies.search.settings import compute_record_digest
from studies.space import Space, SpaceParameter, Values, get_numeric_value

TOLERANCE = 0.02
"""Of a parameter's range: a smaller distance to the border is not halved again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkResult:
    """Where shrinking arrived."""

    values: Values
    held: bool  # whether the failure happened often enough before anything was moved
    evaluations: int
    complete: bool  # False: the budget was spent before


class _SpentError(Exception):
    """No budget for another probe."""


def shrink_values(
    finding: SearchEvaluation,
    evaluate: Evaluate,
    space: Space,
    *,
    repeats: RepeatRule,
    budget: int,
    source: Values | None = None,
    mapper: Mapper = map,
) -> ShrinkResult:
    """Move a failure's values towards the source's while it happens in enough repeats.

    `budget` is in evaluations. Without `source` values move towards 0, or the end of the range next
    to it; a choice stays as it is.
    """
    probes = _FailureProbes(finding, evaluate, repeats, budget=budget, mapper=mapper)
    values = dict(finding.candidate.values)
    goal = choose_neutral_values(space, values) | dict(source or {})
    held = complete = False
    try:
        held = probes.is_failing(values)
        complete = not held
        while not complete:
            before = dict(values)
            for parameter in space:
                _move_parameter(parameter, values, goal[parameter.name], probes.is_failing)
            complete = _is_close(space, before, values)
    except _SpentError:
        pass
    return ShrinkResult(values=values, held=held, evaluations=probes.spent, complete=complete)


class _FailureProbes:
    """Asks whether the failure happens at some values; counts what that takes."""

    def __init__(
        self,
        finding: SearchEvaluation,
        evaluate: Evaluate,
        repeats: RepeatRule,
        *,
        budget: int,
        mapper: Mapper,
    ) -> None:
        self._finding, self._evaluate, self._repeats = finding, evaluate, repeats
        self._budget, self._mapper = budget, mapper
        self._probe = 0
        self.spent = 0

    def is_failing(self, values: Values) -> bool:
        """Return whether the failure happens often enough; stops once that is decided."""
        count, least = self._repeats.count, self._repeats.least
        if self.spent + count > self._budget:
            raise _SpentError
        name = f"shrink/{self._probe}"
        candidates = make_repeats(
            self._finding.candidate.number, dict(values), self._repeats, name=name
        )
        self._probe += 1
        failures = 0
        for left, outcome in zip(
            reversed(range(count)), self._mapper(self._evaluate, candidates), strict=True
        ):
            self.spent += 1
            failures += is_same_failure(self._finding.outcome, outcome)
            if failures >= least or failures + left < least:
                break
        return failures >= least


def _move_parameter(
    parameter: SpaceParameter,
    values: dict[str, float | str],
    goal: float | str,
    fails: Callable[[Values], bool],
) -> None:
    """Move one parameter towards its goal; `values` always hold the last that failed."""
    name = parameter.name
    if values[name] == goal:
        return
    if fails({**values, name: goal}):
        values[name] = goal
        return
    if isinstance(goal, str):
        return
    passing = goal
    while (
        middle := compute_halfway_value(parameter, passing, get_numeric_value(values, name))
    ) is not None:
        if fails({**values, name: middle}):
            values[name] = middle
        else:
            passing = middle


def compute_halfway_value(
    parameter: SpaceParameter, passing: float, failing: float
) -> float | None:
    """Return the value halfway between two; None if they are close."""
    if parameter.kind == "whole":
        return float(round((passing + failing) / 2)) if abs(passing - failing) > 1 else None
    if parameter.kind == "log":
        if abs(math.log(failing / passing)) <= TOLERANCE * math.log(parameter.high / parameter.low):
            return None
        return math.sqrt(passing * failing)
    if abs(passing - failing) <= TOLERANCE * (parameter.high - parameter.low):
        return None
    return (passing + failing) / 2


def choose_neutral_values(space: Space, values: Values) -> dict[str, float | str]:
    """Return the values nearest to no change: 0 where the range has it; choices as they are."""
    return {
        one.name: values[one.name]
        if one.kind == "choice"
        else float(min(max(0.0, one.low), one.high))
        for one in space
    }


def _is_close(space: Space, before: Values, after: Values) -> bool:
    """Return whether a round moved no parameter by more than the tolerance."""
    return all(
        before[one.name] == after[one.name]
        or (
            one.kind in {"number", "log"}
            and compute_halfway_value(
                one, get_numeric_value(before, one.name), get_numeric_value(after, one.name)
            )
            is None
        )
        for one in space
    )


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


def describe_probes(
    searched: FinishedSearch, finding: SearchEvaluation, settings: ShrinkSettings
) -> DrivenEvaluations:
    """Return what is driven to shrink a finding: probes, then repeats of the smallest values."""
    number, repeats = finding.candidate.number, settings.repeats.count
    return DrivenEvaluations(
        plan=f"smallest values of evaluation {number}: up to {settings.budget} drives, and"
        f" {repeats} with other seeds",
        total=settings.budget + repeats,
        done=count_ledger_evaluations(
            searched.ready.folder / SHRINK / LEDGER_FOLDER / f"e{number:04}" / LEDGER_FILE
        ),
        at_most=True,
        word="drive",
    )


def shrink_finding(
    searched: FinishedSearch,
    finding: SearchEvaluation,
    settings: ShrinkSettings,
    follower: SearchFollower | None = None,
) -> ShrunkFinding:
    """Shrink one finding; a ledger holds every probe, so that it is resumed."""
    folder = searched.ready.folder / SHRINK
    follower = follower or SearchFollower()
    number = finding.candidate.number
    repeats = settings.repeats
    # a ledger for each finding, with the settings that its probes depend on
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
        searched.ready,
        folder,
        seed=compute_fresh_seed,
        name=format_probe_name,
        listener=follower,
    ) as drives:
        with open_ledger(folder / LEDGER_FOLDER / f"e{number:04}", header) as ledger:
            recorded = RecordedMapper(ledger, drives.map_in_small_batches, follower.note_evaluation)
            # shrink values, then confirm the smallest in new worlds
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
    # twins of one failed drive: when the disturbance must act
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
