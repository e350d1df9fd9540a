"""Post-encroachment time: how long after one road user another is at the same place."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.evaluation.surrogates.boxes import build_rectangles, find_overlapping_pairs
from harness.evaluation.surrogates.motion import RoadUserMotion
from harness.evaluation.surrogates.rules import SurrogateRules
from harness.types.vocabulary import Floats, Integers

STRIDE = 4
"""Ticks in a block of the coarse search."""


def compute_post_encroachment_time(motion: RoadUserMotion, rules: SurrogateRules) -> float:
    """Return the smallest post-encroachment time of the ego and anyone, s, `horizon` at most.

    Allen, Shin and Cooper 1978 (Transportation Research Record 667): the time from the moment at
    which one road user leaves the point of a possible collision to the moment at which the other
    arrives there. Here, over all places that both bodies cover while both move and cross: the
    smallest time between a tick of the ego and a tick of the other in which their boxes overlap.
    Ways cross if their directions differ by more than `crossing_angle`; following does not count.

    Args:
        motion: the ego and the road users near it.
        rules: the horizon, and what counts as moving and as crossing.

    Returns:
        Seconds.
    """
    # (T, 2) and (N, 2)
    velocity, theirs = motion.compute_ego_velocity(), motion.compute_velocity()
    ego_ticks = np.flatnonzero(np.hypot(*velocity.T) >= rules.moving)
    moving = np.hypot(*theirs.T) >= rules.moving
    least = rules.horizon
    # one road user after another: the smallest time so far bounds the search for the next
    for actor in np.unique(motion.actor[moving]):
        rows = np.flatnonzero(moving & (motion.actor == actor))
        pairs = find_near_pairs(motion, ego_ticks, rows, least)
        if len(pairs):
            least = min(least, compute_smallest_wait(motion, pairs, (velocity, theirs), rules))
    return least


def find_near_pairs(
    motion: RoadUserMotion, ego_ticks: Integers, rows: Integers, longest: float
) -> Integers:
    """Return pairs (K, 2) of the ego's ticks and another's rows that may overlap.

    Blocks of ticks are compared first, with the room in which their members stay.

    Args:
        motion: the ego and the road users near it.
        ego_ticks: ticks in which the ego moves.
        rows: rows of one road user.
        longest: seconds; pairs farther apart in time are left out.
    """
    if not len(ego_ticks) or not len(rows):
        return np.zeros((0, 2), np.int64)
    # blocks of both, and the reach at which two bodies can touch
    ours = TickBlocks.from_places(ego_ticks, motion.ego[ego_ticks, :2])
    theirs = TickBlocks.from_places(motion.tick[rows], motion.place[rows, :2])
    reach = (math.hypot(*motion.ego_size[:2]) + math.hypot(*motion.size[rows[0], :2])) / 2
    reach += ours.room + theirs.room
    # (B ego, B other) blocks that are near in space and in time
    away = np.hypot(ours.xy[:, None, 0] - theirs.xy[:, 0], ours.xy[:, None, 1] - theirs.xy[:, 1])
    wait = np.abs(ours.number[:, None] - theirs.number) - 1
    near = (away <= reach) & (wait * STRIDE * motion.tick_seconds < longest)
    first, second = np.nonzero(near)
    # all members of near blocks in pairs: (near, STRIDE, STRIDE)
    steps = np.arange(STRIDE)
    inside = (steps < ours.count[first][:, None])[:, :, None]
    inside = inside & (steps < theirs.count[second][:, None])[:, None, :]
    pair, ego_step, step = np.nonzero(inside)
    ticks = ego_ticks[ours.first[first[pair]] + ego_step]
    others = rows[theirs.first[second[pair]] + step]
    # (K,) seconds between the two ticks
    waits = np.abs(ticks - motion.tick[others]) * motion.tick_seconds
    return np.asarray(np.column_stack([ticks, others])[waits < longest])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TickBlocks:
    """Places in blocks of ticks."""

    number: Integers  # (B,) tick over STRIDE
    first: Integers  # (B,) index of the first place
    count: Integers  # (B,) places
    xy: Floats  # (B, 2) the first place
    room: float  # m from a first place within which all places of its block are

    @staticmethod
    def from_places(ticks: Integers, xy: Floats) -> TickBlocks:
        """Return the blocks of places, given in the order of their ticks."""
        number, first, count = np.unique(ticks // STRIDE, return_index=True, return_counts=True)
        away = xy - np.repeat(xy[first], count, axis=0)
        room = float(np.hypot(*away.T).max())
        return TickBlocks(number=number, first=first, count=count, xy=xy[first], room=room)


def compute_smallest_wait(
    motion: RoadUserMotion,
    pairs: Integers,
    velocities: tuple[Floats, Floats],
    rules: SurrogateRules,
) -> float:
    """Return the smallest time between two ticks of crossing ways whose boxes overlap.

    Args:
        motion: the ego and the road users near it.
        pairs: (K, 2) tick of the ego and row of the other.
        velocities: (T, 2) of the ego and (N, 2) of the others, m/s.
        rules: from which angle on two ways cross.

    Returns:
        Seconds; infinite if no pair overlaps.
    """
    ticks, rows = pairs.T
    # (K,) the angle between the directions of motion
    turn = np.arctan2(*velocities[0][ticks].T[::-1]) - np.arctan2(*velocities[1][rows].T[::-1])
    angle = np.abs(np.remainder(turn + np.pi, 2 * np.pi) - np.pi)
    crossing = angle > math.radians(rules.crossing_angle)
    ticks, rows = ticks[crossing], rows[crossing]
    # (K, 5): the exact test of the pairs that are left
    ours = build_rectangles(motion.ego[ticks], motion.ego_size)
    theirs = build_rectangles(motion.place[rows], motion.size[rows])
    waits = (
        np.abs(ticks - motion.tick[rows])[find_overlapping_pairs(ours, theirs)]
        * motion.tick_seconds
    )
    return float(waits.min(initial=np.inf))
