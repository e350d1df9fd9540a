"""Planned paths of vehicles: moved in time, placed in another frame; and who goes first."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from harness.types.vocabulary import Floats, PlannedMotion, Pose

SAME_MOMENT = 1e-6
"""Seconds by which two times may differ and still mean the same moment."""

PrecedenceReason = Literal["cannot_stop", "earlier", "number", "waits"]
"""Why one of two vehicles goes first: the rules of `agents.driving.right_of_way`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precedence:
    """Which of two vehicles whose planned paths conflict goes first.

    Attributes:
        other: the other vehicle's name.
        ego_first: whether the ego goes first; if not, it yields.
        reason: the rule that decided.
        ego_arrival: s from now until the ego would be in the conflict area; NaN: not by this plan.
        other_arrival: the same of the other vehicle.
    """

    other: str
    ego_first: bool
    reason: PrecedenceReason
    ego_arrival: float
    other_arrival: float


def continue_motion(motion: PlannedMotion, moment: float) -> PlannedMotion | None:
    """Return what is left of a plan at a moment, from which its times count; None of an ended one.

    The place at that moment lies between two places of the plan, in proportion.

    Args:
        motion: in any frame.
        moment: in the times of the plan, s.
    """
    planned = motion.times - moment
    if planned[-1] <= SAME_MOMENT:
        return None
    times = np.concatenate([[0.0], planned[planned > SAME_MOMENT]])
    columns = (*motion.centre.T, motion.yaw, motion.speed)
    x, y, yaw, speed = (np.interp(times, planned, column) for column in columns)
    return replace(motion, times=times, centre=np.stack([x, y], -1), yaw=yaw, speed=speed)


def place_motion(motion: PlannedMotion, source: Pose, target: Pose) -> PlannedMotion:
    """Return a plan in another frame; both poses count in the plane alone.

    Args:
        motion: in the frame of `source`.
        source: in any frame.
        target: the frame of the result, given in the same frame as `source`.
    """
    between = np.array([source.x - target.x, source.y - target.y])
    centre = _turn(_turn(motion.centre, source.yaw) + between, -target.yaw)
    return replace(motion, centre=centre, yaw=motion.yaw + (source.yaw - target.yaw))


def _turn(points: Floats, angle: float) -> Floats:
    """Return points (T, 2) turned about the origin."""
    cos, sin = math.cos(angle), math.sin(angle)
    turned: Floats = points @ np.array([[cos, sin], [-sin, cos]])
    return turned
