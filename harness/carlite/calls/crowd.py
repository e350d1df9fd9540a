"""The client's crowd: in every tick one batch moves all of its walkers, and they are led together.

What is not such a batch through and through is left to the commands one by one, which say what is
wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, tau
from typing import Any, NamedTuple

import numpy as np

from harness.carlite.actors import ActorKind
from harness.carlite.arrays import Floats
from harness.carlite.calls.walkers import FASTEST
from harness.carlite.wire import codec
from harness.carlite.world import ServerWorld

WALKER_STATE = 7
"""The number of `ApplyWalkerState` among the commands."""
WIDTH = 9
"""Numbers in such a command, with its own and the actor's."""
FOLDED_EXACTLY = 3 * pi
"""Angles up to which taking off one turn is exact."""


class WalkerCrowd(NamedTuple):
    """Walkers and where they are to be, a row each."""

    ids: list[int]
    locations: Floats
    rotations: Floats  # radians, folded
    speeds: Floats


def lead_crowd(world: ServerWorld, commands: Sequence[Any]) -> list[object] | None:
    """Lead the walkers of a batch and return the answers; None if not all commands do that."""
    crowd = parse_crowd(commands)
    if crowd is None or not has_only_walkers(world, crowd.ids):
        return None
    world.episode.motion.lead_walkers(*crowd)
    return [[[1, actor]] for actor in crowd.ids]


def parse_crowd(commands: Sequence[Any]) -> WalkerCrowd | None:
    """Return what a batch says; None if one command is of another kind, or out of the ordinary.

    Unpacking all levels in one go takes a tenth of the time of looking at each.
    """
    flat: list[Any] = []
    # one flat list; anything of another form ends here
    try:
        for ((number, (actor, ((x, y, z), (pitch, yaw, roll)), speed)),) in commands:
            flat += (number, actor, x, y, z, pitch, yaw, roll, speed)
    except (TypeError, ValueError):
        return None
    # only moves of walkers, with whole ids and numbers
    numbers, ids = flat[::WIDTH], flat[1::WIDTH]
    if set(numbers) != {WALKER_STATE} or set(map(type, [*numbers, *ids])) != {int}:
        return None
    if not set(map(type, flat)) <= {int, float}:
        return None
    # (walkers, 7): place, angles, speed
    values = np.array(flat, np.float64).reshape(-1, WIDTH)[:, 2:]
    angles = np.radians(values[:, 3:6])
    if not ((np.abs(values) <= codec.LARGEST).all() and (np.abs(angles) <= FOLDED_EXACTLY).all()):
        return None
    # angles within half a turn
    folded = np.where(np.abs(angles) > pi, angles - np.copysign(tau, angles), angles)
    return WalkerCrowd(ids, values[:, :3], folded, np.clip(values[:, 6], -FASTEST, FASTEST))


def has_only_walkers(world: ServerWorld, ids: Sequence[int]) -> bool:
    """Return whether these are walkers, each of them once."""
    residents = map(world.episode.population.get_resident, ids)
    return len(set(ids)) == len(ids) and all(
        resident is not None and resident.kind == ActorKind.WALKER for resident in residents
    )
