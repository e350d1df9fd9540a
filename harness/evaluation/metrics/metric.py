"""Metrics: a number for each planning step, for each attempt, or both.

A metric sees the ground truth and everything that the evaluation sees; nothing that it returns
reaches the system. Its numbers of steps are a column of `frames.parquet`, its number of an attempt
is in `result.json`, both under the name that the settings give it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness.evaluation.driving import DriveInfraction
from harness.types.vocabulary import Boxes, Control, Floats, Message, Pose, Route


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepData:
    """One planning step: boxes are in the ego's LiDAR frame, poses are true."""

    time: float  # s since the ego stood ready
    ego_in_world: Pose  # the vehicle
    lidar_in_world: Pose
    speed: float  # m/s
    station: float  # m along the route
    control: Control  # what the system decided
    messages: tuple[Message, ...]  # what the system was given
    truth: Boxes  # ground truth in range, whether LiDARs hit it or not
    actor_ids: tuple[int, ...]  # of the ground-truth boxes, the same at every step
    counted: tuple[bool, ...]  # which of them count by the evaluation's settings
    ego_alone: Boxes  # detections
    cooperative: Boxes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttemptData:
    """One attempt when it has ended.

    Attributes:
        route: the way of the attempt, in the world frame.
        values: (steps,).
        frames: (steps,) each.
        infractions: the last one may be the violation that ended the drive.
    """

    route: Route
    values: Floats  # the metric's own numbers of the steps; NaN where there was none
    frames: Mapping[str, Floats]  # every column of `frames.parquet` that is not a metric
    infractions: tuple[DriveInfraction, ...]  # in the order they happened
    completion: float  # share of the route, 0 to 1
    driving_score: float  # 0 to 100


class Metric:
    """A number for each step (`step`), for each attempt (`attempt`), or both.

    A subclass overrides `step`, `attempt` or both. It may keep state between steps: `reset` clears
    it.

    Attributes:
        unit: of the numbers, such as `m`; it stands in tables.
    """

    unit: ClassVar[str] = ""

    def reset(self, route: Route) -> None:
        """Start an attempt.

        Args:
            route: the way of the attempt that starts.
        """

    def step(self, data: StepData) -> float | None:
        """Return the number of a planning step; None or NaN where there is none.

        Args:
            data: ground truth, messages and detections of the step.

        Returns:
            A finite number in the metric's unit.
        """
        return None

    def attempt(self, data: AttemptData) -> float | None:
        """Return the number of the attempt; if not overridden, the mean over its steps.

        Args:
            data: the whole drive, with the metric's numbers of the steps.

        Returns:
            A finite number in the metric's unit; None where there is none.
        """
        known = data.values[~np.isnan(data.values)]
        return float(known.mean()) if len(known) else None


def has_step_numbers(metric: Metric) -> bool:
    """Return whether a metric has a number for each step."""
    return type(metric).step is not Metric.step


def has_attempt_number(metric: Metric) -> bool:
    """Return whether a metric has a number for each attempt, of its own or as a mean."""
    return has_step_numbers(metric) or type(metric).attempt is not Metric.attempt


def check_metric_value(value: object, what: str) -> float:
    """Return a metric's number, NaN for None; ValueError if it is none.

    Args:
        value: what a metric returned.
        what: the name of the metric and its method, for the message.

    Returns:
        A finite number or NaN.

    Raises:
        ValueError: neither a finite number nor None.
    """
    if value is None:
        return math.nan
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        raise ValueError(f"{what} returned {value!r}; a number or None is needed")
    number = float(value)
    if math.isinf(number):
        raise ValueError(f"{what} returned {number}; a finite number or None is needed")
    return number
