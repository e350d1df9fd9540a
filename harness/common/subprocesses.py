"""Child processes: what they are started with, how they are ended, and how they have ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from harness.common import run_module

PAUSE = 0.05
"""Seconds between two looks at a process."""
BY_SIGNAL = 128
"""What shells add to the number of the signal that ended a process."""


def build_module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module like `python -m`, with Crucible's packages first."""
    return [sys.executable, run_module.__file__, module, *arguments]


class ReapedProcess(Protocol):
    """A process that is reaped elsewhere, and not while it may still be asked about."""

    pid: int

    def poll(self) -> int | None:
        """Return how it ended, if it has."""

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended."""


def is_running(process: subprocess.Popen[Any] | ReapedProcess) -> bool:
    """Return whether a process runs, without reaping it: its process id is not reused yet."""
    if not isinstance(process, subprocess.Popen):
        return process.poll() is None
    if process.returncode is not None:
        return False
    look_only = os.WEXITED | os.WNOHANG | os.WNOWAIT
    try:
        return os.waitid(os.P_PID, process.pid, look_only) is None
    except ChildProcessError:  # our process ignores SIGCHLD
        return False


def end_group(process: subprocess.Popen[Any] | ReapedProcess, patience: float) -> None:
    """End a process and the group that it leads: SIGTERM, some seconds later SIGKILL.

    Args:
        process: leader of the group.
        patience: seconds between SIGTERM and SIGKILL.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        wait_until_true(patience, lambda: not is_running(process))
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def group_is_there(group: int) -> bool:
    """Return whether anything of a group runs; zombies may remain until they are reaped.

    A process is dead with its last thread: while another is still ending, its ports stay taken.
    """
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            state, its_group, threads = fields[0], int(fields[2]), int(fields[17])
            if its_group == group and (state not in "ZX" or threads > 1):
                return True
    return False


def wait_until_true(seconds: float, true: Callable[[], bool]) -> bool:
    """Wait until something is true, but no longer than this.

    Args:
        seconds: at most.
        true: is asked again and again.

    Returns:
        Whether it has become true.
    """
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(PAUSE)
    return True


def get_exit_signal(code: int) -> int:
    """Return the signal that ended a process, 0 for none; shells add 128 to its number."""
    return -code if code < 0 else max(code - BY_SIGNAL, 0)


def describe_exit(code: int) -> str:
    """Return how a process ended by its code: `by signal 9` or `with exit code 1`."""
    number = get_exit_signal(code)
    return f"by signal {number}" if number else f"with exit code {code}"


def count_kernel_kills() -> int:
    """Return how many processes this machine's kernel has killed for lack of memory."""
    try:
        counts = Path("/proc/vmstat").read_text().split()
        return int(counts[counts.index("oom_kill") + 1])
    except (OSError, ValueError):
        return 0
