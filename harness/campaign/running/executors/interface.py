"""One small interface, several executors behind it.

An executor opens hands. A hand does one try after another, with a simulator of its own, wherever it
is; the runner gives it the tries, one thread for each hand, and is the only one who keeps the
ledger.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from harness.campaign.attempt.tasks import Outcome
from harness.campaign.settings.config import Settings
from harness.errors import UserError
from harness.installation import missing
from harness.records.keys import AttemptKey


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What all tries of a campaign have in common: plain data, to be sent anywhere."""

    folder: Path
    town: str
    simulator: Settings
    attempt_timeout: float  # s of wall-clock per try
    memory_limit: float | None  # GiB a try may take
    environment: dict[str, str]  # of the worker processes, besides their machine's own
    directory: Path  # that paths in settings are relative to


class WorkerSlot(Protocol):
    """Does one try after another."""

    def do(self, key: AttemptKey, number: int) -> Outcome:
        """Return how a try ended; nothing is raised, and nothing of the try is left running."""

    def stop(self) -> None:
        """End the try in hand as `interrupted`, soon; called from another thread."""

    def close(self) -> None:
        """Give everything back."""


class Executor(Protocol):
    """Opens hands."""

    workers: int
    memory_limit: float | None

    def slots(self, work: TaskSettings, count: int) -> AbstractContextManager[list[WorkerSlot]]:
        """Lend that many hands."""


def check(workers: int, memory_limit: float | None) -> None:
    """Refuse to work without workers or without memory."""
    if workers < 1:
        raise UserError(f"configuration: executor.workers is {workers}; 1 or more are needed")
    if memory_limit is not None and memory_limit <= 0:
        raise UserError(
            f"configuration: executor.memory_limit is {memory_limit}; it must be above 0"
        )


def extra(name: str, of: str) -> Any:
    """Return a module that an extra brings."""
    try:
        return import_module(name)
    except ImportError:
        raise UserError(f"configuration: executor={of}: {missing(name, of)}") from None
