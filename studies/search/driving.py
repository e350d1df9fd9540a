"""Evaluations driven as attempts of a campaign folder, which every other command can read.

The worker slots stay open from one batch to the next: simulators and the fork server are started
once. What an attempt gave is read from its records, so that it does not matter who drove it when.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from harness.campaign.folder.assignments import write_assignments
from harness.campaign.folder.campaign_folder import (
    load_campaign_header,
    lock_campaign,
    write_header,
)
from harness.campaign.planning.limits import refuse_unnameable
from harness.campaign.planning.plan import SEEDS
from harness.campaign.printing.progress import QuietListener
from harness.campaign.running.executors.interface import Executor, TaskSettings
from harness.campaign.running.executors.local import LocalExecutor
from harness.campaign.running.kept_slots import KeptSlots
from harness.campaign.running.runner import ProgressListener
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.repeatable import make_attempt_environment
from harness.common.errors import UserError
from harness.common.files import refuse_links
from harness.records.arms import NONE
from harness.records.keys import AttemptKey
from harness.records.ledger import iter_ledger_lines, rebuild_ledger
from harness.records.reading import CampaignRecords
from harness.world.simulators import Simulator
from studies.search.behaviour import make_search_outcome
from studies.search.candidates import Evaluate, SearchCandidate, SearchOutcome
from studies.search.configuration import SearchPlan
from studies.search.ledger import LEDGER_FILE
from studies.search.objectives import AttemptRecords

LEDGER_FOLDER = "search"
"""The folder, in a campaign's, with the ledger of what was evaluated."""
CAMPAIGN_HEADER_FILE = "campaign.yaml"
LEFT_BY_A_KILL = {".lock", "logs", "routes", LEDGER_FOLDER}
Name = Callable[[SearchCandidate], str]


def format_numbered_name(candidate: SearchCandidate) -> str:
    """Return the condition's name of an evaluation: its number."""
    return f"e{candidate.number:04}"


def compute_fresh_seed(candidate: SearchCandidate) -> int:
    """Return the seed that an evaluation drives with where worlds differ."""
    return candidate.seed % SEEDS


