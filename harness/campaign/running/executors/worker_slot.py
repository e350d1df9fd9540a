"""Runs tries on its machine: a simulator leased while it is healthy, a process for each try."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack
from functools import cached_property

from harness.campaign.attempt.tasks import AttemptOutcome, AttemptTask, DrivePosition
from harness.campaign.running.executors.forks import ForkServer
from harness.campaign.running.executors.interface import TaskSettings
from harness.campaign.running.executors.process import AttemptProcess, Ending
from harness.campaign.settings.config import build_part
from harness.common.errors import AttemptError, UserError
from harness.records.keys import AttemptKey
from harness.records.ledger import is_try_committed
from harness.records.writing import classify_disk_problem
from harness.world.simulators import LaunchError, Simulator, SimulatorServer
from harness.world.simulators.launching import kill_starting_server

INTERRUPTED = "the campaign was interrupted"
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
        self._server: SimulatorServer | None = None
        self._process: AttemptProcess | None = None
        self._stopped = False
        self._thread = 0  # that runs the current try

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        """Run one try; complete records on disk count as done, however the process exited."""
        began = time.monotonic()
        self._thread = threading.get_ident()
        # every way to fail has a class, by which the runner decides on another try
        try:
            failure, message = self._try_attempt(key, number)
        except AttemptError as problem:
            failure, message = problem.failure, str(problem)
            tail = problem.log_tail if isinstance(problem, LaunchError) else ""
        except UserError as problem:  # the simulator cannot be had on this machine
            failure, message, tail = "server_launch", str(problem), ""
        except OSError as problem:
            failure, message, tail = "disk", str(classify_disk_problem(problem)), ""
        else:
            tail = self._server.log_tail() if failure and self._server else ""
        # a process that crashed after its records were whole has done its work
        if failure is not None and self._has_whole_records(key, number):
            failure, message, tail = None, "its records are complete", ""
        # an interrupted try is no failure of the attempt
        if failure is not None and self._stopped:
            failure, message, tail = "interrupted", INTERRUPTED, ""
        # after a failure the server may be broken: the next try gets a new one
        if failure is not None or self._simulator.fresh:
            self._release_simulator()
        return AttemptOutcome(
            key=key,
            number=number,
            failure=failure,
            message=message,
            server_tail=tail,
            seconds=time.monotonic() - began,
        )

    def position(self) -> DrivePosition | None:
        """Return how far the current try has driven."""
        process = self._process
        return None if process is None else process.read_last_position()

    def stop(self) -> None:
        """Kill the process of the current try, or what the try is waiting for."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill_group()
        # a simulator or a fork server that still starts may take a minute
        kill_starting_server(self._thread)
        self._forks.close_server()

    def rest(self) -> None:
        """Keep the simulator: on one machine, no worker waits for another."""

    def close(self) -> None:
        """Release the simulator, and end a fork server of its own."""
        self._release_simulator()
        if self._closes_forks:
            self._forks.close_server()

    def _release_simulator(self) -> None:
        self._server = None
        self._lease.close()

    @cached_property
    def _simulator(self) -> Simulator:
        simulator: Simulator = build_part(self._work.simulator, "simulator")
        return simulator

    def _has_whole_records(self, key: AttemptKey, number: int) -> bool:
        try:
            return is_try_committed(self._work.folder, key, number)
        except (OSError, UserError):  # unreadable: not complete
            return False

    def _try_attempt(self, key: AttemptKey, number: int) -> Ending:
        server = self._ensure_simulator()
        self._refuse_stopped()
        work = self._work
        task = AttemptTask(
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
            # stopped between the start of this try and now
            if self._stopped:
                self._process.kill_group()
            ending = self._process.wait_for_ending(server, work.attempt_timeout)
        self._process = None
        return ending

    def _refuse_stopped(self) -> None:
        """Start nothing any more for a slot that was stopped."""
        if self._stopped:
            raise AttemptError("interrupted", INTERRUPTED)

    def _ensure_simulator(self) -> SimulatorServer:
        if self._server is None or not self._server.is_alive():
            self._release_simulator()
            self._refuse_stopped()
            lease = self._simulator.lease_server(self._work.town)
            try:
                self._server = self._lease.enter_context(lease)
            except AttemptError as problem:
                if problem.failure in KEPT:
                    raise
                raise AttemptError("server_launch", str(problem)) from None
        return self._server
