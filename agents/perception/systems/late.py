"""Late fusion: partners send the boxes they detect, overlapping ones count once."""

from __future__ import annotations

from agents.perception.systems.learned import Learned
from harness.geometry import boxes_between
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Pose, Step


class Late(Learned):
    """Detects in its own points, and believes whoever is surest."""

    scheme = "late"
    reads_messages = True

    def share(self, observation: Observation) -> Boxes:
        """Return what a partner detects in its own points."""
        return self._seen(observation)[0]

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Put together what all detect, and drive."""
        alone, height = self._seen(observation)
        theirs = [moved(message, observation.lidar_in_world) for message in messages]
        return self._driven(observation, self._detector.together([alone, *theirs]), alone, height)


def moved(message: Message, lidar_in_world: Pose) -> Boxes:
    """Return a partner's boxes in the ego's LiDAR frame, from where the sender believed to be."""
    if not isinstance(message.payload, Boxes):
        raise TypeError(f"{message.sender} sent no boxes")
    return boxes_between(message.payload, message.lidar_in_world, lidar_in_world)
