"""Calls that move walkers."""

from __future__ import annotations

import numpy as np

from harness.carlite.actors import Kind
from harness.carlite.calls.family import Family
from harness.carlite.calls.motion import slot_of
from harness.carlite.rpc import Reply, Session
from harness.carlite.wire import codec
from harness.carlite.wire.records import Transform, WalkerControl
from harness.carlite.world import World

calls = Family()
FASTEST = 100.0


@calls.void
def apply_control_to_walker(world: World, session: Session, actor: object, control: object) -> None:
    """Let a walker walk."""
    wanted = codec.read(WalkerControl, control)
    slot = slot_of(world, actor, Kind.WALKER)
    table = world.episode.table
    length = float(np.linalg.norm(wanted.direction))
    table.walk_direction[slot] = np.array(wanted.direction) / max(length, 1.0)
    table.walk_speed[slot] = min(max(wanted.speed, 0.0), FASTEST)
    table.jump[slot] = wanted.jump


def put(world: World, actor: object, transform: Transform, speed: float) -> None:
    """Put a walker where the client's crowd has it now; its feet stay on the ground."""
    number = codec.integer(actor, "actor")
    world.episode.population.find(number, Kind.WALKER)
    pace = min(max(speed, -FASTEST), FASTEST)
    location, rotation = np.array([transform.location]), np.array([transform.rotation])
    world.episode.motion.lead_walkers([number], location, rotation, np.array([pace]))


calls.refuse(
    "walkers have no skeleton here",
    Reply.VALUE,
    "get_bones_transform",
)
calls.refuse(
    "walkers have no skeleton here",
    Reply.VOID,
    "set_bones_transform",
    "blend_pose",
    "get_pose_from_animation",
)
