"""An episode without a simulator: partners that capture, a channel, planning steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.types.vocabulary import (
    VEHICLE,
    Boxes,
    Features,
    Kind,
    Message,
    Observation,
    Payload,
    Points,
    Pose,
)

PERIOD = 0.2
TICKS = 4
FIRST_FRAME = 7000
BEGAN = 31.7
NO_POINTS = np.zeros((0, 4), np.float32)


def time_of(step: int) -> float:
    return BEGAN + step * PERIOD


def where(sender: str, step: int) -> Pose:
    """Return the true pose of a LiDAR: all agents move along x, side by side."""
    return Pose(2.0 * step, float(sum(sender.encode()) % 17), 1.85, yaw=0.1 * step)


def observation(sender: str, kind: Kind, step: int, first_frame: int = FIRST_FRAME) -> Observation:
    frame = first_frame + step * TICKS
    return Observation(
        sender=sender,
        kind=kind,
        frame=frame,
        time=time_of(step),
        lidar_in_world=where(sender, step),
        points_in_lidar=NO_POINTS,
    )


def some_boxes(count: int = 5) -> Boxes:
    geometry = np.tile([10.0, 2.0, -1.0, 4.5, 1.9, 1.6, 0.3], (count, 1))
    geometry[:, 0] += 8.0 * np.arange(count)
    return Boxes(geometry, np.full(count, VEHICLE, np.int64), np.full(count, 0.8))


def some_points(count: int = 400) -> Points:
    random = np.random.default_rng(5)
    low, high = [-60.0, -60.0, -7.5, 0.1], [60.0, 60.0, 1.0, 0.9]
    return Points(random.uniform(low, high, (count, 4)).astype(np.float32))


def some_features(channels: int = 10) -> Features:
    random = np.random.default_rng(6)
    sizes = ((channels, 12, 16), (2 * channels, 6, 8))
    return Features(tuple(random.normal(0.0, 1.0, size).astype(np.float32) for size in sizes))


class Episode:
    """Drives a channel as a campaign does, and keeps what the system was given."""

    def __init__(
        self,
        *disturbances: Disturbance,
        seed: int = 1,
        route: str = "route-4",
        **settings: Any,
    ) -> None:
        self.channel = Channel(disturbances, **settings)
        self.channel.reset(seed, route)
        self.given: list[tuple[Message, ...]] = []
        self.beliefs: dict[tuple[str, int], Observation] = {}
        self.first_frame = FIRST_FRAME

    def run(
        self,
        steps: int = 20,
        partners: Sequence[tuple[str, Kind]] = (("roadside-0", "roadside"),),
        payload: Callable[[], Payload] = some_boxes,
    ) -> Episode:
        for _ in range(steps):
            self.step(partners, payload)
        return self

    def step(
        self, partners: Sequence[tuple[str, Kind]], payload: Callable[[], Payload] = some_boxes
    ) -> tuple[Message, ...]:
        step = len(self.given)
        for sender, kind in (*partners, ("ego", "ego")):
            seen = observation(sender, kind, step, self.first_frame)
            self.channel.audit.note_capture(sender, seen.frame, seen.time, seen.lidar_in_world)
            believed = self.channel.add_pose_shifts(seen)
            self.beliefs[sender, step] = believed
            if kind == "ego":
                self.channel.audit.check_belief(believed)
            else:
                self.send_message(
                    Message(
                        sender=sender,
                        kind=kind,
                        capture_frame=seen.frame,
                        capture_time=seen.time,
                        lidar_in_world=believed.lidar_in_world,
                        payload=payload(),
                    )
                )
        messages = self.channel.deliver_messages(time_of(step), {sender for sender, _ in partners})
        self.given.append(messages)
        return messages

    def send_message(self, message: Message) -> None:
        """Let a message go at its capture."""
        self.channel.send_message(message)

    def ages(self) -> list[list[int]]:
        """Return how many planning steps old the messages of each step were."""
        return [
            [len(range(item.capture_frame, self.first_frame + step * TICKS, TICKS)) for item in now]
            for step, now in enumerate(self.given)
        ]

    def fates(self) -> list[str]:
        return [record.fate for record in self.channel.audit.close_audit()]
