"""Partners share boxes of what their own LiDARs hit: the best that late cooperation could do."""

from __future__ import annotations

from typing import Literal

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.merging import merge
from agents.truth import WHOLE_RANGE, seen, within
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Route, Step, Truth


class IdealLate:
    """Drives by what ego and partners see; between them lies the channel, and all it may do."""

    safe_from_file = True
    privileged: Literal[True] = True
    reads_points = False
    reads_messages = True

    def __init__(
        self,
        min_hits: int = 5,
        range_window: tuple[float, float] = WHOLE_RANGE,
        driving: DrivingSettings | None = None,
    ) -> None:
        self._min_hits, self.window = min_hits, range_window
        self._driver = Driver(driving)

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt; nothing here is left to chance."""
        self._driver.reset(route)

    def share(self, observation: Observation, truth: Truth) -> Boxes:
        """Return what this partner's own LiDAR hits."""
        return seen(truth, self._min_hits)

    def step(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: Truth
    ) -> Step:
        """Put together what all of us see, and drive."""
        own = seen(truth, self._min_hits)
        merged = merge(own, messages, observation.lidar_in_world, observation.lidar_in_vehicle)
        ego_alone, cooperative = within(own, self.window), within(merged, self.window)
        return Step(self._driver.step(observation, cooperative), cooperative, ego_alone)
