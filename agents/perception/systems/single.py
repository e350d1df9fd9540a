"""No cooperation: the ego's own sweep, and nobody else's."""

from __future__ import annotations

from agents.driving.settings import DrivingSettings
from agents.perception.designs import Size
from agents.perception.systems.learned import Learned
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Step


class Single(Learned):
    """Detects in its own points."""

    reads_messages = False

    def __init__(
        self,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        driving: DrivingSettings | None = None,
    ) -> None:
        super().__init__("single", size, weights, checkpoint, driving)

    def share(self, observation: Observation) -> Boxes:
        """Return nothing: nobody asks."""
        return Boxes.none()

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """See alone, and drive."""
        points = observation.points_in_lidar
        height = self._detector.height(points, observation.lidar_in_world)
        seen = self._detector.detect(self._detector.encode(points, height), (), height)
        return self._driven(observation, seen, seen, height)