class SearchDriver:
    """Drives candidates in a campaign folder; `open_driver` makes it, and holds the lock."""

    def __init__(
        self,
        ready: SearchPlan,
        folder: Path,
        *,
        name: Name,
        seed: Callable[[SearchCandidate], int],
        listener: ProgressListener,
    ) -> None:
        self.ready, self.folder, self._name, self._seed = ready, folder, name, seed
        self._listener = listener
        self._executor: Executor = build_part(ready.campaign["executor"], "executor")
        simulator: Simulator = build_part(ready.campaign["simulator"], "simulator")
        self._simulator = simulator.name
        if isinstance(self._executor, LocalExecutor):
            simulator.refuse_town(ready.town)
        self._conditions: dict[str, list[Any]] = {NONE: []}
        self._known: Mapping[str, Any] = {}  # settings in the folder
        self._slots = KeptSlots(self._executor)

    @property
    def workers(self) -> int:
        """Attempts at a time."""
        return self._executor.workers

    def make_attempt_key(self, candidate: SearchCandidate) -> AttemptKey:
        """Return the attempt of an evaluation."""
        route = self.ready.get_route(candidate.values)
        return AttemptKey(self.ready.make_arm(self._name(candidate)), route, self._seed(candidate))

    def map_candidates(
        self, evaluate: Evaluate, candidates: Sequence[SearchCandidate]
    ) -> Iterator[SearchOutcome]:
        """Drive all candidates that have no result, and yield what they gave, in order."""
        self._drive_candidates(candidates)
        return map(evaluate, candidates)

    def map_in_small_batches(
        self, evaluate: Evaluate, candidates: Sequence[SearchCandidate]
    ) -> Iterator[SearchOutcome]:
        """Drive as many as there are workers, and go on only if more outcomes are asked for."""
        for first in range(0, len(candidates), self.workers):
            yield from self.map_candidates(evaluate, candidates[first : first + self.workers])

    def evaluate_candidate(self, candidate: SearchCandidate) -> SearchOutcome:
        """Return what a driven candidate gave, from its records; without any, why it failed."""
        key = self.make_attempt_key(candidate)
        attempt = CampaignRecords(self.folder).find_attempts().get(key)
        if attempt is None:
            return SearchOutcome(outcome=self._get_last_failure(key), failed=False)
        return make_search_outcome(
            AttemptRecords.from_attempt(attempt, self.ready.campaign["tick"])
        )

    def _get_last_failure(self, key: AttemptKey) -> str:
        """Return the class of an attempt's last failure."""
        failures = [
            line["failure"]
            for line in iter_ledger_lines(self.folder)
            if AttemptKey.from_record(line) == key
        ]
        if not failures:
            raise UserError(f"{self.folder}: {key} was not driven")
        return str(failures[-1])

    def _drive_candidates(self, candidates: Sequence[SearchCandidate]) -> None:
        keys = [self.make_attempt_key(candidate) for candidate in candidates]
        refuse_unnameable(keys)
        self._make_room(candidates)
        rebuild_ledger(self.folder)
        tries = self.ready.campaign["attempts_per_route"]
        queue = WorkQueue(list(dict.fromkeys(keys)), self.folder, tries, retry_failed=False)
        self._slots.run_queue(queue, self.folder, self._make_task_settings(), self._listener)

    def close(self) -> None:
        """Close the slots: simulators end."""
        self._slots.close()

    def _make_room(self, candidates: Sequence[SearchCandidate]) -> None:
        """Write what the conditions mean, and the routes with the hazards of each."""
        file = self.folder / CAMPAIGN_HEADER_FILE
        if not self._known and file.exists():
            self._known = load_campaign_header(file)["settings"]
            self._conditions = {**self._known["interference"], **self._conditions}
        for candidate in candidates:
            condition = self._name(candidate)
            self._conditions[condition] = self.ready.build_condition(candidate.values)
            assignment = self.ready.get_assignment(candidate.values)
            if self.ready.template.hazards:
                write_assignments(self.folder, [assignment], condition)
        write_assignments(self.folder, self.ready.assignments)
        settings = cast(
            "CampaignSettings", {**self.ready.campaign, "interference": self._conditions}
        )
        if self._known != settings:
            write_header(file, settings, self._simulator, search=self.ready.search.sampler)
            self._known = deepcopy(settings)

    def _make_task_settings(self) -> TaskSettings:
        return TaskSettings(
            folder=self.folder.resolve(),
            town=self.ready.town,
            simulator=self.ready.campaign["simulator"],
            attempt_timeout=self.ready.campaign["attempt_timeout"],
            memory_limit=self._executor.memory_limit,
            environment=make_attempt_environment(self.ready.campaign),
            directory=Path.cwd(),
        )


@contextmanager
def open_driver(
    ready: SearchPlan,
    folder: Path,
    *,
    seed: Callable[[SearchCandidate], int],
    name: Name = format_numbered_name,
    listener: ProgressListener | None = None,
) -> Iterator[SearchDriver]:
    """Return a driver of a folder that nothing else writes; its simulators end with it.

    Args:
        ready: what is driven.
        folder: of the search.
        seed: of an evaluation's attempt.
        name: of an evaluation's condition.
        listener: is called as attempts begin, drive and end; None: nothing is.
    """
    refuse_other_folders(folder)
    made = SearchDriver(ready, folder, name=name, seed=seed, listener=listener or QuietListener())
    with lock_campaign(folder):
        refuse_links(folder)
        try:
            yield made
        finally:
            made.close()


def refuse_other_folders(folder: Path) -> None:
    """Refuse a folder with anything but a search in it."""
    try:
        inside = set(os.listdir(folder)) if folder.exists() else set[str]()  # noqa: PTH208
    except OSError as problem:
        raise UserError(f"{folder}: {problem.strerror}") from None
    if inside - LEFT_BY_A_KILL and not any((folder / LEDGER_FOLDER).rglob(LEDGER_FILE)):
        raise UserError(f"{folder}: not empty and not a search; choose another out=DIR")
