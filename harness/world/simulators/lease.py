"""What a simulator lends, and how one sees that it is well."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from harness.common.errors import AttemptError
from harness.world.probe import probe_carla


class LaunchError(AttemptError):
    """A server that did not start, and the end of its log."""

    def __init__(self, message: str, log_tail: str) -> None:
        super().__init__("server_launch", message)
        self.log_tail = log_tail


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorServer:
    """A simulator that answers."""

    host: str
    port: int
    name: str  # "carlite 0.9.16" or "CARLA 0.9.16"
    running: Callable[[], bool]
    log_tail: Callable[[], str]

    def diagnose_server(self) -> AttemptError | None:
        """Ask the server how it is; return what is wrong: server_crash, server_hang or nothing."""
        if not self.running():
            return AttemptError("server_crash", f"{self.name} on port {self.port} has ended")
        try:
            probe_carla(self.host, self.port)
        except AttemptError as problem:
            if problem.failure == "server_hang":
                return problem
            return AttemptError("server_crash", str(problem))
        return None

    def is_alive(self) -> bool:
        """Return whether the server answers."""
        return self.diagnose_server() is None


class Simulator(Protocol):
    """Something that lends servers."""

    name: str
    fresh: bool
    """Whether every try wants a server of its own: then a lease ends with its try."""

    def refuse_town(self, town: str) -> None:
        """Raise UserError if the simulator lacks the town, as far as that is known before."""

    def lease_server(self, town: str) -> AbstractContextManager[SimulatorServer]:
        """Lend a server with that town; what was started for it is ended with the block.

        It also ends with this process, however that ends, and does not depend on the thread that
        asked for it.
        """
