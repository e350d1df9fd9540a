"""A perfect system whose answers have a box as long as its pictures are bright."""

from __future__ import annotations

import numpy as np

from agents.ideal_late import IdealLate
from harness.types.vocabulary import (
    PEDESTRIAN,
    Boxes,
    EgoObservation,
    GroundTruth,
    Message,
    Observation,
    Perceived,
)


class PictureReader(IdealLate):
    """Drives as `ideal_late` does; ego and partners read pictures of a rig with cameras."""

    safe_from_file = True
    reads_images = True

    def share(self, observation: Observation, truth: GroundTruth) -> Boxes:
        """Return what the partner hits, and its pictures as a box."""
        return Boxes.join([super().share(observation, truth), describe_pictures(observation)])

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Perceived:
        """Detect as `ideal_late`, and the ego's pictures as a box."""
        seen = super().perceive(observation, messages, truth)
        return Perceived(
            Boxes.join([seen.cooperative, describe_pictures(observation)]), seen.ego_alone
        )


def describe_pictures(observation: Observation) -> Boxes:
    """Return a box far aside: its length is the mean of all pixels, in units of 100."""
    names = [image.name for image in observation.images]
    assert names == ["front", "left", "right", "rear"], names
    mean = np.mean([image.pixels.mean() for image in observation.images])
    row = [0.0, 48.0, 0.0, mean / 100.0, 0.5, 1.8, 0.0]
    return Boxes(np.array([row]), np.array([PEDESTRIAN]), np.ones(1))
