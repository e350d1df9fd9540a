"""Remote calls, a module per family; each takes the world, the session and what was sent."""

from __future__ import annotations

from harness.carlite.calls import (
    actors,
    batch,
    episode,
    motion,
    physics,
    radio,
    recording,
    scenery,
    signals,
    traffic,
    unsupported,
    vehicles,
    walkers,
)
from harness.carlite.rpc import RemoteCall

FAMILIES = (
    actors,
    episode,
    motion,
    physics,
    radio,
    recording,
    scenery,
    signals,
    traffic,
    unsupported,
    vehicles,
    walkers,
)


def build_call_table() -> dict[str, RemoteCall]:
    """Return every call by its name."""
    return {
        **{name: call for family in FAMILIES for name, call in family.calls.items()},
        batch.CALL.name: batch.CALL,
    }
