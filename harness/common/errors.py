"""What may go wrong, by name."""

from __future__ import annotations

from typing import Literal

FailureClass = Literal[
    "server_launch",
    "server_crash",
    "server_hang",
    "rpc_timeout",
    "port_conflict",
    "world_load",
    "sensor_timeout",
    "agent_setup",
    "agent_exception",
    "agent_out_of_memory",
    "attempt_timeout",
    "route_invalid",
    "scenario_error",
    "disk",
    "interrupted",
    "interference_not_delivered",
    "metric_exception",
]


class UserError(Exception):
    """Something the user can put right: one clear line naming file, place and fix; exit code 2."""


class AttemptError(Exception):
    """An attempt that gives no result, by the name of its failure class.

    Args:
        failure: one of the failure classes, such as `server_crash`.
        message: one line for the user.
    """

    def __init__(self, failure: FailureClass, message: str) -> None:
        super().__init__(message)
        self.failure: FailureClass = failure

    def __reduce__(self) -> tuple[type[AttemptError], tuple[FailureClass, str]]:
        """Pickle with both arguments: it is raised in processes, too."""
        return type(self), (self.failure, str(self))


class ScenarioError(RuntimeError):
    """A hazard failed though it had a place.

    The client library raises RuntimeError for a server that has exited, too: a session checks that
    the server still answers before it blames the hazard.
    """
