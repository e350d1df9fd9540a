"""The client's crowd: in every tick one batch moves all of its walkers, and they are led together.

What is not such a batch through and through is left to the commands one by one, which say what is
wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, tau
from typing import NamedTuple

import numpy as np

from harness.carlite.actors import Kind
from harness.carlite.arrays import Floats
from harness.carlite.calls.walkers import FASTEST
from harness.carlite.wire import codec
from harness.carlite.world import World

WALKER_STATE = 7
"""The number of `ApplyWalkerState` among the commands."""
FOLDED_EXACTLY = 3 * pi
"""Angles up to which taking off one turn is exact."""


class Crowd(NamedTuple):
    """Walkers and where they are to be, a row each."""

    ids: list[int]
    locations: Floats
    rotations: Floats  # radians, folded
    speeds: Floats


def lead(world: World, commands: Sequence[object]) -> list[object] | None:
    """Lead the walkers of a batch and return the answers; None if not all commands do that."""
    crowd = crowd_in(commands)
    if crowd is None or not all_walkers(world, crowd.ids):
        return None
    world.episode.motion.lead_walkers(*crowd)
    return [[[1, actor]] for actor in crowd.ids]


def crowd_in(commands: Sequence[object]) -> Crowd | None:
    """Return what a batch says; None if one command is of another kind, or out of the ordinary."""
    ids: list[int] = []
    rows: list[tuple[float, ...]] = []
    for command in commands:
        match command:
            case [
                [
                    int(number),
                    [
                        int(actor),
                        [
                            [float(x), float(y), float(z)],
                            [float(pitch), float(yaw), float(roll)],
                        ],
                        float(speed),
                    ],
                ]
            ] if number == WALKER_STATE and type(actor) is int:
                ids.append(actor)
                rows.append((x, y, z, pitch, yaw, roll, speed))
            case _:
                return None
    if not ids:
        return None
    values = np.array(rows)
    angles = np.radians(values[:, 3:6])
    if not ((np.abs(values) <= codec.LARGEST).all() and (np.abs(angles) <= FOLDED_EXACTLY).all()):
        return None
    folded = np.where(np.abs(angles) > pi, angles - np.copysign(tau, angles), angles)
    return Crowd(ids, values[:, :3], folded, np.clip(values[:, 6], -FASTEST, FASTEST))


def all_walkers(world: World, ids: Sequence[int]) -> bool:
    """Return whether these are walkers, each of them once."""
    residents = map(world.episode.population.get, ids)
    return len(set(ids)) == len(ids) and all(
        resident is not None and resident.kind == Kind.WALKER for resident in residents
    )
