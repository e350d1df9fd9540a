"""Worker slots that stay open from one batch of attempts to the next.

Simulators and the fork server are started once for all batches.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from threading import Thread

from harness.campaign.attempt import tasks
from harness.campaign.running.executors.interface import Executor, TaskSettings, WorkerSlot
from harness.campaign.running.runner import CampaignRunner, ProgressListener
from harness.campaign.running.work_queue import WorkQueue
from harness.records.keys import AttemptKey


class KeptSlot:
    """A worker slot that stays open when a runner closes it."""

    def __init__(self, slot: WorkerSlot) -> None:
        self._slot = slot

    def do(self, key: AttemptKey, number: int) -> tasks.AttemptOutcome:
        """Run one try."""
        return self._slot.do(key, number)

    def position(self) -> tasks.DrivePosition | None:
        """Return how far the current try has driven."""
        return self._slot.position()

    def stop(self) -> None:
        """Stop the current try."""
        self._slot.stop()

    def rest(self) -> None:
        """Release what other workers of a cluster may be waiting for."""
        self._slot.rest()

    def close(self) -> None:
        """Stay open for the next batch."""


class KeptSlots:
    """An executor's slots: opened for the first queue with work, and kept until they are closed."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._stack = ExitStack()
        self._slots: list[WorkerSlot] = []

    @property
    def workers(self) -> int:
        """Attempts at a time."""
        return self._executor.workers

    def run_queue(
        self, queue: WorkQueue, folder: Path, work: TaskSettings, listener: ProgressListener
    ) -> None:
        """Run what is in a queue; the slots are closed where that fails.

        Args:
            queue: what is left to drive.
            folder: of the campaign.
            work: what all tries share; slots that are open keep what they were opened with.
            listener: is called as attempts begin, drive and end.
        """
        if not queue:
            return
        if not self._slots:
            self._slots = self._stack.enter_context(self._executor.slots(work, self.workers))
        kept = [KeptSlot(slot) for slot in self._slots]
        try:
            CampaignRunner(folder, queue, kept, listener).run_queue()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the slots, all at a time: simulators end, which takes seconds."""
        slots, self._slots = self._slots, []
        closing = [Thread(target=slot.close) for slot in slots]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
        self._stack.close()
