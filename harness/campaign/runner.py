"""Runs a plan on this machine: a server held as long as it is healthy, a process for every try."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from harness.campaign.config import ROOT, Settings, build
from harness.campaign.plan import Plan
from harness.campaign.tasks import Outcome, Task, read_answer
from harness.errors import AttemptError
from harness.records.keys import AttemptKey
from harness.records.ledger import append, finished
from harness.world.simulators import LINUX, Server, Simulator, end_with_parent

Listener = Callable[[AttemptKey, Outcome | None], None]
"""Told when a try begins (no outcome yet) and when it ends."""

SETTLE = 5.0
"""Seconds a worker that was asked to end may take before it is killed."""


class Runner:
    """Does what is left of a plan."""

    def __init__(self, folder: Path, settings: Settings, listener: Listener) -> None:
        self.folder = folder
        self.settings = settings
        self.listener = listener
        self.simulator: Simulator = build(settings["simulator"], "simulator")
        self._lease = ExitStack()
        self._server: Server | None = None

    def run(self, plan: Plan) -> list[Outcome]:
        """Run every attempt without a result; return how the last try of each ended."""
        done = finished(self.folder)
        try:
            return [self._attempt(key, plan.town) for key in plan.attempts if key not in done]
        finally:
            self._give_back()

    def _attempt(self, key: AttemptKey, town: str) -> Outcome:
        for number in range(1, self.settings["attempts_per_route"] + 1):
            self.listener(key, None)
            began = time.monotonic()
            try:
                failure, message = self._try(key, number, town)
            except AttemptError as problem:
                failure, message = problem.failure, str(problem)
            outcome = Outcome(key, number, failure, message, time.monotonic() - began)  # type: ignore[arg-type]
            tail = "" if outcome.done or self._server is None else self._server.log_tail()
            append(self.folder, key, number, outcome.failure, outcome.message, tail)
            if not outcome.done:
                self._give_back()
            self.listener(key, outcome)
            if outcome.done:
                break
        return outcome

    def _try(self, key: AttemptKey, number: int, town: str) -> tuple[str | None, str]:
        server = self._held(town)
        task = Task(self.folder.resolve(), key, number, server.host, server.port, server.name)
        with worker(task) as process:
            try:
                told, _ = process.communicate(task.to_json(), self.settings["attempt_timeout"])
            except subprocess.TimeoutExpired:
                limit = self.settings["attempt_timeout"]
                return "server_hang", f"no result after {limit:g} s"
        answer = read_answer(told)
        if answer is not None:
            return answer["failure"], answer["message"]
        if not server.alive():
            return "server_crash", "the server ended during the attempt"
        return "agent_exception", f"the worker ended with code {process.returncode}"

    def _held(self, town: str) -> Server:
        if self._server is None or not self._server.alive():
            self._give_back()
            self._server = self._lease.enter_context(self.simulator.lease(town))
        return self._server

    def _give_back(self) -> None:
        self._server = None
        self._lease.close()


@contextmanager
def worker(task: Task) -> Iterator[subprocess.Popen[str]]:
    """Start a process group for one try; nothing of it outlives the block."""
    logs = task.folder / "logs"
    logs.mkdir(exist_ok=True)
    environment: dict[str, Any] = {**os.environ, "OMP_NUM_THREADS": "1"}
    with (logs / "worker.log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "harness.campaign.worker"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            start_new_session=True,
            preexec_fn=end_with_parent if LINUX else None,  # noqa: PLW1509
        )
        try:
            yield process
        finally:
            end_group(process)


def end_group(process: subprocess.Popen[str]) -> None:
    """End a process and all it started."""
    for kind, patience in ((signal.SIGTERM, SETTLE), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    process.wait()
