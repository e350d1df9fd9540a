"""Calls the exports that the settings name, in threads of their own: none can hold up a campaign.

An export that raises is called no more; one line says so, and the campaign goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from harness.campaign.attempt.tasks import Outcome, Position
from harness.campaign.exports.export import AttemptValues, Export
from harness.campaign.exports.values import attempt_values, facts_of, means_of, steps_of
from harness.campaign.running.runner import ProgressListener
from harness.campaign.settings.config import build, one_line
from harness.campaign.settings.declared import Part, Settings
from harness.errors import UserError
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign

PATIENCE, HURRY = 60.0, 10.0
"""Seconds that exports have at the end, and after an interruption."""


def exports_in(parts: Mapping[str, Part[Any]]) -> dict[str, Export]:
    """Return the exports by name; refuse what is none, and those whose package is missing."""
    exports = {}
    for name, part in parts.items():
        place = f"export.{name}"
        export = build(part, place)
        if not isinstance(export, Export):
            raise UserError(f"configuration: {place} needs the _target_ of an Export")
        exports[str(name)] = export
    return exports


@contextmanager
def exporting(
    settings: Settings, folder: Path, listener: ProgressListener
) -> Iterator[ProgressListener]:
    """Yield a listener that passes finished attempts to the exports too."""
    exports = exports_in(settings["export"])
    if not exports:
        yield listener
        return
    threads = [ExportThread(name, export) for name, export in exports.items()]
    steps, facts = steps_of(folder), facts_of(folder)
    for thread in threads:
        thread.call(lambda export: export.start(facts))
    patience = PATIENCE
    try:
        yield ExportListener(listener, threads, Campaign(folder), steps)
    except BaseException:
        patience = HURRY
        raise
    finally:
        for thread in threads:
            thread.end(lambda: finished_means(folder))
        for thread in threads:
            thread.wait(patience)


def finished_means(folder: Path) -> Mapping[Arm, Mapping[str, float]]:
    """Return the means of the attempts that have a result by now."""
    campaign = Campaign(folder)
    return means_of(campaign, sorted(campaign.attempts()))


class ExportThread:
    """An export, and the thread in which it is called."""

    def __init__(self, name: str, export: Export) -> None:
        self._name = name
        self._export = export
        self._calls: SimpleQueue[Callable[[Export], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def call(self, work: Callable[[Export], None]) -> None:
        """Have the export called when it has done what was asked before."""
        self._calls.put(work)

    def end(self, means: Callable[[], Mapping[Arm, Mapping[str, float]]]) -> None:
        """End the export after everything that was asked before."""
        self.call(lambda export: export.end(means()))
        self._calls.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until the export has ended."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._complain(f"did not end within {seconds:.0f} s")

    def _serve(self) -> None:
        try:
            while (work := self._calls.get()) is not None:
                work(self._export)
        except BaseException as problem:  # an export may raise SystemExit, too
            self._complain(one_line(problem))

    def _complain(self, why: str) -> None:
        print(
            f"export.{self._name}: stopped: {why}; the campaign goes on, and `crucible export`"
            " passes its records on later",
            file=sys.stderr,
        )


class ExportListener:
    """Passes everything on to another listener, and finished attempts to exports."""

    def __init__(
        self,
        listener: ProgressListener,
        threads: Sequence[ExportThread],
        campaign: Campaign,
        steps: Mapping[tuple[str, int], int],
    ) -> None:
        self._listener = listener
        self._threads = threads
        self._campaign = campaign
        self._steps = steps

    def begins(self, worker: int, key: AttemptKey, number: int) -> None:
        """A try begins."""
        self._listener.begins(worker, key, number)

    def drives(self, worker: int, key: AttemptKey, position: Position) -> None:
        """A try has driven on."""
        self._listener.drives(worker, key, position)

    def ends(self, worker: int, outcome: Outcome, again: bool) -> None:
        """A try has ended."""
        self._listener.ends(worker, outcome, again)
        if outcome.done:
            self._campaign.finished(outcome.key, outcome.number)
            for thread in self._threads:
                thread.call(lambda export: export.attempt(self._values(outcome.key)))

    def leaves(self, worker: int, reason: str) -> None:
        """A worker gets no more work."""
        self._listener.leaves(worker, reason)

    def _values(self, key: AttemptKey) -> AttemptValues:
        return attempt_values(self._campaign, key, self._steps)
