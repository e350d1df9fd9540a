"""Whose fault an exception is: what a system raises gets its failure class."""

from __future__ import annotations

from harness.common.errors import AttemptError


class SystemBlame:
    """Gives whatever a system raises its failure class."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, Exception) and not isinstance(problem, AttemptError):
            raise AttemptError(
                "agent_exception", f"{type(problem).__name__}: {problem}"
            ) from problem
