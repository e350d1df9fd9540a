"""Test processes that die: by which signal, and once more if the client library was in them.

Nothing of ours in Python ends a process by a signal; the client library now and then does, when
the world is loaded under it. A worker that dies in a test which uses it costs one more run of that
test, and a child process of a test one more run of the child; the summary says so, and a second
death is a failure. Any other failure is one at once.
"""

from __future__ import annotations

import re
import signal
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest

FOREIGN = re.compile(r"\bcarla\b")
"""What a file holds whose tests use the client library in their own process."""
AGAIN = "died"


def outlived(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a child process that uses the client library, and fail with what it said if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    if died(done.returncode):
        warnings.warn(f"{ended(done.returncode)}, run once more: {command}", stacklevel=2)
        done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    refuse_failed(done)
    return done


def refuse_failed(done: subprocess.CompletedProcess[str]) -> None:
    """Fail with what a child process said last, and with the name of the signal that ended it."""
    assert done.returncode == 0, f"{ended(done.returncode)}\n{done.stderr[-5000:]}"


def died(code: int) -> bool:
    """Return whether a child process ended as the client library ends one."""
    return -code in {signal.SIGABRT, signal.SIGSEGV}


def ended(code: int) -> str:
    """Return how a child process ended."""
    return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def uses_the_client(test: str) -> bool:
    """Return whether a test's file uses the client library."""
    file = Path(test.partition("::")[0])
    return file.is_file() and FOREIGN.search(file.read_text()) is not None


class Again:
    """Runs tests whose worker died once more, and lists them."""

    def __init__(self) -> None:
        self.died: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        """Put a test back, if the client library may have ended its process, and only once."""
        if crashitem not in self.died and uses_the_client(crashitem):
            self.died.append(crashitem)
            report.outcome = AGAIN
            sched.mark_test_pending(crashitem)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Show a death that is not yet a failure."""
        return (AGAIN, "D", "DIED") if report.outcome == AGAIN else None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """List them."""
        for test in self.died:
            terminalreporter.write_line(f"its process died, run once more: {test}")
