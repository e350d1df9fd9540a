"""The metrics of one attempt: asked at every planning step and at the end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from harness.campaign.attempt.planning_step import DecidedStep
from harness.common.errors import AttemptError
from harness.evaluation.driving import DriveEvaluation
from harness.evaluation.metrics.metric import (
    AttemptData,
    Metric,
    StepData,
    check_metric_value,
    has_step_numbers,
)
from harness.records.metrics import MetricValue
from harness.types.vocabulary import Boxes, Route


class AttemptMetrics:
    """Collects the numbers of an attempt's metrics."""

    def __init__(self, metrics: Mapping[str, Metric], route: Route) -> None:
        self._metrics, self._route = metrics, route
        self.units = {
            name: metric.unit for name, metric in metrics.items() if has_step_numbers(metric)
        }
        self.columns: dict[str, list[float]] = {name: [] for name in self.units}
        for name, metric in metrics.items():
            with blame_metric(name):
                metric.reset(route)

    def __len__(self) -> int:
        return len(self._metrics)

    def measure_step(self, data: StepData) -> None:
        """Ask for the numbers of a planning step."""
        for name, column in self.columns.items():
            with blame_metric(name):
                column.append(check_metric_value(self._metrics[name].step(data), "step"))

    def collect_attempt_values(
        self, frames: Mapping[str, Sequence[Any]], drive: DriveEvaluation, driving_score: float
    ) -> dict[str, Any]:
        """Return the numbers of the attempt, as `result.json` has them."""
        return {
            name: self._measure_attempt(name, frames, drive, driving_score).to_record()
            for name in self._metrics
        }

    def _measure_attempt(
        self,
        name: str,
        frames: Mapping[str, Sequence[Any]],
        drive: DriveEvaluation,
        driving_score: float,
    ) -> MetricValue:
        metric = self._metrics[name]
        steps = len(frames["time"])
        data = AttemptData(
            route=self._route,
            values=np.array(self.columns.get(name, [math.nan] * steps)),
            frames={column: np.array(values, np.float64) for column, values in frames.items()},
            infractions=tuple(drive.infractions),
            completion=drive.completion_before_violation,
            driving_score=driving_score,
        )
        with blame_metric(name):
            return MetricValue(check_metric_value(metric.attempt(data), "attempt"), metric.unit)


def make_step_data(step: DecidedStep, *, start: float, first_id: int) -> StepData:
    """Return what metrics are shown of a planning step: copies, so that none can change a drive.

    Args:
        step: the planning step.
        start: time at which the drive began; that of metrics counts from there.
        first_id: the ego's number at the server; those of metrics count from there.
    """
    state, truth = step.sensed.state, step.sensed.truth
    return StepData(
        time=state.time - start,
        ego_in_world=state.vehicle_in_world,
        lidar_in_world=step.sensed.scan.lidar_in_world,
        speed=state.speed,
        station=state.station,
        control=step.answer.control,
        messages=step.shared.messages,
        truth=copy_boxes(truth.boxes_in_lidar),
        actor_ids=tuple(int(actor_id) - first_id for actor_id in truth.actor_ids),
        counted=tuple(bool(one) for one in step.evaluated.truth.counted[: len(truth)]),
        ego_alone=copy_boxes(step.answer.ego_alone),
        cooperative=copy_boxes(step.answer.cooperative),
    )


def copy_boxes(boxes: Boxes) -> Boxes:
    """Return boxes that share no memory with these."""
    return Boxes(boxes.geometry.copy(), boxes.classes.copy(), boxes.scores.copy())


@contextmanager
def blame_metric(name: str) -> Iterator[None]:
    """Give whatever a metric raises its failure class and its name."""
    try:
        yield
    except Exception as problem:
        text = f"metrics.{name}: {type(problem).__name__}: {problem}"
        raise AttemptError("metric_exception", text) from problem
