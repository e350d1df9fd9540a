"""One small interface, several executors behind it.

An executor opens worker slots. A slot runs one try after another, with its own simulator, on any
machine; the runner assigns the tries, one thread for each slot, and alone writes the
ledger.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.settings.declared import PartSettings
from harness.common.errors import UserError
from harness.common.installation import format_missing_package
from harness.records.keys import AttemptKey
from harness.world.simulators import Simulator

ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
"""Of attempt processes: one thread, and feature maps that are freed stay at hand for the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """What all tries of a campaign share: plain data that can be sent to other machines.

    Attributes:
        folder: of the campaign.
        town: its name.
        simulator: settings of the simulator.
    """

    folder: Path
    town: str
    simulator: PartSettings[Simulator]
    attempt_timeout: float  # s of wall-clock per try
    memory_limit: float | None  # GiB a try may take
    environment: dict[str, str]  # of the attempt processes, added to their machine's own
    directory: Path  # that paths in settings are relative to
    live: str | None = None  # address of the viewer that shows attempts while they are driven


class WorkerSlot(Protocol):
    """Runs one try after another."""

    def do(self, key: AttemptKey, number: int) -> AttemptOutcome:
        """Return how a try ended; nothing is raised, and nothing of the try is left running.

        Args:
            key: the attempt.
            number: of its try.
        """

    def position(self) -> DrivePosition | None:
        """Return how far the current try has driven, if that is known; from another thread."""

    def stop(self) -> None:
        """End the current try as `interrupted`, soon; called from another thread."""

    def rest(self) -> None:
        """Release what other workers of a cluster may be waiting for; `do` gets it again."""

    def close(self) -> None:
        """Release everything."""


class Executor(Protocol):
    """Opens worker slots."""

    workers: int
    memory_limit: float | None

    def slots(self, work: TaskSettings, count: int) -> AbstractContextManager[list[WorkerSlot]]:
        """Open that many worker slots."""


def check_worker_limits(workers: int, memory_limit: float | None) -> None:
    """Refuse less than one worker, and a memory limit of 0 or less.

    Args:
        workers: attempts at a time.
        memory_limit: GiB; None: no limit.
    """
    if workers < 1:
        raise UserError(f"configuration: executor.workers = {workers}: must be ≥ 1")
    if memory_limit is not None and memory_limit <= 0:
        raise UserError(f"configuration: executor.memory_limit = {memory_limit}: must be > 0")


def import_extra(name: str, of: str) -> Any:
    """Return a module that an extra brings.

    Args:
        name: of the module.
        of: the executor, which is also the extra.

    Raises:
        UserError: it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise UserError(
            f"configuration: executor={of}: {format_missing_package(name, of)}"
        ) from None
