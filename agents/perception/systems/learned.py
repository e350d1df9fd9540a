"""What systems with networks have in common: they drive by what they detect, and nothing else."""

from __future__ import annotations

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.merging import on_ego
from agents.perception.designs import Scheme, Size
from agents.perception.detector import Detector
from agents.perception.loading import network_with_weights
from agents.perception.network import Maps
from harness.vocabulary import Boxes, EgoObservation, Observation, Route, Step


class Learned:
    """A detector and a driver."""

    reads_points = True
    scheme: Scheme

    def __init__(
        self,
        size: Size = "lite",
        weights: str | None = None,
        checkpoint: str | None = None,
        driving: DrivingSettings | None = None,
    ) -> None:
        self._detector = Detector(network_with_weights(self.scheme, size, weights, checkpoint))
        self._driver = Driver(driving)

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt; nothing here is left to chance, and nothing seen is kept."""
        self._driver.reset(route)

    def _encoded(self, observation: Observation) -> tuple[Maps, float]:
        """Return what the encoder makes of a sweep, and how high above the road its LiDAR is."""
        points = observation.points_in_lidar
        height = self._detector.height(points, observation.lidar_in_world)
        return self._detector.encode(points, height), height

    def _seen(self, observation: Observation) -> tuple[Boxes, float]:
        """Return what is detected in one sweep, and how high above the road its LiDAR is."""
        maps, height = self._encoded(observation)
        return self._detector.detect(maps, (), height), height

    def _driven(
        self, observation: EgoObservation, cooperative: Boxes, ego_alone: Boxes, height: float
    ) -> Step:
        """Leave out the ego itself and what stands beyond the window, and drive by the rest."""
        body = observation.lidar_in_vehicle
        coop, alone = (
            self._detector.windowed(boxes[~on_ego(boxes, body)], height)
            for boxes in (cooperative, ego_alone)
        )
        return Step(self._driver.step(observation, coop), coop, alone)
