"""What systems with networks have in common: they drive by what they detect, and nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.merging import on_ego
from agents.perception.designs import Scheme, Size
from agents.perception.detector import Detector
from agents.perception.loading import files, network_with_weights
from agents.perception.network import Maps
from harness.vocabulary import (
    Boxes,
    EgoObservation,
    Message,
    Observation,
    Payload,
    Route,
    Step,
)


class Learned(ABC):
    """A detector and a driver."""

    reads_points = True
    reads_messages = True
    scheme: Scheme

    def __init__(
        self,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        driving: DrivingSettings | None = None,
    ) -> None:
        self.detector = Detector(network_with_weights(self.scheme, size, weights, checkpoint))
        self._driver = Driver(driving)

    @property
    def window(self) -> tuple[float, float]:
        """Metres ahead or behind, and aside, that the network looks at."""
        low, high = self.detector.design.grid.low, self.detector.design.grid.high
        return max(high[0], -low[0]), max(high[1], -low[1])

    @classmethod
    def files(
        cls,
        scheme: Scheme | None = None,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        **others: object,
    ) -> list[Path]:
        """Return the files that a system with these arguments reads."""
        return files(scheme or cls.scheme, size, weights, checkpoint)

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt; nothing here is left to chance, and nothing seen is kept."""
        self._driver.reset(route)

    @abstractmethod
    def share(self, observation: Observation) -> Payload:
        """Return what a partner sends."""

    @abstractmethod
    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...]
    ) -> tuple[Boxes, Boxes]:
        """Return what is there by all that is known, and by what the ego has alone."""

    def step(self, observation: EgoObservation, messages: tuple[Message, ...]) -> Step:
        """Perceive, and drive by it."""
        together, alone = self.perceive(observation, messages)
        return Step(self._driver.step(observation, together), together, alone)

    def _encoded(self, observation: Observation) -> tuple[Maps, float]:
        """Return what the encoder makes of a sweep, and how high above the road its LiDAR is."""
        points = observation.points_in_lidar
        height = self.detector.height(points, observation.lidar_in_world)
        return self.detector.encode(points, height), height

    def _seen(self, observation: Observation) -> tuple[Boxes, float]:
        """Return what is detected in one sweep, and how high above the road its LiDAR is."""
        maps, height = self._encoded(observation)
        return self.detector.detect(maps, (), height), height

    def _others(self, boxes: Boxes, observation: EgoObservation, height: float) -> Boxes:
        """Leave out the ego itself and what stands beyond the window."""
        others = boxes[~on_ego(boxes, observation.lidar_in_vehicle)]
        return self.detector.windowed(others, height)
