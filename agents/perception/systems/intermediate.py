"""Intermediate fusion: partners send what their encoders make of their sweeps."""

from __future__ import annotations

from dataclasses import dataclass

from agents.driving.settings import DrivingSettings
from agents.perception.designs import FusionScheme, Size
from agents.perception.fusion.partners import Partner
from agents.perception.network import Maps
from agents.perception.systems.learned import Learned
from harness.geometry import relative
from harness.vocabulary import Boxes, EgoObservation, Features, Message, Observation, Pose


@dataclass(frozen=True, slots=True, eq=False)
class FilledPlaces(Features):
    """Maps of which only those places are sent at which there is anything."""

    @property
    def size_bytes(self) -> int:
        """Bytes on the air: a bit for every place, float32 for all channels of the filled ones."""
        places = sum(int(each[0].size) for each in self.maps)
        numbers = sum(len(each) * int(each.any(0).sum()) for each in self.maps)
        return 4 * numbers + (places + 7) // 8


class Intermediate(Learned):
    """Fuses features by one of several schemes; the ego is encoded once for both answers."""

    safe_from_file = True

    def __init__(
        self,
        scheme: FusionScheme,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        driving: DrivingSettings | None = None,
    ) -> None:
        self.scheme = scheme
        super().__init__(size, weights, checkpoint, driving)
        self._sparse = scheme == "codriving" and self.detector.design.confidence is not None

    def share(self, observation: Observation) -> Features:
        """Return what the encoder makes of a partner's sweep."""
        features = self.detector.packed(self._encoded(observation)[0])
        return FilledPlaces(features.maps) if self._sparse else features

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...]
    ) -> tuple[Boxes, Boxes]:
        """Fuse, and detect."""
        ego, height = self._encoded(observation)
        alone = self._others(self.detector.detect(ego, (), height), observation, height)
        partners = [self._partner(each, ego, observation.lidar_in_world) for each in messages]
        if not partners:
            return alone, alone
        together = self.detector.detect(ego, partners, height)
        return self._others(together, observation, height), alone

    def _partner(self, message: Message, ego: Maps, lidar_in_world: Pose) -> Partner:
        if not isinstance(message.payload, Features):
            raise TypeError(f"{message.sender} sent no features")
        maps = self.detector.unpacked(message.payload, ego, message.sender)
        return Partner(maps, relative(message.lidar_in_world, lidar_in_world))
