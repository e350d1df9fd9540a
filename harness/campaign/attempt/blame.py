"""Whose fault an exception is: what systems raise, and bad settings, get their failure classes."""

from __future__ import annotations

from harness.common.errors import AttemptError, UserError


class SystemBlame:
    """Gives whatever a system raises its failure class."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, AttemptError):
            raise AttemptError(
                "agent_exception", f"{type(problem).__name__}: {problem}"
            ) from problem


class SetUpBlame:
    """Gives settings of which something cannot be made the failure class `agent_setup`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, UserError):
            raise AttemptError("agent_setup", str(problem)) from None
