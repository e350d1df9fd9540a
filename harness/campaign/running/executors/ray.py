"""On a Ray cluster, or on Ray here: worker slots are actors; a lost node costs the tries it was
running.

Ray pickles what it sends between its own processes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.running.executors.interface import (
    TaskSettings,
    WorkerSlot,
    check_worker_limits,
    import_extra,
)
from harness.campaign.running.executors.worker_slot import LocalWorkerSlot
from harness.common.errors import UserError
from harness.records.keys import AttemptKey


class RayExecutor:
    """Worker slots on any node of a Ray cluster; nodes share the campaign folder and project."""

    def __init__(
        self,
        workers: int = 2,  # attempts at a time
        address: str | None = None,  # of the cluster: host:port, or auto; null: this machine
        *,
        cpus: float = 2.0,  # of a worker and its simulator
        gpus: float = 0.0,  # of a worker and its simulator
        memory_limit: float | None = None,  # GiB a try may take; null: no limit
    ) -> None:
        check_worker_limits(workers, memory_limit)
        self.workers = workers
        self.memory_limit = memory_limit
        self._address = address
        self._cpus, self._gpus = cpus, gpus
        self._ray = import_extra("ray", of="ray")

    @contextmanager
    def slots(self, work: TaskSettings, count: int) -> Iterator[list[WorkerSlot]]:
        """Connect to Ray, or start it here with room for all, and open worker slots."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray gives its workers less of a busy machine (15 of `nice`); other executors do not
        os.environ.setdefault("RAY_worker_niceness", "0")
        # connect
        handler = signal.getsignal(signal.SIGTERM)
        here = {"num_cpus": count * self._cpus, "num_gpus": count * self._gpus}
        try:
            self._ray.init(
                address=self._address or "local",
                log_to_driver=False,
                logging_level="error",
                **({} if self._address else {**here, "include_dashboard": False}),
            )
        except (ConnectionError, RuntimeError, ValueError) as problem:
            message = " ".join(str(problem).split())
            raise UserError(f"configuration: executor.address {self._address}: {message}") from None
        signal.signal(signal.SIGTERM, handler)  # Ray has put its own handler there
        # an actor for every slot; Ray chooses the machine
        actor = self._ray.remote(num_cpus=self._cpus, num_gpus=self._gpus)(LocalWorkerSlot)
        try:
            yield [RayWorkerSlot(self._ray, actor, work, number) for number in range(count)]
        finally:
            self._ray.shutdown()


class RayWorkerSlot:
    """A worker slot on another node; a new one replaces it when it is lost."""

    def __init__(self, ray: Any, actor: Any, work: TaskSettings, number: int) -> None:
        self._ray = ray
        self._actor = actor
        self._given = (work, number)
        self._there: Any = None
        self._stopped = False

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        """Run one try."""
        if self._there is None:
            self._there = self._actor.remote(*self._given)
        if self._stopped:
            self.stop()
        try:
            outcome: AttemptOutcome = self._ray.get(self._there.do.remote(key, number))
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError as problem:
            self._there = None
            message = (
                "the campaign was interrupted" if self._stopped else describe_lost_actor(problem)
            )
            return AttemptOutcome(key=key, number=number, failure="interrupted", message=message)
        return outcome

    def position(self) -> DrivePosition | None:
        """Return nothing: an actor that runs a try answers no other question."""
        return None

    def stop(self) -> None:
        """End the actor, and with it what it started."""
        self._stopped = True
        if self._there is not None:
            self._ray.kill(self._there)

    def rest(self) -> None:
        """End the actor: another may be waiting for its processors."""
        if self._there is None or self._stopped:
            return
        actor, self._there = self._there, None
        with suppress(self._ray.exceptions.RayError):  # its node is lost
            self._ray.get(actor.close.remote())
        self._ray.kill(actor)

    def close(self) -> None:
        """Release the simulator."""
        if self._there is not None and not self._stopped:
            self._ray.get(self._there.close.remote())


def describe_lost_actor(problem: Exception) -> str:
    """Return the first line of Ray's message about a lost actor."""
    return f"the worker was lost: {str(problem).strip().splitlines()[0]}"
