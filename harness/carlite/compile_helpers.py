"""Processes that compile next to a server that finds nothing compiled.

A helper runs the warm-up from another stage on. What one process has compiled, the others load from
disk, so that they meet in the middle (decision 0078).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from types import TracebackType

from harness.carlite import compiled

HELPER_STAGES = (("sensors", "motion"), ("motion", "sensors"))
"""The stages of the warm-up that the first, the second helper begins with."""
HELPERS_LOCK = compiled.FOLDER / ".helpers.lock"
"""Locked by the process whose helpers run: servers that start at once do not start more."""


class CompileHelpers:
    """Processes that compile for this one, from the first function on that is not on disk.

    They exit when it does, and when this block ends.
    """

    def __init__(self, most: int) -> None:
        self._most = min(most, len(HELPER_STAGES))
        self._is_open = False
        self._lock: int | None = None
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> CompileHelpers:
        self._is_open = True
        compiled.add_compile_listener(self.hear_of)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_open = False
        for process in self.processes:
            process.kill()
            process.communicate()
        if self._lock is not None:
            os.close(self._lock)

    def hear_of(self, _: str, is_on_disk: bool) -> None:
        """Hear of a function that is needed for the first time."""
        is_due = self._is_open and self._most > 0 and not (is_on_disk or self.processes)
        if is_due and self._take_turn():
            for stages in HELPER_STAGES[: self._most]:
                with contextlib.suppress(OSError):  # without a helper it takes longer
                    self.processes.append(start_helper(stages))

    def _take_turn(self) -> bool:
        """Return whether no other process has helpers; they could not write to a closed folder."""
        if self._lock is None:
            with contextlib.suppress(OSError):
                compiled.FOLDER.mkdir(parents=True, exist_ok=True)
                self._lock = os.open(HELPERS_LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        return self._lock is not None and compiled.take_lock(self._lock)


def count_spare_cores() -> int:
    """Return how many cores this process may use besides the one it runs on."""
    usable = getattr(os, "sched_getaffinity", None)  # Linux has it
    return (len(usable(0)) if usable else os.cpu_count() or 1) - 1


def start_helper(stages: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """Start a process that runs the warm-up from some stages on, until its stdin is closed."""
    return subprocess.Popen(
        [sys.executable, "-m", "harness.carlite.precompile", *stages],
        cwd=compiled.ROOT,
        env=os.environ,  # that of this process: no configuration and no file adds to it
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
