"""No cooperation: the ego's own sweep, and nobody else's."""

from __future__ import annotations

from agents.perception.systems.learned import Learned
from harness.vocabulary import Boxes, EgoObservation, Message, Observation


class Single(Learned):
    """Detects in its own points."""

    safe_from_file = True
    scheme = "single"
    reads_messages = False

    def share(self, observation: Observation) -> Boxes:
        """Return nothing: nobody asks."""
        return Boxes.none()

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...]
    ) -> tuple[Boxes, Boxes]:
        """See alone."""
        seen, height = self._seen(observation)
        others = self._others(seen, observation, height)
        return others, others
