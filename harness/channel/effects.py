"""The effect of a disturbance on delivered messages: their age, displacement and content.

A system is given messages at planning steps. Without any disturbance it would be given, of every
partner in range, the message of the same step. Why effects are measured at delivery: decision 0035.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from harness.common.errors import AttemptError
from harness.types.geometry import (
    compute_relative_pose,
    transform_boxes,
    transform_points,
    wrap_angle,
)
from harness.types.vocabulary import Boxes, Features, Payload, Points, Pose


class Shift(NamedTuple):
    """How far a believed pose is from the true one: in the world, angle by angle."""

    x: float = 0.0  # m
    y: float = 0.0  # m
    yaw: float = 0.0  # rad
    z: float = 0.0  # m
    pitch: float = 0.0  # rad
    roll: float = 0.0  # rad

    @property
    def metres(self) -> float:
        """The distance."""
        return math.hypot(self.x, self.y, self.z)

    @property
    def radians(self) -> float:
        """The largest of the angles."""
        return max(abs(wrap_angle(angle)) for angle in (self.yaw, self.pitch, self.roll))


NO_SHIFT = Shift()
Window: TypeAlias = tuple[float, float]
"""Metres ahead or behind the ego's LiDAR, and aside: what lies farther, a system does not use."""
EVERYWHERE: Window = (math.inf, math.inf)

LEAST_METRES = 1e-3
LEAST_RADIANS = math.radians(0.01)
"""Displacements below both are none: of the distance, and of each angle."""


@dataclass(slots=True, kw_only=True)
class MessageEffects:
    """Messages at planning steps, counted by what was different from an undisturbed channel."""

    uses: int = 0  # messages given to the system, step by step
    late: int = 0  # of those, captured at an earlier step
    displaced: int = 0  # by 1 mm or 0.01 degrees at least, as seen from the ego
    changed: int = 0  # other content within the system's window
    missing: int = 0  # partners in range of which the system was given nothing
    sensed: int = 0  # sweeps not as in dry air, and looks of disturbed cameras; the ego's too
    misdated: int = 0  # of uses, with another stamp than the time of capture
    held: int = 0  # planning steps at which the driver had no answer of that step
    answered: int = 0  # planning steps at which it had one
    answer_age: float = 0.0  # s, of the answers that it had, summed
    answer_moved: float = 0.0  # m that the ego moved since these answers' sweeps, summed

    @property
    def none(self) -> bool:
        """Whether everything reached the system as if there were no disturbance."""
        counts = (self.late, self.displaced, self.changed, self.missing)
        return not any((*counts, self.sensed, self.misdated, self.held))


def is_displacement(shift: Shift) -> bool:
    """Return whether a displacement counts as one."""
    return shift.metres >= LEAST_METRES or shift.radians >= LEAST_RADIANS


def apply_pose_shifts(pose: Pose, shifts: Iterable[Shift]) -> tuple[Pose, Shift]:
    """Return a pose with shifts added to it, and their sum.

    Args:
        pose: true, in the world.
        shifts: in the world; they are added part by part.

    Returns:
        The believed pose with yaw from -pi to pi, and the sum of the shifts.
    """
    total = Shift(*map(sum, zip(NO_SHIFT, *shifts, strict=True)))
    believed = Pose(
        pose.x + total.x,
        pose.y + total.y,
        pose.z + total.z if total.z else pose.z,  # adding 0 would turn -0 into 0
        yaw=wrap_angle(pose.yaw + total.yaw),
        pitch=pose.pitch + total.pitch if total.pitch else pose.pitch,
        roll=pose.roll + total.roll if total.roll else pose.roll,
    )
    return believed, total


def compute_shift(believed: Pose, true: Pose) -> Shift:
    """Return how far a believed pose is from the true one.

    Args:
        believed: in the world.
        true: in the world.

    Returns:
        Metres, and radians from -pi to pi.
    """
    return Shift(
        believed.x - true.x,
        believed.y - true.y,
        wrap_angle(believed.yaw - true.yaw),
        z=believed.z - true.z,
        pitch=wrap_angle(believed.pitch - true.pitch),
        roll=wrap_angle(believed.roll - true.roll),
    )


