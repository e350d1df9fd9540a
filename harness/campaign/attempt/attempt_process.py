"""One try in a process of its own, which reads its task from standard input, or was forked with it.

The client library may abort its process; here that costs one try and nothing else. The process
forks once more: one half runs the attempt, the other kills whatever is left of the group when the
attempt or the process that started it has exited. That half also copies what the attempt prints
into the log, within a bound: a system may print without end.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import traceback
from contextlib import suppress

from harness.campaign.attempt.tasks import (
    AttemptTask,
    DrivePosition,
    Report,
    format_position,
    make_reply,
)
from harness.common.bounded_log import BoundedLog, LogPipe, shorten_message
from harness.common.errors import AttemptError, FailureClass, UserError
from harness.world.simulators import LINUX, end_with_parent

GIB = 1 << 30
PAUSE = 0.05
NO_MEMORY = ("can't allocate memory", "out of memory")
"""What torch writes when out of memory, on a processor and on a GPU."""


def run_attempt_process() -> None:
    """Run the attempt that standard input names."""
    task = AttemptTask.from_json(sys.stdin.readline())
    sys.exit(fork_and_supervise(task, task.parent))


def fork_and_supervise(task: AttemptTask, parent: int) -> int:
    """Run the attempt in one process and supervise it from the other; return its exit code."""
    output = LogPipe(BoundedLog(sys.stderr.fileno()))
    player = os.fork()
    if player:
        output.leave_writing_to_child()
        return wait_for_player(player, parent, output)
    if LINUX:
        end_with_parent()
    answers = os.dup(sys.stdout.fileno())
    output.take_as_output()  # what systems print belongs in the log
    reply = run_task_to_reply(task, lambda position: write_position(answers, position))
    os.write(answers, b"\n" + reply.encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the client library's threads do not always end by themselves


def wait_for_player(player: int, parent: int, output: LogPipe) -> int:
    """Wait for the attempt and copy what it prints; return its exit code as shells do.

    Without a parent, kill all.
    """
    while os.getppid() == parent:
        pid, status = os.waitpid(player, os.WNOHANG)
        if pid:
            output.copy(0.0)
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        output.copy(PAUSE)
    os.killpg(0, signal.SIGKILL)
    raise AssertionError("unreachable")


def write_position(handle: int, position: DrivePosition) -> None:
    """Report how far the attempt has driven, if that can be written."""
    with suppress(OSError):
        os.write(handle, format_position(position).encode())


def run_task_to_reply(task: AttemptTask, report: Report) -> str:
    """Run the attempt and return the reply."""
    if task.memory_limit is not None:
        limit_process_memory(task.memory_limit)
    try:
        from harness.campaign.attempt.attempt import run_attempt_task  # noqa: PLC0415 - takes a second

        return make_reply(None, run_attempt_task(task, report))
    except Exception as problem:
        failure, message = classify_exception(problem)
        if failure.startswith("agent"):
            traceback.print_exc()
        return make_reply(failure, message)


def limit_process_memory(most: float) -> None:
    """Take no more memory than this many GiB, or than this process may take as it is."""
    _, allowed = resource.getrlimit(resource.RLIMIT_DATA)
    ceiling = sys.maxsize if allowed == resource.RLIM_INFINITY else allowed
    limit = int(min(most * GIB, ceiling))
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def classify_exception(problem: Exception) -> tuple[FailureClass, str]:
    """Return the failure class of an exception, and its message."""
    text = shorten_message(" ".join(str(problem).split()))
    if is_out_of_memory(problem):
        return "agent_out_of_memory", text or "out of memory"
    if isinstance(problem, AttemptError):
        return problem.failure, text
    if isinstance(problem, UserError):
        return "route_invalid", text
    return "agent_exception", f"{type(problem).__name__}: {text}"


def is_out_of_memory(problem: BaseException | None) -> bool:
    """Return whether an exception, or one that led to it, is about memory."""
    while problem is not None:
        text = str(problem).lower()
        if isinstance(problem, MemoryError) or any(phrase in text for phrase in NO_MEMORY):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


if __name__ == "__main__":
    run_attempt_process()
