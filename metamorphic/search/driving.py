"""Evaluations driven as attempts of a campaign folder, which every other command can read.

The worker slots stay open from one batch to the next: simulators and the fork server are started
once. What an attempt gave is read from its records, so that it does not matter who drove it when.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from harness.campaign.attempt import tasks
from harness.campaign.folder.assignments import write_assignments
from harness.campaign.folder.campaign_folder import locked, read_header, write_header
from harness.campaign.planning.plan import SEEDS, refuse_unnameable
from harness.campaign.printing.progress import Nothing
from harness.campaign.running.executors.interface import Executor, TaskSettings, WorkerSlot
from harness.campaign.running.executors.local import LocalExecutor
from harness.campaign.running.runner import Runner
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.config import build
from harness.campaign.settings.declared import Settings
from harness.environments import passed_on
from harness.errors import UserError
from harness.files import refuse_links
from harness.records.arms import NONE
from harness.records.keys import AttemptKey
from harness.records.ledger import lines, rebuild
from harness.records.reading import Campaign
from harness.world.simulators import Simulator
from metamorphic.search.behaviour import outcome_of
from metamorphic.search.candidates import Candidate, Evaluate, Outcome
from metamorphic.search.configuration import SearchPlan
from metamorphic.search.ledger import LEDGER
from metamorphic.search.objectives import Records

LEDGERS = "search"
"""The folder, in a campaign's, with the ledger of what was evaluated."""
HEADER = "campaign.yaml"
LEFT_BY_A_KILL = {".lock", "logs", "routes", LEDGERS}
Name = Callable[[Candidate], str]


def numbered_name(candidate: Candidate) -> str:
    """Return the condition's name of an evaluation: its number."""
    return f"e{candidate.number:04}"


def fresh_seed(candidate: Candidate) -> int:
    """Return the seed that an evaluation drives with where worlds differ."""
    return candidate.seed % SEEDS


class KeptSlot:
    """A worker slot that stays open when a runner closes it."""

    def __init__(self, slot: WorkerSlot) -> None:
        self._slot = slot

    def do(self, key: AttemptKey, number: int) -> tasks.Outcome:
        """Run one try."""
        return self._slot.do(key, number)

    def position(self) -> tasks.Position | None:
        """Return how far the current try has driven."""
        return self._slot.position()

    def stop(self) -> None:
        """Stop the current try."""
        self._slot.stop()

    def close(self) -> None:
        """Stay open for the next batch."""


class Driver:
    """Drives candidates in a campaign folder; made by `driver`, which holds the folder's lock."""

    def __init__(
        self, ready: SearchPlan, folder: Path, *, name: Name, seed: Callable[[Candidate], int]
    ) -> None:
        self.ready, self.folder, self._name, self._seed = ready, folder, name, seed
        self._executor: Executor = build(ready.campaign["executor"], "executor")
        simulator: Simulator = build(ready.campaign["simulator"], "simulator")
        self._simulator = simulator.name
        if isinstance(self._executor, LocalExecutor):
            simulator.refuse_town(ready.town)
        self._conditions: dict[str, list[Any]] = {NONE: []}
        self._known: Mapping[str, Any] = {}  # settings in the folder
        self._stack = ExitStack()
        self._slots: list[WorkerSlot] = []

    @property
    def workers(self) -> int:
        """Attempts at a time."""
        return self._executor.workers

    def key(self, candidate: Candidate) -> AttemptKey:
        """Return the attempt of an evaluation."""
        route = self.ready.route_of(candidate.values)
        return AttemptKey(self.ready.arm(self._name(candidate)), route, self._seed(candidate))

    def mapper(self, evaluate: Evaluate, candidates: Sequence[Candidate]) -> Iterator[Outcome]:
        """Drive all candidates that have no result, and yield what they gave, in order."""
        self._drive(candidates)
        return map(evaluate, candidates)

    def few_at_a_time(
        self, evaluate: Evaluate, candidates: Sequence[Candidate]
    ) -> Iterator[Outcome]:
        """Drive as many as there are workers, and go on only if more outcomes are asked for."""
        for first in range(0, len(candidates), self.workers):
            yield from self.mapper(evaluate, candidates[first : first + self.workers])

    def evaluate(self, candidate: Candidate) -> Outcome:
        """Return what a driven candidate gave, from its records; without any, why it failed."""
        key = self.key(candidate)
        attempt = Campaign(self.folder).attempts().get(key)
        if attempt is None:
            return Outcome(outcome=self._failure(key), failed=False)
        return outcome_of(Records.of(attempt, self.ready.campaign["tick"]))

    def _failure(self, key: AttemptKey) -> str:
        """Return the class of an attempt's last failure."""
        failures = [
            line["failure"] for line in lines(self.folder) if AttemptKey.of_record(line) == key
        ]
        if not failures:
            raise UserError(f"{self.folder}: {key} was not driven")
        return str(failures[-1])

    def _drive(self, candidates: Sequence[Candidate]) -> None:
        keys = [self.key(candidate) for candidate in candidates]
        refuse_unnameable(keys)
        self._make_room(candidates)
        rebuild(self.folder)
        tries = self.ready.campaign["attempts_per_route"]
        queue = WorkQueue(list(dict.fromkeys(keys)), self.folder, tries, retry_failed=False)
        if not queue:
            return
        if not self._slots:
            work = self._task_settings()
            self._slots = self._stack.enter_context(self._executor.slots(work, self.workers))
        kept = [KeptSlot(slot) for slot in self._slots]
        try:
            Runner(self.folder, queue, kept, Nothing()).run()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the slots: simulators end."""
        slots, self._slots = self._slots, []
        for slot in slots:
            slot.close()
        self._stack.close()

    def _make_room(self, candidates: Sequence[Candidate]) -> None:
        """Write what the conditions mean, and the routes with the hazards of each."""
        file = self.folder / HEADER
        if not self._known and file.exists():
            self._known = read_header(file)["settings"]
            self._conditions = {**self._known["interference"], **self._conditions}
        for candidate in candidates:
            condition = self._name(candidate)
            self._conditions[condition] = self.ready.condition_of(candidate.values)
            assignment = self.ready.assignment_of(candidate.values)
            if self.ready.template.hazards:
                write_assignments(self.folder, [assignment], condition)
        write_assignments(self.folder, self.ready.assignments)
        settings = cast("Settings", {**self.ready.campaign, "interference": self._conditions})
        if self._known != settings:
            write_header(file, settings, self._simulator, search=self.ready.search.sampler)
            self._known = deepcopy(settings)

    def _task_settings(self) -> TaskSettings:
        return TaskSettings(
            folder=self.folder.resolve(),
            town=self.ready.town,
            simulator=self.ready.campaign["simulator"],
            attempt_timeout=self.ready.campaign["attempt_timeout"],
            memory_limit=self._executor.memory_limit,
            environment=passed_on(),
            directory=Path.cwd(),
        )


@contextmanager
def driver(
    ready: SearchPlan,
    folder: Path,
    *,
    seed: Callable[[Candidate], int],
    name: Name = numbered_name,
) -> Iterator[Driver]:
    """Return a driver of a folder that nothing else writes; its simulators end with it."""
    refuse_other_folders(folder)
    made = Driver(ready, folder, name=name, seed=seed)
    with locked(folder):
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
    if inside - LEFT_BY_A_KILL and not any((folder / LEDGERS).rglob(LEDGER)):
        raise UserError(f"{folder}: not empty and not a search; choose another out=DIR")
