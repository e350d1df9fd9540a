"""Late fusion: partners send the boxes they detect, overlapping ones count once."""

from __future__ import annotations

from agents.perception.systems.learned import Learned
from harness.geometry import boxes_between
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Pose


class Late(Learned):
    """Detects in its own points, and believes whoever is surest."""

    safe_from_file = True
    scheme = "late"

    def share(self, observation: Observation) -> Boxes:
        """Return what a partner detects in its own points."""
        return self._seen(observation)[0]

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...]
    ) -> tuple[Boxes, Boxes]:
        """Put together what all detect."""
        alone, height = self._seen(observation)
        theirs = [moved(message, observation.lidar_in_world) for message in messages]
        together = self.detector.together([alone, *theirs])
        return (
            self._others(together, observation, height),
            self._others(alone, observation, height),
        )


def moved(message: Message, lidar_in_world: Pose) -> Boxes:
    """Return a partner's boxes in the ego's LiDAR frame, from where the sender believed to be."""
    if not isinstance(message.payload, Boxes):
        raise TypeError(f"{message.sender} sent no boxes")
    return boxes_between(message.payload, message.lidar_in_world, lidar_in_world)
