"""Planned paths: what a vehicle plans to do in the next seconds, as it is sent and received."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from harness.types.vocabulary import Floats, Pose

PLACE_BYTES, BODY_BYTES = 20, 8
"""Bytes on the air of one place (time, x, y, yaw, speed) and of length and width: float32 each."""

SAME_MOMENT = 1e-6
"""Seconds by which two times may differ and still mean the same moment."""

PrecedenceReason = Literal["cannot_stop", "earlier", "number", "waits"]
"""Why one of two vehicles goes first: the rules of `agents.driving.right_of_way`."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlannedMotion:
    """Where a vehicle plans to be at known times; who holds a plan says in which frame.

    Attributes:
        times: (T,) seconds, ascending; who holds a plan says from which moment on.
        centre: (T, 2) metres, of the body.
        yaw: (T,) radians, of the body.
        speed: (T,) m/s.
        length: of the body, m.
        width: of the body, m.
    """

    times: Floats
    centre: Floats
    yaw: Floats
    speed: Floats
    length: float
    width: float

    @property
    def size_bytes(self) -> int:
        """Bytes on the air."""
        return PLACE_BYTES * len(self.times) + BODY_BYTES

    def count_from(self, moment: float) -> PlannedMotion:
        """Return the plan with times that count from another moment.

        Args:
            moment: in the times of this plan, s.
        """
        return replace(self, times=self.times - moment)

    def drop_past(self) -> PlannedMotion | None:
        """Return the plan from time 0 on; None of a plan that ends before.

        The place at time 0 lies between two places of the plan, in proportion.
        """
        if self.times[-1] <= SAME_MOMENT:
            return None
        times = np.concatenate([[0.0], self.times[self.times > SAME_MOMENT]])
        columns = (*self.centre.T, self.yaw, self.speed)
        x, y, yaw, speed = (np.interp(times, self.times, column) for column in columns)
        return replace(self, times=times, centre=np.stack([x, y], -1), yaw=yaw, speed=speed)

    def place_in(self, source: Pose, target: Pose) -> PlannedMotion:
        """Return the plan in another frame; both poses count in the plane alone.

        Args:
            source: the frame of this plan, in any frame.
            target: the frame of the result, in the same frame.
        """
        between = np.array([source.x - target.x, source.y - target.y])
        out = _turn(self.centre, source.yaw) + between
        yaw = self.yaw + (source.yaw - target.yaw)
        return replace(self, centre=_turn(out, -target.yaw), yaw=yaw)


@dataclass(frozen=True, slots=True, eq=False)
class Intention:
    """A planned path as another vehicle has it by a message.

    Attributes:
        sender: its name, such as `ego-1`.
        motion: times count from now.
    """

    sender: str
    motion: PlannedMotion


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


def _turn(points: Floats, angle: float) -> Floats:
    """Return points (T, 2) turned about the origin."""
    cos, sin = math.cos(angle), math.sin(angle)
    turned: Floats = points @ np.array([[cos, sin], [-sin, cos]])
    return turned
