"""`crucible search`: a search driven in its folder; and a study of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from harness.errors import UserError
from metamorphic.search.candidates import Evaluation
from metamorphic.search.configuration import SearchPlan, composed, planned_search
from metamorphic.search.confirm import Repeats
from metamorphic.search.confirming import Confirming
from metamorphic.search.driving import LEDGERS, driver
from metamorphic.search.folders import ledger_of, seed_of
from metamorphic.search.ledger import read_ledger
from metamorphic.search.making import SAMPLERS
from metamorphic.search.search import search
from metamorphic.search.type_checks import names_in, only, refusal, whole_in


def run_search(
    ready: SearchPlan, progress: Callable[[Evaluation], object] = lambda _: None
) -> list[Evaluation]:
    """Drive what is left of a search; return all of its evaluations."""
    with driver(ready, ready.folder, seed=lambda one: seed_of(ready, one)) as drives:
        ledger = search(
            ready.search,
            drives.evaluate,
            ready.folder / LEDGERS,
            mapper=drives.mapper,
            progress=progress,
        )
    return read_ledger(ledger)[1]


def done_before(ready: SearchPlan) -> int:
    """Return how many evaluations a search has."""
    file = ledger_of(ready.folder)
    return len(read_ledger(file)[1]) if file.is_file() and file.stat().st_size else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStudy:
    """Searches of several systems and samplers, each with several search seeds."""

    searches: tuple[SearchPlan, ...]  # seed by seed, so that an interrupted study is balanced
    confirming: Confirming
    folder: Path


def planned_study(
    name: str, overrides: Sequence[str], folders: Sequence[Path] = (), *, trust: bool = False
) -> SearchStudy:
    """Return all searches of a configuration's `search.study`; nothing is written."""
    config = composed(name, overrides, folders, trust=trust)
    given = OmegaConf.to_container(config["search"], resolve=False)
    assert isinstance(given, dict)
    study = given.get("study")
    if not isinstance(study, dict):
        raise refusal("study", "is needed for --study: systems, samplers, seeds and confirm")
    only(map_names(study), ("systems", "samplers", "seeds", "confirm"), "study")
    systems = study.get("systems")
    if not isinstance(systems, list) or not systems:
        raise refusal("study.systems", f"= {systems}: must be a list of systems")
    seeds = study.get("seeds")
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
        raise refusal("study.seeds", f"= {seeds}: must be a list of whole numbers")
    samplers = names_in(study.get("samplers"), "study.samplers", SAMPLERS)
    out = Path(config["out"] or f"runs/{config['study']['name']}-study")
    searches = tuple(
        planned_search(
            composed(
                name,
                [
                    *overrides,
                    f"system={system}",
                    f"search.sampler={sampler}",
                    f"search.seed={seed}",
                    f"out={quoted(out / system / f'{sampler}-s{seed}')}",
                ],
                folders,
                trust=trust,
            )
        )
        for seed in seeds
        for system in systems
        for sampler in samplers
    )
    return SearchStudy(searches=searches, confirming=confirming_of(study), folder=out)


def confirming_of(study: dict[str, object]) -> Confirming:
    """Return what a study confirms."""
    given = study.get("confirm")
    if not isinstance(given, dict):
        raise refusal("study.confirm", "must have most, redraws and least")
    only(map_names(given), ("most", "redraws", "least"), "study.confirm")
    most, redraws, least = (
        whole_in(map_names(given), name, "study.confirm") for name in ("most", "redraws", "least")
    )
    return Confirming(repeats=Repeats(count=redraws, least=least), most=most)


def map_names(given: dict[object, object]) -> dict[str, object]:
    """Return a mapping with names as text."""
    return {str(name): value for name, value in given.items()}


def quoted(path: Path) -> str:
    """Return a path as Hydra's overrides have it."""
    if "'" in str(path):
        raise UserError(f"out = {path}: must have no quotation mark")
    return f"'{path}'"
