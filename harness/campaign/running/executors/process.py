"""An attempt process for one try: started, waited for, and killed with all its children."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from harness.campaign.attempt.tasks import AttemptTask, DrivePosition, read_answer, read_position
from harness.campaign.running.executors.forks import ForkedProcess, ForkServer
from harness.campaign.running.executors.interface import ONE_CORE
from harness.common.bounded_log import BoundedLog
from harness.common.environments import build_child_environment
from harness.common.errors import AttemptError, FailureClass
from harness.common.files import open_here
from harness.common.kernels import make_shared_kernel_environment
from harness.common.subprocesses import (
    build_module_command,
    count_kernel_kills,
    describe_exit,
    end_group,
    get_exit_signal,
)
from harness.records.writing import classify_disk_problem
from harness.world.simulators import SimulatorServer

SETTLE = 5.0
"""Seconds between SIGTERM and SIGKILL."""
LOOK = 0.5
"""Seconds between two looks at whether the server is still there."""
GRACE = 3.0
"""Seconds an attempt process has to report by itself that the server has exited."""
TAIL = 2000
"""Characters of a worker's log that are searched for the reason of its exit."""
REPORTED = 200
"""Bytes at the end of a worker's reports that hold its last one."""
SAID = 200
"""Characters kept of the last line of a worker's log."""
NOT_THERE = ("server_launch", "port_conflict")
"""What an attempt reports that did not reach its server, which had answered when the try began."""

Ending = tuple[FailureClass | None, str]
"""The failure class, if it failed, and a few words."""


class AttemptProcess:
    """One try in a process group of its own; no child outlives the `with` block.

    Its reply goes to a file: a pipe would wait for any other process that holds it open.
    """

    _process: ForkedProcess | subprocess.Popen[str]

    def __init__(
        self,
        task: AttemptTask,
        log: Path,
        *,
        environment: dict[str, str],
        directory: Path,
        forks: ForkServer | None = None,
    ) -> None:
        """Fork a process, or start one with the environment in the directory."""
        # the log: what it held before belongs to other tries
        self._killed_before = count_kernel_kills()
        with ExitStack() as files:
            try:
                log.parent.mkdir(exist_ok=True)
                self._log = files.enter_context(open(log, "a+", opener=open_here))
                BoundedLog(self._log.fileno()).make_room()
                self._log_began = os.fstat(self._log.fileno()).st_size
                # where the attempt writes how it ended
                self._answer = files.enter_context(tempfile.TemporaryFile("w+"))
            except OSError as problem:
                raise classify_disk_problem(problem) from None
            # a fork takes milliseconds; without a server, or refused, a process is started
            forked = forks and forks.fork_process(task, self._answer.fileno(), self._log.fileno())
            if forked:
                files.callback(forked.close)
            variables = build_child_environment(
                ONE_CORE, make_shared_kernel_environment(), environment
            )
            self._process = forked or self._start_process(task, variables, directory)
            # open files stay open until this object is closed
            self._files = files.pop_all()

    def __enter__(self) -> AttemptProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end_group(self._process, SETTLE)
        self._files.close()

    def kill_group(self) -> None:
        """End the whole group now."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def read_last_position(self) -> DrivePosition | None:
        """Return how far the try has driven, as it last reported."""
        with suppress(OSError, ValueError):  # it has ended, and its files are closed
            handle = self._answer.fileno()
            begin = max(os.fstat(handle).st_size - REPORTED, 0)
            return read_position(os.pread(handle, REPORTED, begin).decode(errors="replace"))
        return None

    def wait_for_ending(self, server: SimulatorServer, timeout: float) -> Ending:
        """Wait for the end of the try and return how it ended."""
        until = time.monotonic() + timeout
        while self._process.poll() is None:
            left = until - time.monotonic()
            if left <= 0:
                return explain_timeout(server, timeout)
            exited = not server.running()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE if exited else min(LOOK, left))
            if exited and self._process.poll() is None:
                return "server_crash", "the server exited during the attempt"
        self._answer.seek(0)
        reply = read_answer(self._answer.read())
        if reply is None:
            return self._explain_silent_exit(server)
        lost = reply["failure"] in NOT_THERE
        return "server_crash" if lost else reply["failure"], reply["message"]

    def _start_process(
        self, task: AttemptTask, environment: dict[str, str], directory: Path
    ) -> subprocess.Popen[str]:
        try:
            process = subprocess.Popen(
                build_module_command("harness.campaign.attempt.attempt_process"),
                cwd=directory,
                stdin=subprocess.PIPE,
                stdout=self._answer,
                stderr=self._log,
                text=True,
                env=environment,
                start_new_session=True,
            )
        except OSError as problem:
            raise AttemptError("server_launch", f"no further process: {problem.strerror}") from None
        assert process.stdin
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(task.to_json() + "\n")
        return process

    def _explain_silent_exit(self, server: SimulatorServer) -> Ending:
        """Return the probable reason of an attempt process that exited without a reply."""
        code, last = self._process.wait(), self._read_last_line()
        number = get_exit_signal(code)
        ailment = server.diagnose_server()
        if ailment is not None:
            return ailment.failure, str(ailment)
        out_of_memory = number == signal.SIGKILL and count_kernel_kills() > self._killed_before
        if out_of_memory or "bad_alloc" in last:
            return "agent_out_of_memory", f"the worker was out of memory: {last}".rstrip(": ")
        if number in (signal.SIGKILL, signal.SIGTERM):
            return "interrupted", f"the worker was killed from outside, by signal {number}"
        return "agent_exception", f"the worker ended {describe_exit(code)}: {last}".rstrip(": ")

    def _read_last_line(self) -> str:
        size = os.fstat(self._log.fileno()).st_size
        begin = max(size - TAIL, self._log_began)
        text = os.pread(self._log.fileno(), TAIL, begin).decode(errors="replace")
        return next((line[:SAID] for line in reversed(text.splitlines()) if line.strip()), "")


def explain_timeout(server: SimulatorServer, timeout: float) -> Ending:
    """Return the failure of a try that has exceeded its time limit.

    Where the server answers, either the system hangs or the machine is slow: neither is blamed.
    """
    late = f"no result after {timeout:g} s"
    ailment = server.diagnose_server()
    if ailment is not None:
        return ailment.failure, f"{late}; {ailment}"
    return "attempt_timeout", f"{late} (attempt_timeout); the server still answers"
