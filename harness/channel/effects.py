"""The effect of a disturbance on delivered messages: their age, displacement and content.

A system is given messages at planning steps. Without any disturbance it would be given, of every
partner in range, the message of the same step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.errors import AttemptError
from harness.geometry import boxes_between, points_between, relative, wrapped
from harness.vocabulary import Boxes, Features, Payload, Points, Pose

Shift: TypeAlias = tuple[float, float, float]
"""Metres in x and y, radians of yaw."""
NO_SHIFT: Shift = (0.0, 0.0, 0.0)
Window: TypeAlias = tuple[float, float]
"""Metres ahead or behind the ego's LiDAR, and aside: what lies farther, a system does not use."""
EVERYWHERE: Window = (math.inf, math.inf)

LEAST_METRES = 1e-3
LEAST_RADIANS = math.radians(0.01)
"""Displacements below both are none."""


@dataclass(slots=True, kw_only=True)
class Effects:
    """Messages at planning steps, counted by what was different from an undisturbed channel."""

    uses: int = 0  # messages given to the system, step by step
    late: int = 0  # of those, captured at an earlier step
    displaced: int = 0  # by 1 mm or 0.01 degrees at least, as seen from the ego
    changed: int = 0  # other content within the system's window
    missing: int = 0  # partners in range of which the system was given nothing

    @property
    def none(self) -> bool:
        """Whether everything reached the system as if there were no disturbance."""
        return not (self.late or self.displaced or self.changed or self.missing)


def displaces(shift: Shift) -> bool:
    """Return whether a displacement counts as one."""
    return math.hypot(shift[0], shift[1]) >= LEAST_METRES or abs(wrapped(shift[2])) >= LEAST_RADIANS


def shift_between(believed: Pose, true: Pose) -> Shift:
    """Return how far a believed pose is from the true one."""
    return believed.x - true.x, believed.y - true.y, wrapped(believed.yaw - true.yaw)


def seen_shift(sender: tuple[Pose, Pose], ego: tuple[Pose, Pose]) -> Shift:
    """Return how far off a sender is as seen from the ego; both come as (believed, true) poses.

    An error that the two share moves nothing.
    """
    if sender[0] == sender[1] and ego[0] == ego[1]:
        return NO_SHIFT
    believed, true = (relative(*pair) for pair in zip(sender, ego, strict=True))
    return shift_between(believed, true)


def arrays(payload: Payload) -> list[np.ndarray]:
    """Return all that a payload holds."""
    if isinstance(payload, Boxes):
        return [payload.geometry, payload.classes, payload.scores]
    if isinstance(payload, Points):
        return [payload.in_lidar]
    if isinstance(payload, Features):
        return list(payload.maps)
    sent = type(payload).__name__
    raise AttemptError("agent_exception", f"share returned {sent}, not Boxes, Points or Features")


def differ(one: Payload, other: Payload) -> bool:
    """Return whether two payloads have different content."""
    pairs = zip(arrays(one), arrays(other), strict=False)
    same_parts = type(one) is type(other) and len(arrays(one)) == len(arrays(other))
    return not (same_parts and all(np.array_equal(a, b) for a, b in pairs))


def differ_within(one: Payload, other: Payload, *, sender: Pose, ego: Pose, window: Window) -> bool:
    """Return whether the system could find a difference: one within its window round the ego.

    Feature maps are compared as a whole.
    """
    return differ(*(within(payload, sender, ego, window) for payload in (one, other)))


def within(payload: Payload, sender: Pose, ego: Pose, window: Window) -> Payload:
    """Return the part of a payload that reaches into a window round the ego."""
    if isinstance(payload, Boxes):
        placed = boxes_between(payload, sender, ego).geometry
        reach = np.hypot(placed[:, 3], placed[:, 4])[:, None] / 2
        return payload[np.all(np.abs(placed[:, :2]) - reach <= window, axis=1)]
    if isinstance(payload, Points):
        xy = points_between(payload.in_lidar, sender, ego)[:, :2]
        return Points(payload.in_lidar[np.all(np.abs(xy) <= window, axis=1)])
    return payload


def join_names(names: Iterable[str]) -> str:
    """Return names as a list in words."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
