"""Which jobs Slurm's controller still has.

submitit asks the accounting for it (`sacct`). Many clusters keep no accounts: there, submitit never
learns that a job was lost, and prints a warning at every look.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from threading import Lock

from harness.common.environments import build_child_environment

LOOK_EVERY = 5.0
"""Seconds between two questions to the controller, which answers all of a cluster's users."""
COMPLETING = "COMPLETING"
"""State of a job that has ended, while its node clears up; it lasts where a node is lost."""


class SlurmQueue:
    """The jobs of this user that wait or run; all worker slots ask one queue."""

    def __init__(self, ask: Callable[[], str] | None = None) -> None:
        self._ask = ask or ask_squeue
        self._lock = Lock()
        self._asked = float("-inf")
        self._present: frozenset[str] | None = None

    def has_ended(self, job: str, submitted: float) -> bool:
        """Return whether a job has ended, as of a question that was put after it was submitted.

        Args:
            job: its number.
            submitted: `time.monotonic()` when it was.
        """
        with self._lock:
            if time.monotonic() - self._asked >= LOOK_EVERY:
                self._asked = time.monotonic()
                self._present = self._look()
            return (
                self._present is not None and self._asked > submitted and job not in self._present
            )

    def _look(self) -> frozenset[str] | None:
        """Return the jobs that are there; None where the controller does not answer."""
        try:
            return parse_queue(self._ask())
        except (OSError, subprocess.SubprocessError):
            return None


def ask_squeue() -> str:
    """Return number and state of each job of this user, a line for each."""
    command = ("squeue", f"--user={os.getuid()}", "--noheader", "--format=%A %T")
    return subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        env=build_child_environment(),
    ).stdout


def parse_queue(lines: str) -> frozenset[str]:
    """Return the numbers of jobs that wait or run."""
    pairs = (line.split() for line in lines.splitlines() if line.strip())
    return frozenset(number for number, state in pairs if state != COMPLETING)
