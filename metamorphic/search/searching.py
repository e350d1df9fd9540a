"""`crucible search`: a search driven in its folder; and a study of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from harness.errors import UserError
from metamorphic.search.candidates import SearchEvaluation
from metamorphic.search.configuration import SearchPlan, compose_search_config, plan_search
from metamorphic.search.confirm import RepeatRule
from metamorphic.search.confirming import ConfirmationSettings
from metamorphic.search.driving import LEDGER_FOLDER, open_driver
from metamorphic.search.folders import choose_evaluation_seed, get_ledger_file
from metamorphic.search.ledger import read_ledger
from metamorphic.search.making import SAMPLERS
from metamorphic.search.search import run_search_loop
from metamorphic.search.type_checks import (
    check_known_names,
    get_whole_number,
    make_settings_error,
    refuse_unknown_keys,
)


def drive_search(
    ready: SearchPlan, progress: Callable[[SearchEvaluation], object] = lambda _: None
) -> list[SearchEvaluation]:
    """Drive what is left of a search; return all of its evaluations."""
    with open_driver(
        ready, ready.folder, seed=lambda one: choose_evaluation_seed(ready, one)
    ) as drives:
        ledger = run_search_loop(
            ready.search,
            drives.evaluate_candidate,
            ready.folder / LEDGER_FOLDER,
            mapper=drives.map_candidates,
            progress=progress,
        )
    return read_ledger(ledger)[1]


def count_done_evaluations(ready: SearchPlan) -> int:
    """Return how many evaluations a search has."""
    file = get_ledger_file(ready.folder)
    return len(read_ledger(file)[1]) if file.is_file() and file.stat().st_size else 0


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
