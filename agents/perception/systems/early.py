"""Early fusion: partners send their sweeps, the network sees all points as one sweep."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from agents.perception.systems.learned import Learned
from harness.geometry import points_between
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Points, Pose, Singles


class Early(Learned):
    """Detects in everybody's points; what the ego has alone takes a second look."""

    safe_from_file = True
    scheme = "early"

    def share(self, observation: Observation) -> Points:
        """Return the sweep as it is."""
        return Points(observation.points_in_lidar)

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...]
    ) -> tuple[Boxes, Boxes]:
        """Put all points together, and look at them."""
        seen, height = self._seen(observation)
        alone = self._others(seen, observation, height)
        if not messages:
            return alone, alone
        sweeps = [(sent_points(each), each.lidar_in_world) for each in messages]
        points = merged(observation.points_in_lidar, sweeps, observation.lidar_in_world)
        together = self.detector.detect(self.detector.encode(points, height), (), height)
        return self._others(together, observation, height), alone


def sent_points(message: Message) -> Singles:
    """Return the sweep that a message carries."""
    if not isinstance(message.payload, Points):
        raise TypeError(f"{message.sender} sent no points")
    return message.payload.in_lidar


def merged(own: Singles, sweeps: Iterable[tuple[Singles, Pose]], lidar_in_world: Pose) -> Singles:
    """Return all sweeps in the ego's LiDAR frame, from where their senders believed to be."""
    moved = [points_between(points, pose, lidar_in_world) for points, pose in sweeps]
    return np.concatenate([own, *moved])
