"""A search's folder read again: its settings, its evaluations and what was confirmed of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from harness.campaign.folder.assignments import assigned_routes, read_assignment
from harness.campaign.folder.campaign_folder import read_header
from harness.campaign.folder.inputs import other_files
from harness.campaign.settings.config import NOT_OF_THE_RESULT
from harness.campaign.settings.declared import Settings
from harness.campaign.settings.differences import differences
from harness.campaign.settings.trust import refuse_untrusted
from harness.campaign.twins.twins import HERE, refuse_carla, refuse_untrusted_hazards
from harness.errors import UserError
from harness.records.arms import NONE
from metamorphic.search.archive import distinct_key
from metamorphic.search.candidates import Candidate, Evaluation
from metamorphic.search.configuration import SearchPlan, seeds_of
from metamorphic.search.driving import HEADER, LEDGERS, fresh_seed
from metamorphic.search.ledger import LEDGER, read_ledger
from metamorphic.search.settings import BehaviourAxis, SearchSettings
from metamorphic.search.template import read_template
from metamorphic.space import Parameter


@dataclass(frozen=True, slots=True)
class Searched:
    """A finished search."""

    ready: SearchPlan
    evaluations: Sequence[Evaluation]
    digest: str  # of the search's settings

    def seed(self, candidate: Candidate) -> int:
        """Return the seed that the search drove an evaluation with."""
        return seed_of(self.ready, candidate)

    @property
    def findings(self) -> list[Evaluation]:
        """Return the first evaluation of every distinct failure, in order."""
        axes, firsts = self.ready.search.behaviour, dict[Any, Evaluation]()
        for evaluation in self.evaluations:
            if evaluation.outcome.failed:
                firsts.setdefault(distinct_key(axes, evaluation.outcome), evaluation)
        return list(firsts.values())


def seed_of(ready: SearchPlan, candidate: Candidate) -> int:
    """Return the seed that a search drives an evaluation with."""
    return ready.base_seed if ready.seeds == "same" else fresh_seed(candidate)


def ledger_of(folder: Path) -> Path:
    """Return where the ledger of a search, or of a confirmation, lies."""
    return folder / LEDGERS / LEDGER


def read_search(folder: Path, *, workers: int = 1, trust: bool = False) -> Searched:
    """Return a finished search; one that is not finished or was changed is refused."""
    file = ledger_of(folder)
    if not os.path.lexists(file):
        raise UserError(f"{folder}: not a search (no {LEDGERS}/{LEDGER} in it)")
    header, evaluations = read_ledger(file)
    search = settings_in(file, header["settings"])
    if len(evaluations) < search.budget:
        raise UserError(
            f"{folder}: {len(evaluations)} of {search.budget} evaluations; finish the search first"
        )
    campaign = campaign_in(folder, search, workers=workers, trust=trust)
    routes = [read_assignment(folder, name) for name in assigned_routes(folder)]
    for assignment in routes if not trust else ():
        refuse_untrusted_hazards(folder, assignment)
    ready = SearchPlan(
        campaign=campaign,
        search=search,
        template=read_template(search.evaluation, search.space),
        assignments=tuple(routes),
        seeds=seeds_of(search.evaluation),
        study={},
        folder=folder,
    )
    return Searched(ready, evaluations, header["digest"])


def settings_in(file: Path, record: Mapping[str, Any]) -> SearchSettings:
    """Return the settings of a search's ledger."""
    try:
        space = tuple(
            Parameter(**{**one, "choices": tuple(one["choices"])}) for one in record["space"]
        )
        axes = tuple(BehaviourAxis(**axis) for axis in record["behaviour"])
        objectives = tuple(record["objectives"])
        rest = {**record, "space": space, "behaviour": axes, "objectives": objectives}
        return SearchSettings(**rest)
    except (KeyError, TypeError) as problem:
        raise UserError(f"{file}: line 1: not a search's settings ({problem})") from None


def campaign_in(folder: Path, search: SearchSettings, *, workers: int, trust: bool) -> Settings:
    """Return the campaign's settings, if the search's ledger has the same."""
    given = read_header(folder / HEADER)["settings"]
    refuse_carla(folder, given)
    if not trust:
        refuse_untrusted(folder, {**given, "executor": HERE, "export": {}})
        refuse_untrusted(folder, {"interference": {"search": search.evaluation["condition"]}})
    campaign = {**given, "interference": {NONE: []}}
    meaning = {name: value for name, value in campaign.items() if name not in NOT_OF_THE_RESULT}
    for difference in differences(search.evaluation["campaign"], meaning):
        raise UserError(f"{folder / HEADER}: {difference}: changed since the search")
    if changes := other_files(cast("Settings", campaign), given["system"]):
        raise UserError(f"{folder}: driven with other files: {'; '.join(changes)}")
    executor = {**HERE, "workers": workers}
    return cast("Settings", {**campaign, "executor": executor, "export": {}})
