"""The channel: takes messages as they are captured, gives those that have arrived."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.channel.disturbance import NO_SHIFT, Disturbance
from harness.channel.door import Door
from harness.channel.usable import SAME_MOMENT
from harness.errors import AttemptError, UserError
from harness.geometry import wrap
from harness.vocabulary import Boxes, Features, Message, Observation, Payload, Points


@dataclass(frozen=True, slots=True)
class Underway:
    """A message that has been sent, and when it arrives."""

    frame: int  # of capture
    message: Message
    arrives: float


class Channel:
    """One episode's air."""

    def __init__(
        self,
        disturbances: Sequence[Disturbance] = (),
        tick_seconds: float = 0.05,
        maximum_age: float = 2.0,  # s: older ones are of no use to anybody
    ) -> None:
        self.disturbances = tuple(disturbances)
        tell_apart(self.disturbances)
        if maximum_age < 0:
            raise UserError(f"channel: maximum_age is {maximum_age} s; not below 0")
        self.maximum_age = maximum_age
        self.door = Door(self.disturbances, tick_seconds, maximum_age)
        self._underway: dict[str, list[Underway]] = {}
        self._begun = False

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with empty air."""
        for disturbance in self.disturbances:
            disturbance.reset(seed, route)
        self.door.reset()
        self._underway = {}
        self._begun = False

    def believe(self, observation: Observation) -> Observation:
        """Return the observation with the pose its observer believes in."""
        self._count_from(observation.frame)
        shifts = []
        for each in self._concerning(observation.kind):
            shift = each.shift(observation)
            each.met += 1
            each.acted += shift != NO_SHIFT
            shifts.append(shift)
        x, y, yaw = (sum(parts) for parts in zip(NO_SHIFT, *shifts, strict=True))
        pose = observation.lidar_in_world
        believed = replace(pose, x=pose.x + x, y=pose.y + y, yaw=wrap(pose.yaw + yaw))
        self.door.asked(observation, (x, y, yaw))
        return replace(observation, lidar_in_world=believed)

    def send(self, message: Message) -> None:
        """Let a message go at the moment of its capture."""
        self._count_from(message.capture_frame)
        concerning = self._concerning(message.kind)
        sent = self._altered(message, concerning)
        for each in concerning:
            self._withdraw(message.sender, each.displaces(sent))
        delays = [each.delay(sent) for each in concerning]
        losses = [each.loses(sent) for each in concerning]
        for each, delay, lost in zip(concerning, delays, losses, strict=True):
            each.acted += delay > 0 or lost
        self.door.sent(message, sent, sum(delays), any(losses))
        if not any(losses):
            self._underway.setdefault(message.sender, []).append(
                Underway(message.capture_frame, sent, sent.capture_time + sum(delays))
            )

    def deliver(self, now: float, present: Collection[str]) -> tuple[Message, ...]:
        """Return the newest message of each partner in range that has arrived and is not too old.

        Messages to nobody in range wait where they are: whoever comes back is heard at once, but
        with nothing older than `maximum_age`.
        """
        delivered: dict[tuple[str, int], Message] = {}
        for sender in sorted(self._underway.keys() & set(present)):
            waiting = self._underway[sender]
            arrived = [each for each in waiting if each.arrives <= now + SAME_MOMENT]
            if not arrived:
                continue
            newest = max(arrived, key=lambda each: each.frame)
            self._underway[sender] = [each for each in waiting if each.frame >= newest.frame]
            if now - newest.message.capture_time <= self.maximum_age + SAME_MOMENT:
                delivered[sender, newest.frame] = newest.message
        self.door.delivered(delivered, now, present)
        return tuple(delivered.values())

    def _altered(self, message: Message, concerning: Sequence[Disturbance]) -> Message:
        message = replace(message, payload=sealed(message.payload))
        for each in concerning:
            altered = each.alter(message)
            if altered is not message:
                each.acted += differ(altered.payload, message.payload)
                message = replace(altered, payload=sealed(altered.payload))
        return message

    def _withdraw(self, sender: str, frame: int | None) -> None:
        if frame is not None:
            self._underway[sender] = [
                each for each in self._underway.get(sender, []) if each.frame != frame
            ]
            self.door.withdrawn(sender, frame)

    def _count_from(self, frame: int) -> None:
        if not self._begun:
            self._begun = True
            for disturbance in self.disturbances:
                disturbance.first_frame = frame

    def _concerning(self, kind: str) -> list[Disturbance]:
        return [each for each in self.disturbances if kind in each.kinds]


def tell_apart(disturbances: Sequence[Disturbance]) -> None:
    """Number disturbances of one name, so that each draws from streams of its own."""
    seen: Counter[str] = Counter()
    for disturbance in disturbances:
        name = disturbance.sort
        seen[name] += 1
        disturbance.name = name if seen[name] == 1 else f"{name}-{seen[name]}"


def sealed(payload: Payload) -> Payload:
    """Return a copy that nobody can change: what has been sent has been sent."""
    parts = [each.copy(order="K") for each in arrays(payload)]
    for each in parts:
        each.flags.writeable = False
    if isinstance(payload, Boxes):
        return Boxes(*parts)
    return Points(*parts) if isinstance(payload, Points) else Features(tuple(parts))


def differ(one: Payload, other: Payload) -> bool:
    """Return whether two payloads say different things."""
    pairs = zip(arrays(one), arrays(other), strict=False)
    same_parts = type(one) is type(other) and len(arrays(one)) == len(arrays(other))
    return not (same_parts and all(np.array_equal(a, b) for a, b in pairs))


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
