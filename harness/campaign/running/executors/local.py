"""On this machine: as many tries at a time as there are workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.campaign.running.executors.forks import ForkServer
from harness.campaign.running.executors.interface import (
    TaskSettings,
    WorkerSlot,
    check_worker_limits,
)
from harness.campaign.running.executors.worker_slot import LocalWorkerSlot


class LocalExecutor:
    """Worker slots in this process."""

    safe_from_file = True

    def __init__(
        self,
        workers: int = 1,  # attempts at a time
        memory_limit: float | None = None,  # GiB a try may take; null: no limit
    ) -> None:
        check_worker_limits(workers, memory_limit)
        self.workers = workers
        self.memory_limit = memory_limit

    @contextmanager
    def slots(self, work: TaskSettings, count: int) -> Iterator[list[WorkerSlot]]:
        """Open worker slots, which the runner's threads close; one fork server is for all.

        Args:
            work: what all tries share.
            count: slots.
        """
        forks = ForkServer(work)
        forks.start_server()  # it imports while simulators start
        try:
            yield [LocalWorkerSlot(work, number, forks) for number in range(count)]
        finally:
            forks.close_server()
