"""Early fusion: partners send their sweeps, the network sees all points as one sweep."""

from __future__ import annotations

import numpy as np

from agents.perception.systems.learned import Learned
from harness.geometry import points_between
from harness.vocabulary import EgoObservation, Message, Observation, Points, Pose, Singles, Step


class Early(Learned):
    """Detects in everybody's points; what the ego has alone takes a second look."""

    scheme = "early"
    reads_messages = True

    def share(self, observation: Observation) -> Points:
        """Return the sweep as it is."""
        return Points(observation.points_in_lidar)

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Put all points together, look at them, and drive."""
        alone, height = self._seen(observation)
        if not messages:
            return self._driven(observation, alone, alone, height)
        points = merged(observation.points_in_lidar, messages, observation.lidar_in_world)
        coop = self._detector.detect(self._detector.encode(points, height), (), height)
        return self._driven(observation, coop, alone, height)


def merged(own: Singles, messages: tuple[Message, ...], lidar_in_world: Pose) -> Singles:
    """Return all sweeps in the ego's LiDAR frame, from where their senders believed to be."""
    sweeps = [own]
    for message in messages:
        if not isinstance(message.payload, Points):
            raise TypeError(f"{message.sender} sent no points")
        theirs = message.payload.in_lidar
        sweeps.append(points_between(theirs, message.lidar_in_world, lidar_in_world))
    return np.concatenate(sweeps)
