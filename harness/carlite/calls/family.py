"""How a family of remote calls is written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeAlias

from harness.carlite.errors import CallError
from harness.carlite.rpc import Call, Reply, Session
from harness.carlite.world import World

Arguments = ParamSpec("Arguments")
Run: TypeAlias = Callable[Concatenate[World, Session, Arguments], object]


class Family(dict[str, Call]):
    """Calls by name: each is a function of that name, marked with what its client waits for."""

    def value(self, run: Run[Arguments]) -> Run[Arguments]:
        """Mark a call whose result the client decodes."""
        return self._enter(run, Reply.VALUE)

    def void(self, run: Run[Arguments]) -> Run[Arguments]:
        """Mark a call that only succeeds or fails."""
        return self._enter(run, Reply.VOID)

    def refuse(self, reason: str, reply: Reply, *names: str) -> None:
        """List calls that are known but not served."""
        for name in names:
            self[name] = Call(name, _refusal(f"{name}: {reason}"), reply)

    def accept(self, *names: str) -> None:
        """List calls that have nothing to do here."""
        for name in names:
            self[name] = Call(name, _nothing, Reply.VOID)

    def _enter(self, run: Run[Arguments], reply: Reply) -> Run[Arguments]:
        name = run.__name__
        self[name] = Call(name, run, reply, ticks=name == "tick_cue")
        return run


def _nothing(world: World, session: Session, *arguments: object) -> None:
    """Do what there is to do, which is nothing."""


def _refusal(message: str) -> Callable[..., object]:
    def refuse(world: World, session: Session, *arguments: object) -> object:
        raise CallError(message)

    return refuse