def compute_relative_shift(sender: tuple[Pose, Pose], ego: tuple[Pose, Pose]) -> Shift:
    """Return how far off a sender is as seen from the ego.

    An error that the two share moves nothing.

    Args:
        sender: its LiDAR's pose in the world, as believed and in truth; metres and radians.
        ego: the same of the ego.

    Returns:
        In the ego's LiDAR frame: where the sender is believed to be, less where it is.
    """
    if sender[0] == sender[1] and ego[0] == ego[1]:
        return NO_SHIFT
    believed, true = (compute_relative_pose(*pair) for pair in zip(sender, ego, strict=True))
    return compute_shift(believed, true)


def list_payload_arrays(payload: Payload) -> list[np.ndarray]:
    """Return all that a payload holds.

    Args:
        payload: boxes, points or features.

    Returns:
        The arrays themselves, not copies.

    Raises:
        AttemptError: a system returned something else.
    """
    if isinstance(payload, Boxes):
        return [payload.geometry, payload.classes, payload.scores]
    if isinstance(payload, Points):
        return [payload.in_lidar]
    if isinstance(payload, Features):
        return list(payload.maps)
    sent = type(payload).__name__
    raise AttemptError("agent_exception", f"share returned {sent}, not Boxes, Points or Features")


def is_different_payload(one: Payload, other: Payload) -> bool:
    """Return whether two payloads have different content.

    Args:
        one: boxes, points or feature maps.
        other: the same.
    """
    pairs = zip(list_payload_arrays(one), list_payload_arrays(other), strict=False)
    same_parts = type(one) is type(other) and len(list_payload_arrays(one)) == len(
        list_payload_arrays(other)
    )
    return not (same_parts and all(np.array_equal(a, b) for a, b in pairs))


def is_different_in_window(
    one: Payload, other: Payload, *, sender: Pose, ego: Pose, window: Window
) -> bool:
    """Return whether the system could find a difference: one within its window round the ego.

    Feature maps are compared as a whole.

    Args:
        one: a payload in the sender's LiDAR frame.
        other: a payload of the same type.
        sender: the sender's LiDAR in the world.
        ego: the ego's LiDAR in the world.
        window: metres round the ego's LiDAR.

    Returns:
        True if the parts inside the window differ.
    """
    return is_different_payload(
        *(crop_to_window(payload, sender, ego, window) for payload in (one, other))
    )


def crop_to_window(payload: Payload, sender: Pose, ego: Pose, window: Window) -> Payload:
    """Return the part of a payload that reaches into a window round the ego.

    Args:
        payload: in the sender's LiDAR frame.
        sender: the sender's LiDAR in the world.
        ego: the ego's LiDAR in the world.
        window: metres ahead or behind, and aside, of the ego's LiDAR.

    Returns:
        Boxes that may reach into the window, points inside it, and feature maps whole.
    """
    if isinstance(payload, Boxes):
        # (boxes, 7) in the ego's frame; half a diagonal is as far as a box reaches
        placed = transform_boxes(payload, sender, ego).geometry
        reach = np.hypot(placed[:, 3], placed[:, 4])[:, None] / 2
        return payload[np.all(np.abs(placed[:, :2]) - reach <= window, axis=1)]
    if isinstance(payload, Points):
        # (points, 2) in the ego's frame
        xy = transform_points(payload.in_lidar, sender, ego)[:, :2]
        return Points(payload.in_lidar[np.all(np.abs(xy) <= window, axis=1)])
    return payload


def join_names(names: Iterable[str]) -> str:
    """Return names as a list in words."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def seal_payload(payload: Payload) -> Payload:
    """Return a read-only copy, so that a message does not change after it is sent."""
    parts = [array.copy(order="K") for array in list_payload_arrays(payload)]
    for part in parts:
        part.flags.writeable = False
    # the same type with the copied arrays
    if isinstance(payload, Boxes):
        return Boxes(*parts)
    return Points(*parts) if isinstance(payload, Points) else type(payload)(tuple(parts))
