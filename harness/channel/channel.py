"""The channel: takes messages as they are captured, gives those that have arrived.

A message captured at c with delay d is usable from the first planning step at or after c + d. Of
each sender the newest usable capture counts; if none has arrived, or it is too old, there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from harness.channel.disturbance import NO_SHIFT, Disturbance
from harness.channel.door import Door
from harness.geometry import wrap
from harness.vocabulary import Message, Observation

SAME_MOMENT = 1e-6
"""Seconds by which clocks may disagree and still mean the same tick."""


@dataclass(frozen=True, slots=True)
class Underway:
    """A message that has been sent, and when it arrives."""

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
        self.maximum_age = maximum_age
        self.door = Door(self.disturbances, tick_seconds)
        self._underway: dict[str, list[Underway]] = {}

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with empty air."""
        for disturbance in self.disturbances:
            disturbance.reset(seed, route)
        self.door.reset()
        self._underway = {}

    def believe(self, observation: Observation) -> Observation:
        """Return the observation with the pose its observer believes in."""
        shifts = [each.shift(observation) for each in self._concerning(observation.kind)]
        x, y, yaw = (sum(parts) for parts in zip(NO_SHIFT, *shifts, strict=True))
        pose = observation.lidar_in_world
        believed = replace(pose, x=pose.x + x, y=pose.y + y, yaw=wrap(pose.yaw + yaw))
        self.door.asked(observation, (x, y, yaw))
        return replace(observation, lidar_in_world=believed)

    def send(self, message: Message) -> None:
        """Let a message go at the moment of its capture."""
        concerning = self._concerning(message.kind)
        sent: Message | None = message
        for disturbance in concerning:
            if sent is not None:
                sent = disturbance.alter(sent)
        if sent is None:
            self.door.lost(message)
            return
        delay = sum(each.delay(sent) for each in concerning)
        self.door.sent(sent, delay)
        self._underway.setdefault(message.sender, []).append(
            Underway(sent, message.capture_time + delay)
        )

    def deliver(self, now: float, present: Collection[str]) -> tuple[Message, ...]:
        """Return the newest message of each partner in range that has arrived and is not too old.

        What others sent is given up: whoever comes back begins anew.
        """
        for sender in self._underway.keys() - set(present):
            self.door.unheard(each.message for each in self._underway.pop(sender))
        delivered = []
        for sender in sorted(self._underway):
            waiting = self._underway[sender]
            arrived = [each for each in waiting if each.arrives <= now + SAME_MOMENT]
            if not arrived:
                continue
            newest = max(arrived, key=lambda each: each.message.capture_frame)
            self._underway[sender] = [
                each
                for each in waiting
                if each.message.capture_frame >= newest.message.capture_frame
            ]
            if now - newest.message.capture_time <= self.maximum_age + SAME_MOMENT:
                delivered.append(newest.message)
        self.door.delivered(delivered, now)
        return tuple(delivered)

    def _concerning(self, kind: str) -> list[Disturbance]:
        return [each for each in self.disturbances if kind in each.kinds]
