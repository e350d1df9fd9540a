"""The check of a metric: on made-up steps, without a simulator."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace

import numpy as np

from harness.common.findings import Finding, make_checks
from harness.common.randomness import make_named_stream
from harness.evaluation.metrics.metric import (
    AttemptData,
    Metric,
    StepData,
    check_metric_value,
    has_attempt_number,
    has_step_numbers,
)
from harness.records.schema import FRAMES
from harness.types.vocabulary import Boxes, Control, Floats, Message, Pose, Route
from harness.world.rig import read_rig

STEPS, OTHER_STEPS = 20, 7
PERIOD = 0.2
"""Seconds between two steps."""
SLOW = 0.02
"""Seconds of a step from which a warning is due: a tenth of the time between two."""
CHECKS = {
    "declared": "it overrides step or attempt, and its unit is text",
    "runs": "returns a number or None at every step and at the end",
    "empty": "works without road users, detections, messages and known values",
    "inputs": "leaves what it is given unchanged",
    "deterministic": "equal attempts give equal numbers, in another instance too",
    "reset": "reset clears everything from earlier attempts",
    "time": "a step takes less than a tenth of the planning interval",
}


class MetricExamination:
    """Puts one metric to all checks."""

    def __init__(self, make: Callable[[], Metric]) -> None:
        self._make, self._metric = make, make()
        self._steps = tuple(make_test_step(number) for number in range(STEPS))

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "declared": self._check_declaration,
            "runs": self._check_runs,
            "empty": self._check_empty,
            "inputs": self._check_inputs,
            "deterministic": self._check_determinism,
            "reset": self._check_reset,
            "time": self._check_time,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("declared", "runs"),
        )

    def _check_declaration(self) -> Iterator[Finding]:
        if not has_attempt_number(self._metric):
            yield Finding("declared", "failed", "it overrides neither step nor attempt")
        if not isinstance(self._metric.unit, str):
            yield Finding("declared", "failed", f"unit is {self._metric.unit!r}; text is needed")

    def _check_runs(self) -> Iterator[Finding]:
        *steps, attempt = compute_metric_numbers(self._metric, self._steps)
        known = sum(not math.isnan(number) for number in steps)
        unit = f" {self._metric.unit}" if self._metric.unit else ""
        value = "none" if math.isnan(attempt) else f"{attempt:.4g}{unit}"
        of_steps = f"{known} of {len(steps)} steps have a number; " if steps else ""
        yield Finding("runs", "passed", f"{of_steps}that of the attempt is {value}")

    def _check_empty(self) -> Iterator[Finding]:
        empty_steps = [empty_step(step) for step in self._steps]
        compute_metric_numbers(self._make(), empty_steps)
        yield from ()

    def _check_inputs(self) -> Iterator[Finding]:
        given = copy.deepcopy(self._steps)
        attempt = make_attempt_data(given)
        before = copy.deepcopy(attempt)
        self._metric.reset(attempt.route)
        for step in given:
            self._metric.step(step)
        self._metric.attempt(attempt)
        steps = [
            name
            for pair in zip(self._steps, given, strict=True)
            for name in list_changed_fields(*pair)
        ]
        for name in [*steps, *list_changed_fields(before, attempt)][:1]:
            yield Finding("inputs", "failed", f"it writes into {name}: work on a copy")

    def _check_determinism(self) -> Iterator[Finding]:
        if not is_same_numbers(
            compute_metric_numbers(self._make(), self._steps),
            compute_metric_numbers(self._make(), self._steps),
        ):
            why = "two instances with the same settings return different numbers"
            yield Finding("deterministic", "failed", why)

    def _check_reset(self) -> Iterator[Finding]:
        first = compute_metric_numbers(self._make(), self._steps)
        compute_metric_numbers(self._metric, self._steps[:OTHER_STEPS])
        if not is_same_numbers(first, compute_metric_numbers(self._metric, self._steps)):
            why = "after another attempt the numbers differ: clear everything in reset"
            yield Finding("reset", "failed", why)

    def _check_time(self) -> Iterator[Finding]:
        start = time.perf_counter()
        compute_metric_numbers(self._metric, self._steps)
        seconds = (time.perf_counter() - start) / STEPS
        said = f"{1000 * seconds:.2f} ms for each planning step"
        yield Finding("time", "warning" if seconds > SLOW else "passed", said)


def findings_of(make: Callable[[], Metric]) -> list[Finding]:
    """Return what the check of a metric finds."""
    return MetricExamination(make).list_findings()


def compute_metric_numbers(metric: Metric, steps: Sequence[StepData]) -> list[float]:
    """Return a metric's numbers of steps, if it has any, and last that of the attempt."""
    data = make_attempt_data(steps)
    metric.reset(data.route)
    numbers = [check_metric_value(metric.step(step), "step") for step in steps]
    if has_step_numbers(metric):
        data = replace(data, values=np.array(numbers))
    return [
        *(numbers if has_step_numbers(metric) else []),
        check_metric_value(metric.attempt(data), "attempt"),
    ]


