"""A search's folder read again: its settings, its evaluations and what was confirmed of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from harness.campaign.folder.assignments import list_assigned_routes, read_assignment
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.folder.inputs import list_all_file_changes
from harness.campaign.settings.computing import refuse_unrepeatable
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.differences import list_setting_differences
from harness.campaign.settings.trust import refuse_untrusted
from harness.campaign.twins.twins import HERE, refuse_carla, refuse_untrusted_hazards
from harness.common.errors import UserError
from harness.records.arms import NONE
from harness.types.record_names import IRRELEVANT_SETTINGS
from studies.search.archive import make_distinct_key
from studies.search.candidates import SearchCandidate, SearchEvaluation
from studies.search.configuration import SearchPlan, parse_seeds
from studies.search.driving import CAMPAIGN_HEADER_FILE, LEDGER_FOLDER, compute_fresh_seed
from studies.search.ledger import LEDGER_FILE, read_ledger
from studies.search.settings import BehaviourAxis, SearchSettings
from studies.search.template import read_template
from studies.space import SpaceParameter


@dataclass(frozen=True, slots=True)
class FinishedSearch:
    """A finished search."""

    ready: SearchPlan
    evaluations: Sequence[SearchEvaluation]
    digest: str  # of the search's settings

    def get_seed(self, candidate: SearchCandidate) -> int:
        """Return the seed that the search drove an evaluation with."""
        return choose_evaluation_seed(self.ready, candidate)

    @property
    def findings(self) -> list[SearchEvaluation]:
        """Return the first evaluation of every distinct failure, in order."""
        axes, firsts = self.ready.search.behaviour, dict[Any, SearchEvaluation]()
        for evaluation in self.evaluations:
            if evaluation.outcome.failed:
                firsts.setdefault(make_distinct_key(axes, evaluation.outcome), evaluation)
        return list(firsts.values())


def choose_evaluation_seed(ready: SearchPlan, candidate: SearchCandidate) -> int:
    """Return the seed that a search drives an evaluation with."""
    return ready.base_seed if ready.seeds == "same" else compute_fresh_seed(candidate)


def get_ledger_file(folder: Path) -> Path:
    """Return where the ledger of a search, or of a confirmation, lies."""
    return folder / LEDGER_FOLDER / LEDGER_FILE


def read_search(folder: Path, *, workers: int = 1, trust: bool = False) -> FinishedSearch:
    """Return a finished search; one that is not finished or was changed is refused.

    Args:
        folder: of the search.
        workers: attempts at a time, where it is driven further.
        trust: build classes that are not declared safe.

    Returns:
        Its plan and all evaluations.

    Raises:
        UserError: it is not finished, or was changed since.
    """
    file = get_ledger_file(folder)
    if not os.path.lexists(file):
        raise UserError(f"{folder}: not a search (no {LEDGER_FOLDER}/{LEDGER_FILE} in it)")
    header, evaluations = read_ledger(file)
    # the ledger: settings and evaluations, which must be complete
    search = parse_search_settings(file, header["settings"])
    if len(evaluations) < search.budget:
        raise UserError(
            f"{folder}: {len(evaluations)} of {search.budget} evaluations; finish the search first"
        )
    campaign = read_search_campaign(folder, search, workers=workers, trust=trust)
    # the routes as they were laid when the search was driven
    routes = [read_assignment(folder, name) for name in list_assigned_routes(folder)]
    for assignment in routes if not trust else ():
        refuse_untrusted_hazards(folder, assignment)
    ready = SearchPlan(
        campaign=campaign,
        search=search,
        template=read_template(search.evaluation, search.space),
        assignments=tuple(routes),
        seeds=parse_seeds(search.evaluation),
        study={},
        folder=folder,
    )
    return FinishedSearch(ready, evaluations, header["digest"])


def parse_search_settings(file: Path, record: Mapping[str, Any]) -> SearchSettings:
    """Return the settings of a search's ledger."""
    try:
        space = tuple(
            SpaceParameter(**{**one, "choices": tuple(one["choices"])}) for one in record["space"]
        )
        axes = tuple(BehaviourAxis(**axis) for axis in record["behaviour"])
        objectives = tuple(record["objectives"])
        rest = {**record, "space": space, "behaviour": axes, "objectives": objectives}
        return SearchSettings(**rest)
    except (KeyError, TypeError) as problem:
        raise UserError(f"{file}: line 1: not a search's settings ({problem})") from None


def read_search_campaign(
    folder: Path, search: SearchSettings, *, workers: int, trust: bool
) -> CampaignSettings:
    """Return the campaign's settings, if the search's ledger has the same."""
    given = load_campaign_header(folder / CAMPAIGN_HEADER_FILE)["settings"]
    refuse_carla(folder, given)
    refuse_unrepeatable(folder, given, "a search")
    if not trust:
        refuse_untrusted(folder, {**given, "executor": HERE, "export": {}})
        refuse_untrusted(folder, {"interference": {"search": search.evaluation["condition"]}})
    campaign = {**given, "interference": {NONE: []}}
    meaning = {name: value for name, value in campaign.items() if name not in IRRELEVANT_SETTINGS}
    for difference in list_setting_differences(search.evaluation["campaign"], meaning):
        raise UserError(f"{folder / CAMPAIGN_HEADER_FILE}: {difference}: changed since the search")
    if changes := list_all_file_changes(cast("CampaignSettings", campaign)):
        raise UserError(f"{folder}: driven with other files: {'; '.join(changes)}")
    executor = {**HERE, "workers": workers}
    return cast("CampaignSettings", {**campaign, "executor": executor, "export": {}})
