"""What the ideal systems share: boxes of the ground truth as perception, and the driver."""

from __future__ import annotations

from typing import Literal

import numpy as np

from agents.driving.driver import Driver
from agents.driving.settings import DrivingSettings
from harness.types.drivers import RouteDriver
from harness.types.systems import PrivilegedPerceivingSystem
from harness.types.vocabulary import (
    Boxes,
    Control,
    EgoObservation,
    GroundTruth,
    Mask,
    Message,
    Observation,
    Perceived,
    Route,
)

WHOLE_RANGE = (85.0, 85.0)
"""Metres ahead or behind, and aside: the range of the LiDARs."""


class IdealSystem(PrivilegedPerceivingSystem):
    """Perceives the ground-truth boxes that the ego's LiDAR hits, without messages."""

    privileged: Literal[True] = True
    reads_points = False
    reads_messages = False

    def __init__(
        self,
        min_hits: int = 5,  # LiDAR returns from which a road user is seen
        range_window: tuple[float, float] = WHOLE_RANGE,  # m ahead and behind, m to either side
        driving: DrivingSettings | None = None,  # settings of the shared driver; null: the defaults
    ) -> None:
        self._min_hits, self._window = min_hits, range_window
        self._driver: RouteDriver = Driver(driving)

    @property
    def driver(self) -> RouteDriver:
        """The driver that drives by the boxes."""
        return self._driver

    def use_driver(self, driver: RouteDriver) -> None:
        """Drive with this driver from the next reset on."""
        self._driver = driver

    def reset(self, seed: int, route: Route) -> None:
        """Start an attempt; nothing here is random."""
        self._driver.reset(route)

    def share(self, observation: Observation, truth: GroundTruth) -> Boxes:
        """Return nothing: no message is read."""
        return Boxes.none()

    def detect_alone(self, observation: Observation, truth: GroundTruth) -> Boxes:
        """Return the boxes that an agent's LiDAR hits."""
        return select_hit_boxes(truth, self._min_hits)

    def perceive(
        self, observation: EgoObservation, messages: tuple[Message, ...], truth: GroundTruth
    ) -> Perceived:
        """Detect what the ego's LiDAR hits."""
        boxes = crop_to_window_boxes(select_hit_boxes(truth, self._min_hits), self._window)
        return Perceived(boxes, boxes)

    def drive(self, observation: EgoObservation, boxes: Boxes) -> Control:
        """Drive by the boxes: ground truth is for perception alone."""
        return self._driver.step(observation, boxes)


def crop_to_window_boxes(boxes_in_lidar: Boxes, window: tuple[float, float]) -> Boxes:
    """Return the boxes whose centres lie in a window round the LiDAR.

    Args:
        boxes_in_lidar: N boxes.
        window: metres ahead or behind, and aside.
    """
    inside: Mask = np.all(np.abs(boxes_in_lidar.geometry[:, :2]) <= window, axis=1)
    return boxes_in_lidar[inside]


def select_hit_boxes(truth: GroundTruth, min_hits: int) -> Boxes:
    """Return the ground-truth boxes with at least so many hits of the observer's LiDAR.

    Args:
        truth: N boxes with their LiDAR returns.
        min_hits: the fewest returns.
    """
    return truth.boxes_in_lidar[truth.hits >= min_hits]
