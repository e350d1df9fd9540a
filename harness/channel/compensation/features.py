"""Cells of late feature maps are moved to where they are now, by a flow network of the system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.channel.compensation.compensation import Compensation, MovedMaps
from harness.channel.disturbance import refuse_negative
from harness.common.errors import UserError
from harness.types.flows import FeatureFlow, MovedFeatures, SentFeatures, has_flow
from harness.types.vocabulary import EgoObservation, Features, Message

NO_AGE = 1e-6
"""Seconds: clocks of a simulator count in fractions."""
LONGEST_GAP = 0.5
"""Seconds between two messages of a sender; further apart, they say nothing of motion."""


@dataclass(slots=True)
class SenderMaps:
    """The last two messages of a sender, by their time stamps."""

    newer: SentFeatures
    older: SentFeatures | None = None

    def note_message(self, sent: SentFeatures) -> None:
        """Keep a message if it is newer; one that is given again, or an older one, is known."""
        if sent.time > self.newer.time + NO_AGE:
            self.newer, self.older = sent, self.newer

    def find_older(self, sent: SentFeatures) -> SentFeatures | None:
        """Return the message before one, if motion can be seen between them."""
        older = self.older
        if older is None or sent.time < self.newer.time - NO_AGE:
            return None
        return older if sent.time - older.time <= LONGEST_GAP else None


class FeatureCompensation(Compensation):
    """Moves the cells of each sender's last map by its age; one that was heard once stays."""

    safe_from_file = True
    name = "feature_compensation"
    payloads = (Features,)
    moves_features = True

    def __init__(
        self,
        *,
        weights: str | None = None,  # file of a flow network; null: the shipped one of the scheme
        longest: float = 1.0,  # s for which a map is moved; the rest of an age is left as it is
    ) -> None:
        super().__init__()
        refuse_negative(self.name, "s", longest=longest)
        self.weights, self.longest = weights, longest
        self._flow: FeatureFlow | None = None
        self._senders: dict[str, SenderMaps] = {}

    def use_system(self, system: object) -> None:
        """Take the flow network of a system, whose partners' maps are moved.

        Raises:
            UserError: it has none.
        """
        if not has_flow(system):
            raise UserError(f"{self.name} needs the flow network of a system, and it gives none")
        self._flow = system.make_flow(self.weights)

    def reset(self) -> None:
        """Start an episode in which no sender was heard."""
        super().reset()
        self._senders = {}

    def compensate_messages(
        self, observation: EgoObservation, messages: Sequence[Message]
    ) -> tuple[Message, ...]:
        """Return the messages with maps as they would be now; those of age 0 as they are."""
        return tuple(self._compensate_message(observation, message) for message in messages)

    def _compensate_message(self, observation: EgoObservation, message: Message) -> Message:
        """Keep the maps of a message, and move them by its age."""
        if not isinstance(message.payload, Features):
            raise TypeError(f"{self.name}: {message.sender} sent no feature maps")
        sent = SentFeatures(
            features=message.payload,
            time=message.capture_time,
            lidar_in_world=message.lidar_in_world,
        )
        # a message on time is kept as well: a later one is compared with it
        kept = self._senders.setdefault(message.sender, SenderMaps(sent))
        kept.note_message(sent)
        age = observation.time - message.capture_time
        if age <= NO_AGE:
            return message
        older, seconds = kept.find_older(sent), min(age, self.longest)
        moved: MovedFeatures | None = None
        if older is not None and seconds > NO_AGE:
            if self._flow is None:
                raise TypeError(f"{self.name}: no system has given its flow network")
            moved = self._flow.move_features(sent, older, seconds=seconds)
        self.moved_maps.append(
            MovedMaps(
                frame=observation.frame,
                sender=message.sender,
                capture_frame=message.capture_frame,
                age=age,
                known=moved is not None,
                cells=0 if moved is None else moved.cells,
                mean=0.0 if moved is None else moved.mean,
                greatest=0.0 if moved is None else moved.greatest,
            )
        )
        # cells that stand may differ in the last bit only: then the message stays as it is
        if moved is None or not moved.cells:
            return message
        return replace(message, payload=moved.features)
