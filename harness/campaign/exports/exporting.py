"""Calls the exports that the settings name, in threads of their own: none can hold up a campaign.

An export that raises is called no more; one line says so, and the campaign goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.exports.export import AttemptValues, Export
from harness.campaign.exports.values import (
    compute_arm_means,
    number_steps,
    read_attempt_values,
    read_campaign_facts,
)
from harness.campaign.running.runner import ProgressListener
from harness.campaign.settings.config import build_part, format_one_line
from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.common.errors import UserError
from harness.common.terminal_lines import print_problem
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

PATIENCE, HURRY = 60.0, 10.0
"""Seconds that exports have at the end, and after an interruption."""


def build_exports(parts: Mapping[str, PartSettings[Any]]) -> dict[str, Export]:
    """Return the exports by name; refuse what is none, and those whose package is missing."""
    exports = {}
    for name, part in parts.items():
        place = f"export.{name}"
        export = build_part(part, place)
        if not isinstance(export, Export):
            raise UserError(f"configuration: {place} needs the _target_ of an Export")
        exports[str(name)] = export
    return exports


@contextmanager
def add_export_listener(
    settings: CampaignSettings, folder: Path, listener: ProgressListener
) -> Iterator[ProgressListener]:
    """Yield a listener that passes finished attempts to the exports too."""
    exports = build_exports(settings["export"])
    if not exports:
        yield listener
        return
    # an export may wait for a server: every one has a thread
    threads = [ExportThread(name, export) for name, export in exports.items()]
    steps, facts = number_steps(folder), read_campaign_facts(folder)
    for thread in threads:
        thread.call_export(lambda export: export.start(facts))
    # an interrupted campaign does not wait long for them
    patience = PATIENCE
    try:
        yield ExportListener(listener, threads, CampaignRecords(folder), steps)
    except BaseException:
        patience = HURRY
        raise
    finally:
        for thread in threads:
            thread.end_export(lambda: compute_finished_means(folder))
        for thread in threads:
            thread.wait_until_ended(patience)


def compute_finished_means(folder: Path) -> Mapping[Arm, Mapping[str, float]]:
    """Return the means of the attempts that have a result by now."""
    campaign = CampaignRecords(folder)
    return compute_arm_means(campaign, sorted(campaign.find_attempts()))


class ExportThread:
    """An export, and the thread in which it is called."""

    def __init__(self, name: str, export: Export) -> None:
        self._name = name
        self._export = export
        self._calls: SimpleQueue[Callable[[Export], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._serve_calls, daemon=True)
        self._thread.start()

    def call_export(self, work: Callable[[Export], None]) -> None:
        """Have the export called when it has done what was asked before."""
        self._calls.put(work)

    def end_export(self, means: Callable[[], Mapping[Arm, Mapping[str, float]]]) -> None:
        """End the export after everything that was asked before."""
        self.call_export(lambda export: export.end(means()))
        self._calls.put(None)

    def wait_until_ended(self, seconds: float) -> None:
        """Wait until the export has ended."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._print_complaint(f"did not end within {seconds:.0f} s")

    def _serve_calls(self) -> None:
        try:
            while (work := self._calls.get()) is not None:
                work(self._export)
        except BaseException as problem:  # an export may raise SystemExit, too
            self._print_complaint(format_one_line(problem))

    def _print_complaint(self, why: str) -> None:
        print_problem(
            f"export.{self._name}: stopped: {why}; the campaign goes on, and `crucible export`"
            " passes its records on later"
        )


class ExportListener:
    """Passes everything on to another listener, and finished attempts to exports."""

    def __init__(
        self,
        listener: ProgressListener,
        threads: Sequence[ExportThread],
        campaign: CampaignRecords,
        steps: Mapping[tuple[str, int], int],
    ) -> None:
        self._listener = listener
        self._threads = threads
        self._campaign = campaign
        self._steps = steps

    def begins(self, worker: int, key: AttemptKey, number: int) -> None:
        """A try begins."""
        self._listener.begins(worker, key, number)

    def drives(self, worker: int, key: AttemptKey, position: DrivePosition) -> None:
        """A try has driven on."""
        self._listener.drives(worker, key, position)

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """A try has ended."""
        self._listener.ends(worker, outcome, again)
        if outcome.done:
            self._campaign.note_finished(outcome.key, outcome.number)
            for thread in self._threads:
                thread.call_export(lambda export: export.attempt(self._read_values(outcome.key)))

    def leaves(self, worker: int, reason: str) -> None:
        """A worker gets no more work."""
        self._listener.leaves(worker, reason)

    def _read_values(self, key: AttemptKey) -> AttemptValues:
        return read_attempt_values(self._campaign, key, self._steps)