def make_test_step(number: int) -> StepData:
    """Return a planning step: the ego drives along x, six road users stand around it."""
    random = make_named_stream(number, "check", "metric")
    station = 1.6 * number
    # (6, 7) boxes in the LiDAR frame: they stand still, so x shrinks as the ego drives
    people = Boxes(
        np.column_stack(
            [
                np.array([10.0, 20.0, 35.0, -8.0, 5.0, 40.0]) - station,
                np.array([3.5, -3.5, 4.0, 4.0, -6.0, 0.0]),
                np.full((6, 1), -1.0),
                np.tile([4.0, 1.9, 1.6], (6, 1)),
                random.uniform(-0.2, 0.2, 6),
            ]
        ),
        np.array([0, 0, 0, 1, 2, 0]),
        np.ones(6),
    )
    # what the partner sends: the first four
    seen = people[np.arange(6) < 4]
    pose = Pose(station, 0.0, 0.0)
    mount = read_rig().ego
    message = Message(
        sender="roadside-0",
        kind="roadside",
        capture_frame=4 * number,
        capture_time=PERIOD * number,
        lidar_in_world=pose,
        payload=seen,
    )
    return StepData(
        time=PERIOD * number,
        ego_in_world=pose,
        lidar_in_world=replace(pose, x=station + mount.x, z=mount.z),
        speed=8.0 - 0.1 * number,
        station=station,
        control=Control(throttle=0.3),
        messages=(message,),
        truth=people,
        actor_ids=(1, 2, 3, 4, 5, 6),
        counted=(True,) * 6,
        ego_alone=people[np.arange(6) < 3],
        cooperative=seen,
    )


def empty_step(step: StepData) -> StepData:
    """Return a step without road users and messages."""
    none = Boxes.none()
    return replace(
        step, messages=(), truth=none, actor_ids=(), counted=(), ego_alone=none, cooperative=none
    )


def make_attempt_data(steps: Sequence[StepData]) -> AttemptData:
    """Return the attempt of some steps."""
    # (steps,) columns, zero but for those that a metric is likely to read
    frames: dict[str, Floats] = {name: np.zeros(len(steps)) for name in FRAMES.names}
    frames |= {
        "frame": np.array([20.0 * step.time for step in steps]),
        "time": np.array([step.time for step in steps]),
        "speed": np.array([step.speed for step in steps]),
        "station": np.array([step.station for step in steps]),
        "ego_x": np.array([step.ego_in_world.x for step in steps]),
        "truth_all": np.array([float(len(step.truth)) for step in steps]),
        "oldest_age": np.full(len(steps), np.nan),
    }
    return AttemptData(
        route=make_straight_route(60),
        values=np.full(len(steps), np.nan),
        frames=frames,
        infractions=(),
        completion=0.5,
        driving_score=50.0,
    )


def make_straight_route(metres: int) -> Route:
    """Return a route along x."""
    # (metres,) rows, one a metre
    station = np.arange(float(metres))
    nothing, no = np.zeros(metres), np.zeros(metres, np.bool_)
    return Route(
        name="straight",
        town="nowhere",
        xyz=np.column_stack([station, nothing, nothing]),
        yaw=nothing,
        station=station,
        lane_width=np.full(metres, 3.5),
        speed_limit=np.full(metres, 13.9),
        in_junction=no,
        lane_change=no,
    )


def list_changed_fields(before: StepData | AttemptData, after: StepData | AttemptData) -> list[str]:
    """Return the fields whose contents differ."""
    return [
        field.name
        for field in fields(before)
        if serialize_value(getattr(before, field.name))
        != serialize_value(getattr(after, field.name))
    ]


def serialize_value(value: object) -> object:
    """Return a value in a form that compares by content."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {name: serialize_value(inner) for name, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(map(serialize_value, value))
    if isinstance(value, Boxes):
        return serialize_value((value.geometry, value.classes, value.scores))
    if isinstance(value, Message):
        return serialize_value((value.sender, value.payload))
    return repr(value)


def is_same_numbers(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether all numbers are equal; NaN equals NaN."""
    return np.array_equal(one, other, equal_nan=True)
