"""Perfect perception: everyone within range, seen or not."""

from __future__ import annotations

from typing import Literal

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.truth import WHOLE_RANGE, within
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Route, Step, Truth


class Oracle:
    """Drives by the truth; what is left to go wrong is the drive itself."""

    safe_from_file = True
    privileged: Literal[True] = True
    reads_points = False
    reads_messages = False

    def __init__(
        self,
        range_window: tuple[float, float] = WHOLE_RANGE,
        driving: DrivingSettings | None = None,
    ) -> None:
        self._window = range_window
        self._driver = Driver(driving)

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt; nothing here is left to chance."""
        self._driver.reset(route)

    def share(self, observation: Observation, truth: Truth) -> Boxes:
        """Return nothing: nobody asks."""
        return Boxes.none()

    def step(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: Truth
    ) -> Step:
        """See all, and drive."""
        boxes = within(truth.boxes_in_lidar, self._window)
        return Step(self._driver.step(observation, boxes), boxes, boxes)
