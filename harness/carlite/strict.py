"""`--strict`: calls that the contract has as approximated are logged or refused.

So are cameras that are spawned, other than in a batch, with attributes that change nothing.

A reply has no room for a warning, so the log has it: one line per remote call, at its first use,
and a last line with the counts when the server ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from harness.carlite import log
from harness.carlite.blueprints.sensors import list_idle_attributes
from harness.carlite.contract import read_contract
from harness.carlite.errors import CallError
from harness.carlite.rpc import RemoteCall
from harness.carlite.wire import codec
from harness.carlite.wire.records import ActorDescription

SPAWNING = ("spawn_actor", "spawn_actor_with_parent")


def list_approximated_calls() -> dict[str, str]:
    """Return what differs, by remote call, with the client's first member that makes the call."""
    notes: dict[str, str] = {}
    for name, rows in read_contract().items():
        for member, row in rows.items():
            if row.status == "approximated" and row.call:
                notes.setdefault(row.call, f"{name}.{member} is approximated: {row.how_far}")
    return notes


class StrictCalls:
    """Counts approximated calls, and refuses them if asked to."""

    def __init__(self, refuses: bool) -> None:
        self._refuses = refuses
        self.used: Counter[str] = Counter()
        self._noted: set[str] = set()

    def wrap_calls(self, table: dict[str, RemoteCall]) -> dict[str, RemoteCall]:
        """Return a table of calls in which the approximated ones are watched."""
        notes = list_approximated_calls()
        watched = {
            name: replace(call, run=self._watch_call(call, notes[name])) if name in notes else call
            for name, call in table.items()
        }
        for name in SPAWNING:
            if name in watched:
                watched[name] = replace(watched[name], run=self._watch_cameras(watched[name]))
        return watched

    def write_summary(self) -> None:
        """Log how often every approximated call was made."""
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.used.items()))
        log.write_log_line(f"strict: approximated calls of this server: {counts or 'none'}")

    def _watch_call(self, call: RemoteCall, note: str) -> Callable[..., object]:
        def run(*arguments: object) -> object:
            self.used[call.name] += 1
            if self.used[call.name] == 1:
                log.write_log_line(f"strict: {note}")
            if self._refuses:
                raise CallError(f"{call.name}: strict: {note}")
            return call.run(*arguments)

        return run

    def _watch_cameras(self, call: RemoteCall) -> Callable[..., object]:
        def run(*arguments: object) -> object:
            wanted = codec.decode_record(ActorDescription, arguments[2])
            values = {one.id: one.value for one in wanted.attributes}
            for name in list_idle_attributes(wanted.id, values):
                note = f"{wanted.id}: {name} = {values[name]} changes nothing in carlite's pictures"
                if note not in self._noted:
                    self._noted.add(note)
                    log.write_log_line(f"strict: {note}")
                if self._refuses:
                    raise CallError(f"{call.name}: strict: {note}")
            return call.run(*arguments)

        return run
