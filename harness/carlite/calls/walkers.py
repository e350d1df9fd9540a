"""Calls that move walkers."""

from __future__ import annotations

import numpy as np

from harness.carlite.actors import ActorKind
from harness.carlite.calls.family import CallFamily
from harness.carlite.calls.motion import find_actor_slot
from harness.carlite.rpc import ClientSession, ReplyKind
from harness.carlite.wire import codec
from harness.carlite.wire.records import Transform, WalkerControl
from harness.carlite.world import ServerWorld

calls = CallFamily()
FASTEST = 100.0


@calls.register_void
def apply_control_to_walker(
    world: ServerWorld, session: ClientSession, actor: object, control: object
) -> None:
    """Let a walker walk; the dead do not."""
    wanted = codec.decode_record(WalkerControl, control)
    slot = find_actor_slot(world, actor, ActorKind.WALKER)
    table = world.episode.table
    if table.dead[slot]:
        return
    length = float(np.linalg.norm(wanted.direction))
    table.walk_direction[slot] = np.array(wanted.direction) / max(length, 1.0)
    table.walk_speed[slot] = min(max(wanted.speed, 0.0), FASTEST)
    table.jump[slot] = wanted.jump


def place_walker(world: ServerWorld, actor: object, transform: Transform, speed: float) -> None:
    """Put a walker where the client's crowd has it now; its feet stay on the ground."""
    number = codec.decode_integer(actor, "actor")
    world.episode.population.find_resident(number, ActorKind.WALKER)
    pace = min(max(speed, -FASTEST), FASTEST)
    location, rotation = np.array([transform.location]), np.array([transform.rotation])
    world.episode.motion.lead_walkers([number], location, rotation, np.array([pace]))


calls.refuse_calls(
    "walkers have no skeleton here",
    ReplyKind.VALUE,
    "get_bones_transform",
)
calls.refuse_calls(
    "walkers have no skeleton here",
    ReplyKind.VOID,
    "set_bones_transform",
    "blend_pose",
    "get_pose_from_animation",
)
