"""How a family of remote calls is written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeAlias

from harness.carlite.errors import CallError
from harness.carlite.rpc import ClientSession, RemoteCall, ReplyKind
from harness.carlite.world import ServerWorld

Arguments = ParamSpec("Arguments")
Run: TypeAlias = Callable[Concatenate[ServerWorld, ClientSession, Arguments], object]


class CallFamily(dict[str, RemoteCall]):
    """Calls by name: each is a function of that name, marked with what its client waits for."""

    def register_value(self, run: Run[Arguments]) -> Run[Arguments]:
        """Mark a call whose result the client decodes."""
        return self._enter_call(run, ReplyKind.VALUE)

    def register_void(self, run: Run[Arguments]) -> Run[Arguments]:
        """Mark a call that only succeeds or fails."""
        return self._enter_call(run, ReplyKind.VOID)

    def refuse_calls(self, reason: str, reply: ReplyKind, *names: str) -> None:
        """List calls that are known but not served."""
        for name in names:
            self[name] = RemoteCall(name, _make_refusal(f"{name}: {reason}"), reply)

    def accept_calls(self, *names: str) -> None:
        """List calls that have nothing to do here."""
        for name in names:
            self[name] = RemoteCall(name, _do_nothing, ReplyKind.VOID)

    def _enter_call(self, run: Run[Arguments], reply: ReplyKind) -> Run[Arguments]:
        name = run.__name__
        self[name] = RemoteCall(name, run, reply, ticks=name == "tick_cue")
        return run


def _do_nothing(world: ServerWorld, session: ClientSession, *arguments: object) -> None:
    """Do what there is to do, which is nothing."""


def _make_refusal(message: str) -> Callable[..., object]:
    def refuse(world: ServerWorld, session: ClientSession, *arguments: object) -> object:
        raise CallError(message)

    return refuse
