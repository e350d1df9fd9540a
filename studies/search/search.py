"""A search: a sampler asks for candidates, they are evaluated, the ledger keeps what they gave.

Batches are of one size and are reported in the order in which they were asked for: the ledger does
not depend on the number of workers. An interrupted search is resumed by asking the sampler again
for what the ledger holds.

`crucible search`: a search driven in its folder; and a study of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from harness.common.errors import UserError
from studies.search.candidates import (
    Evaluate,
    Mapper,
    SearchCandidate,
    SearchEvaluation,
    SearchOutcome,
)
from studies.search.configuration import SearchPlan, compose_search_config, plan_search
from studies.search.confirm import ConfirmationSettings, RepeatRule
from studies.search.driving import LEDGER_FOLDER, open_driver
from studies.search.folders import choose_evaluation_seed, get_ledger_file
from studies.search.following import DrivenEvaluations, SearchFollower
from studies.search.ledger import (
    SearchLedger,
    count_ledger_evaluations,
    make_search_header,
    open_ledger,
    read_ledger,
)
from studies.search.making import SAMPLERS, list_sampler_versions, make_sampler
from studies.search.setting_checks import (
    check_known_names,
    get_whole_number,
    make_settings_error,
    refuse_unknown_keys,
)
from studies.search.settings import SearchSettings

GUIDED = ("tpe",)
"""Samplers of which searches have been measured, and whose evaluations become shorter."""
SHORTER = 0.15
"""Share of the time of a random evaluation that a guided one does not take (decision 0143)."""
SETTLED = 16
"""Known outcomes from which evaluations become no shorter."""


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
        # what is recorded is asked for again: the sampler comes to the same state
        if len(ledger.evaluations) > settings.budget:
            raise UserError(f"{ledger.file}: more evaluations than budget = {settings.budget}")
        # batch by batch
        for first in range(0, settings.budget, settings.batch):
            candidates = sampler.ask(settings.batch)
            known = ledger.evaluations[first : first + settings.batch]
            refuse_other_candidates(ledger, known, candidates)
            outcomes = [evaluation.outcome for evaluation in known]
            remaining = candidates[len(known) :]
            # evaluate what the ledger does not have
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


def drive_search(
    ready: SearchPlan, follower: SearchFollower | None = None
) -> list[SearchEvaluation]:
    """Drive what is left of a search; return all of its evaluations."""
    follower = follower or SearchFollower()
    with open_driver(
        ready,
        ready.folder,
        seed=lambda one: choose_evaluation_seed(ready, one),
        listener=follower,
    ) as drives:
        ledger = run_search_loop(
            ready.search,
            drives.evaluate_candidate,
            ready.folder / LEDGER_FOLDER,
            mapper=drives.map_candidates,
            progress=follower.note_evaluation,
        )
    return read_ledger(ledger)[1]


def describe_search(ready: SearchPlan) -> DrivenEvaluations:
    """Return what a search drives, and how much of it is done."""
    search = ready.search
    names = ", ".join(parameter.name for parameter in search.space)
    (system,) = ready.campaign["system"]
    return DrivenEvaluations(
        plan=f"{search.budget} evaluations of {system} in {ready.town}, {search.batch} at a time"
        f" proposed by {search.sampler} (seed {search.seed}): {names}",
        total=search.budget,
        done=count_done_evaluations(ready),
        shares=tuple(list_expected_shares(search)),
    )


def list_expected_shares(search: SearchSettings) -> list[float]:
    """Return what each evaluation is expected to take, as a share of a random one.

    A guided search comes upon more failures the more outcomes it knows, and a drive that fails ends
    early.
    """
    return [
        1 - SHORTER * min(number / SETTLED, 1.0)
        if search.sampler in GUIDED and number >= search.startup
        else 1.0
        for number in range(search.budget)
    ]


def count_done_evaluations(ready: SearchPlan) -> int:
    """Return how many evaluations a search has."""
    return count_ledger_evaluations(get_ledger_file(ready.folder))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStudy:
    """Searches of several systems and samplers, each with several search seeds."""

    searches: tuple[SearchPlan, ...]  # seed by seed, so that an interrupted study is balanced
    confirming: ConfirmationSettings
    folder: Path


def plan_search_study(
    name: str, overrides: Sequence[str], folders: Sequence[Path] = (), *, trust: bool = False
) -> SearchStudy:
    """Return all searches of a configuration's `search.study`; nothing is written."""
    # which searches
    config = compose_search_config(name, overrides, folders, trust=trust)
    given = OmegaConf.to_container(config["search"], resolve=False)
    assert isinstance(given, dict)
    study = given.get("study")
    if not isinstance(study, dict):
        raise make_settings_error(
            "study", "is needed for --study: systems, samplers, seeds and confirm"
        )
    refuse_unknown_keys(
        convert_names_to_text(study), ("systems", "samplers", "seeds", "confirm"), "study"
    )
    systems = study.get("systems")
    if not isinstance(systems, list) or not systems:
        raise make_settings_error("study.systems", f"= {systems}: must be a list of systems")
    seeds = study.get("seeds")
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
        raise make_settings_error("study.seeds", f"= {seeds}: must be a list of whole numbers")
    samplers = check_known_names(study.get("samplers"), "study.samplers", SAMPLERS)
    # a folder for each, below one
    out = Path(config["out"] or f"runs/{config['study']['name']}-study")
    searches = tuple(
        plan_search(
            compose_search_config(
                name,
                [
                    *overrides,
                    f"system={system}",
                    f"search.sampler={sampler}",
                    f"search.seed={seed}",
                    f"out={quote_path(out / system / f'{sampler}-s{seed}')}",
                ],
                folders,
                trust=trust,
            )
        )
        for seed in seeds
        for system in systems
        for sampler in samplers
    )
    return SearchStudy(searches=searches, confirming=parse_confirmation_settings(study), folder=out)


def parse_confirmation_settings(study: dict[str, object]) -> ConfirmationSettings:
    """Return what a study confirms."""
    given = study.get("confirm")
    if not isinstance(given, dict):
        raise make_settings_error("study.confirm", "must have most, redraws and least")
    refuse_unknown_keys(convert_names_to_text(given), ("most", "redraws", "least"), "study.confirm")
    most, redraws, least = (
        get_whole_number(convert_names_to_text(given), name, "study.confirm")
        for name in ("most", "redraws", "least")
    )
    return ConfirmationSettings(repeats=RepeatRule(count=redraws, least=least), most=most)


def convert_names_to_text(given: dict[object, object]) -> dict[str, object]:
    """Return a mapping with names as text."""
    return {str(name): value for name, value in given.items()}


def quote_path(path: Path) -> str:
    """Return a path as Hydra's overrides have it."""
    if "'" in str(path):
        raise UserError(f"out = {path}: must have no quotation mark")
    return f"'{path}'"
