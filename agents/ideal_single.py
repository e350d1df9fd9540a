"""Perfect perception of what the ego's own LiDAR hits: the best that any single car could do."""

from __future__ import annotations

from typing import Literal

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from agents.truth import WHOLE_RANGE, seen, within
from harness.vocabulary import Boxes, EgoObservation, Message, Observation, Route, Step, Truth


class IdealSingle:
    """Drives by the truth, as far as the ego sees it; what stands behind corners is not there."""

    safe_from_file = True
    privileged: Literal[True] = True
    reads_points = False
    reads_messages = False

    def __init__(
        self,
        min_hits: int = 5,
        range_window: tuple[float, float] = WHOLE_RANGE,
        driving: DrivingSettings | None = None,
    ) -> None:
        self._min_hits, self._window = min_hits, range_window
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
        """See what there is to see from here, and drive."""
        boxes = within(seen(truth, self._min_hits), self._window)
        return Step(self._driver.step(observation, boxes), boxes, boxes)
