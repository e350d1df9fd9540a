"""Runs a work queue: assigns tries to worker slots and alone writes the ledger."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Literal, Protocol

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.running.executors.interface import WorkerSlot
from harness.campaign.running.work_queue import WorkQueue
from harness.common.errors import AttemptError, FailureClass
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try

NO_SIMULATOR: frozenset[FailureClass] = frozenset({"server_launch", "port_conflict"})
LAUNCHES = 3
"""Times in a row that a worker may find no simulator before it gets no more work."""
LOOK = 0.5
"""Seconds between two looks at how far tries have driven."""
SETTLE = 10.0
"""Seconds that slots have to stop in."""


class InfrastructureError(Exception):
    """The machine lacks what every attempt needs (simulator, disk): one line; exit code 3."""


class ProgressListener(Protocol):
    """Is called with what the workers, numbered from 1, are doing."""

    def begins(self, worker: int, key: AttemptKey, number: int) -> None:
        """A worker begins a try."""

    def drives(self, worker: int, key: AttemptKey, position: DrivePosition) -> None:
        """A try has driven on."""

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """A try has ended; the attempt may come again in this run."""

    def leaves(self, worker: int, reason: str) -> None:
        """A worker gets no more work."""


Ended = tuple["SlotThread", AttemptOutcome | BaseException]


class SlotThread:
    """A worker slot, and the thread that runs it."""

    def __init__(self, number: int, slot: WorkerSlot, ended: SimpleQueue[Ended]) -> None:
        self.number = number
        self.slot = slot
        self.failed_launches = 0  # launches in a row
        self.task: tuple[AttemptKey, int] | None = None
        self._asked: SimpleQueue[tuple[AttemptKey, int] | Literal["rest"] | None] = SimpleQueue()
        self._rests = False
        self._ended = ended
        self._thread = Thread(target=self._serve_tries, daemon=True)
        self._thread.start()

    def ask_for_try(self, key: AttemptKey, number: int) -> None:
        """Have a try done."""
        self.task = (key, number)
        self._rests = False
        self._asked.put(self.task)

    def let_rest(self) -> None:
        """Have the slot release what others may be waiting for, while it has no task."""
        if not self._rests:
            self._rests = True
            self._asked.put("rest")

    def leave_slot(self) -> None:
        """Close the slot after its current try."""
        self._asked.put(None)

    def wait_until_ended(self, seconds: float | None = None) -> None:
        """Wait until the thread has ended."""
        self._thread.join(seconds)

    def _serve_tries(self) -> None:
        try:
            while (asked := self._asked.get()) is not None:
                if asked == "rest":
                    with suppress(Exception):  # nor can a lost one rest
                        self.slot.rest()
                else:
                    self._ended.put((self, self.slot.do(*asked)))
        except BaseException as problem:
            self._ended.put((self, problem))
        else:
            with suppress(Exception):  # a lost slot cannot be closed
                self.slot.close()


class CampaignRunner:
    """Runs what is left of a plan.

    Args:
        folder: of the campaign.
        queue: what is left to run.
        slots: one for each worker.
        listener: is called as tries begin, drive and end.
    """

    def __init__(
        self,
        folder: Path,
        queue: WorkQueue,
        slots: Sequence[WorkerSlot],
        listener: ProgressListener,
    ) -> None:
        self.folder = folder
        self.queue = queue
        self.listener = listener
        self._look = 0.0
        self._ended: SimpleQueue[Ended] = SimpleQueue()
        self._workers = [
            SlotThread(number, slot, self._ended) for number, slot in enumerate(slots, start=1)
        ]

    def run_queue(self) -> None:
        """Run until the queue is empty or no worker is left."""
        try:
            while self._assign_tries():
                self._report_positions()
                with suppress(Empty):
                    worker, outcome = self._ended.get(timeout=LOOK)
                    worker.task = None
                    self._handle_outcome(worker, outcome)
        except BaseException:
            self._stop_all()
            raise
        for worker in self._workers:
            worker.leave_slot()
        for worker in self._workers:
            worker.wait_until_ended()

    def _assign_tries(self) -> bool:
        """Assign tries to idle workers, the others rest; return whether any worker is busy."""
        for worker in self._workers:
            if self.queue and worker.task is None:
                key, number = self.queue.take_next()
                self.listener.begins(worker.number, key, number)
                worker.ask_for_try(key, number)
        busy = any(worker.task for worker in self._workers)
        if busy:  # a busy worker may be waiting for the place of an idle one
            for worker in self._workers:
                if worker.task is None:
                    worker.let_rest()
        return busy

    def _report_positions(self) -> None:
        """Ask the slots, now and then, how far their tries have driven."""
        if time.monotonic() < self._look:
            return
        self._look = time.monotonic() + LOOK
        for worker in self._workers:
            position = worker.slot.position() if worker.task else None
            if worker.task and position is not None:
                self.listener.drives(worker.number, worker.task[0], position)

    def _handle_outcome(self, worker: SlotThread, outcome: AttemptOutcome | BaseException) -> None:
        """Record how a try ended, and decide what that means for the other workers."""
        if isinstance(outcome, BaseException):
            raise outcome
        # the ledger first: it is right even if this process ends here
        self._append_to_ledger(outcome)
        again = self.queue.record_ending(outcome)
        full = outcome.failure == "disk"
        self.listener.ends(worker.number, outcome, again and not full)
        # a full disk fails every attempt
        if full:
            raise InfrastructureError(outcome.message)
        # a worker that cannot get a simulator leaves; without workers the campaign ends
        worker.failed_launches = (
            worker.failed_launches + 1 if outcome.failure in NO_SIMULATOR else 0
        )
        if worker.failed_launches == LAUNCHES:
            self._workers.remove(worker)
            worker.leave_slot()
            self.listener.leaves(worker.number, outcome.message)
            if not self._workers:
                raise InfrastructureError(
                    f"no simulator, {LAUNCHES} times in a row: {outcome.message}"
                )

    def _append_to_ledger(self, outcome: AttemptOutcome) -> None:
        try:
            append_try(
                self.folder,
                outcome.key,
                number=outcome.number,
                failure=outcome.failure,
                message=outcome.message,
                server_tail=outcome.server_tail,
            )
        except AttemptError as problem:
            raise InfrastructureError(str(problem)) from None

    def _stop_all(self) -> None:
        """Stop all tries, and record them as far as possible."""
        for worker in self._workers:
            worker.slot.stop()
            worker.leave_slot()
        until = time.monotonic() + SETTLE
        for worker in self._workers:
            worker.wait_until_ended(max(until - time.monotonic(), 0.0))
        with suppress(Empty, InfrastructureError):
            while True:
                worker, outcome = self._ended.get_nowait()
                if isinstance(outcome, AttemptOutcome):
                    self._append_to_ledger(outcome)
                    self.listener.ends(worker.number, outcome, again=False)
