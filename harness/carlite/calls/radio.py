"""What custom V2X sensors send."""

from __future__ import annotations

from harness.carlite.calls.family import CallFamily
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.world import ServerWorld

calls = CallFamily()


@calls.register_void
def send(world: ServerWorld, session: ClientSession, actor: object, message: object) -> None:
    """Send a text once, in the next tick."""
    text = codec.decode_text(message, "message").encode(errors="surrogateescape")
    world.episode.observation.air.queue_text(codec.decode_integer(actor, "actor"), text)
