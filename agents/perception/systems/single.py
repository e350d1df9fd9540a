"""No cooperation: the ego's own sweep, and nobody else's."""

from __future__ import annotations

from agents.perception.systems.learned import Learned
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Step


class Single(Learned):
    """Detects in its own points."""

    scheme = "single"
    reads_messages = False

    def share(self, observation: Observation) -> Boxes:
        """Return nothing: nobody asks."""
        return Boxes.none()

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """See alone, and drive."""
        seen, height = self._seen(observation)
        return self._driven(observation, seen, seen, height)
