"""Runs tries on its machine: a simulator leased while it is healthy, a process for each try."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from functools import cached_property

from harness.campaign.attempt.tasks import Outcome, Position, Task
from harness.campaign.running.executors.forks import ForkServer
from harness.campaign.running.executors.interface import TaskSettings
from harness.campaign.running.executors.process import AttemptProcess, Ending
from harness.campaign.settings.config import build
from harness.errors import AttemptError, UserError
from harness.records.keys import AttemptKey
from harness.records.ledger import committed
from harness.records.writing import disk_problem
from harness.world.simulators import LaunchError, Server, Simulator

KEPT = ("server_launch", "port_conflict", "disk")
"""Failures to lease a server that keep their class; all others count as `server_launch`."""


class LocalWorkerSlot:
    """Holds a simulator on lease."""

    def __init__(self, work: TaskSettings, number: int, forks: ForkServer | None = None) -> None:
        """Take a fork server that others close, or have one of its own."""
        self._work = work
        self._forks = forks or ForkServer(work)
        self._closes_forks = forks is None
        self._log = work.folder / "logs" / f"worker-{number + 1}.log"
        self._lease = ExitStack()
        self._server: Server | None = None
        self._process: AttemptProcess | None = None
        self._stopped = False

    def do(self, key: AttemptKey, number: int) -> Outcome:
        """Run one try; complete records on disk count as done, however the process exited."""
        began = time.monotonic()
        try:
            failure, message = self._try(key, number)
        except AttemptError as problem:
            failure, message = problem.failure, str(problem)
            tail = problem.log_tail if isinstance(problem, LaunchError) else ""
        except UserError as problem:  # the simulator cannot be had on this machine
            failure, message, tail = "server_launch", str(problem), ""
        except OSError as problem:
            failure, message, tail = "disk", str(disk_problem(problem)), ""
        else:
            tail = self._server.log_tail() if failure and self._server else ""
        if failure is not None and self._whole(key, number):
            failure, message, tail = None, "its records are complete", ""
        if failure is not None and self._stopped:
            failure, message, tail = "interrupted", "the campaign was interrupted", ""
        if failure is not None or self._simulator.fresh:
            self._release()
        return Outcome(
            key=key,
            number=number,
            failure=failure,
            message=message,
            server_tail=tail,
            seconds=time.monotonic() - began,
        )

    def position(self) -> Position | None:
        """Return how far the current try has driven."""
        process = self._process
        return None if process is None else process.position()

    def stop(self) -> None:
        """Kill the process of the current try."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Release the simulator, and end a fork server of its own."""
        self._release()
        if self._closes_forks:
            self._forks.close()

    def _release(self) -> None:
        self._server = None
        self._lease.close()

    @cached_property
    def _simulator(self) -> Simulator:
        simulator: Simulator = build(self._work.simulator, "simulator")
        return simulator

    def _whole(self, key: AttemptKey, number: int) -> bool:
        try:
            return committed(self._work.folder, key, number)
        except (OSError, UserError):  # unreadable: not complete
            return False

    def _try(self, key: AttemptKey, number: int) -> Ending:
        server = self._held()
        work = self._work
        task = Task(
            folder=work.folder,
            key=key,
            number=number,
            host=server.host,
            port=server.port,
            simulator=server.name,
            memory_limit=work.memory_limit,
            parent=os.getpid(),
            live=work.live,
        )
        with AttemptProcess(
            task,
            self._log,
            environment=work.environment,
            directory=work.directory,
            forks=self._forks,
        ) as self._process:
            if self._stopped:
                self._process.kill()
            ending = self._process.ending(server, work.attempt_timeout)
        self._process = None
        return ending

    def _held(self) -> Server:
        if self._server is None or not self._server.alive():
            self._release()
            lease = self._simulator.lease(self._work.town)
            try:
                self._server = self._lease.enter_context(lease)
            except AttemptError as problem:
                if problem.failure in KEPT:
                    raise
                raise AttemptError("server_launch", str(problem)) from None
        return self._server
