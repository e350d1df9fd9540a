"""Metrics of an attempt: what they are shown, what they return, and what they raise."""

from __future__ import annotations

import numpy as np
import pytest

from harness.campaign.attempt.metrics import AttemptMetrics, make_step_data
from harness.campaign.attempt.planning_step import (
    DecidedStep,
    LidarHits,
    SensedStep,
    SharedStep,
)
from harness.campaign.settings.metrics import build_metrics
from harness.checks.metric import make_straight_route, make_test_step
from harness.common.errors import AttemptError
from harness.evaluation.driving import DriveEvaluation, DrivingRules
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.evaluation.metrics.clearance import Clearance
from harness.evaluation.metrics.metric import AttemptData, Metric, StepData
from harness.types.vocabulary import Control, EgoObservation, GroundTruth, Pose, Route, Step
from harness.world.attempt_context import EgoState
from harness.world.rig import LidarScan
from tests.campaign.tiny import composed

ROUTE = make_straight_route(60)
DRIVE = DriveEvaluation(rules=DrivingRules(), route_length=59.0)
TRUTH = make_test_step(0).truth


def shown(ego_id: int = 100) -> StepData:
    """Return what a metric is shown of one step."""
    truth = GroundTruth(TRUTH, ego_id + 1 + np.arange(len(TRUTH)), np.full(len(TRUTH), 9))
    step = Step(Control(), TRUTH[:2], TRUTH[:1])
    settings = EvaluationSettings(ahead=30.0)
    evaluated = evaluate_frame(
        truth, truth.hits, ego_alone=step.ego_alone, cooperative=step.cooperative, settings=settings
    )
    state = EgoState(frame=7, time=12.5, vehicle_in_world=Pose(1, 2), speed=3.0, station=4.0)
    scan = LidarScan(
        frame=7,
        time=12.5,
        lidar_in_world=Pose(2.3, 2),
        points_in_lidar=np.zeros((0, 4), np.float32),
        hits={},
    )
    hits = LidarHits(
        ego=truth.hits, by_sender={"ego": truth.hits}, reference=truth.hits, after_sensing={}
    )
    sensed = SensedStep(
        state=state,
        scan=scan,
        shared=(),
        truth=truth,
        hits=hits,
        hits_counted=truth.hits,
        parked=TRUTH[:0],
    )
    observation = EgoObservation(
        sender="ego",
        kind="ego",
        frame=7,
        time=12.5,
        lidar_in_world=scan.lidar_in_world,
        points_in_lidar=scan.points_in_lidar,
        vehicle_in_world=state.vehicle_in_world,
        lidar_in_vehicle=Pose(1.3, 0),
        speed=3.0,
        lights=(),
    )
    shared = SharedStep(observation=observation, messages=(), believed={}, captured=())
    decided = DecidedStep(sensed=sensed, shared=shared, answer=step, evaluated=evaluated)
    return make_step_data(decided, start=10.0, first_id=ego_id)


class Wrong(Metric):
    """Raises, or returns what is no number."""

    def __init__(self, where: str) -> None:
        self.where = where

    def reset(self, route: Route) -> None:
        if self.where == "reset":
            raise KeyError("reset")

    def step(self, data: StepData) -> float | None:
        return float("inf") if self.where == "step" else 1.0

    def attempt(self, data: AttemptData) -> float | None:
        return 1 / 0 if self.where == "attempt" else None


def play(metric: Metric) -> None:
    """Ask a metric for one step and its attempt."""
    metrics = AttemptMetrics({"wrong": metric}, ROUTE)
    metrics.measure_step(shown())
    metrics.collect_attempt_values({"time": [2.5], "speed": [3.0]}, DRIVE, 50.0)


def test_a_step_is_shown_as_the_records_have_it() -> None:
    data = shown()
    assert (data.time, data.speed, data.station) == (2.5, 3.0, 4.0)
    assert data.actor_ids == (1, 2, 3, 4, 5, 6)
    assert data.counted == (True, True, False, True, True, False)
    assert [len(boxes) for boxes in (data.truth, data.cooperative, data.ego_alone)] == [6, 2, 1]


def test_what_a_metric_writes_reaches_nothing_else() -> None:
    data = shown()
    for boxes in (data.truth, data.cooperative, data.ego_alone):
        assert not np.shares_memory(boxes.geometry, TRUTH.geometry)


def test_numbers_of_steps_and_of_the_attempt() -> None:
    metrics = AttemptMetrics({"clearance": Clearance(), "none": Wrong("")}, ROUTE)
    metrics.measure_step(shown())
    frames = {"time": [2.5], "speed": [3.0]}
    assert metrics.columns["none"] == [1.0]
    assert metrics.units == {"clearance": "m", "none": ""}
    assert metrics.collect_attempt_values(frames, DRIVE, 50.0) == {
        "clearance": {"value": metrics.columns["clearance"][0], "unit": "m"},
        "none": {"value": None, "unit": ""},
    }


def test_an_attempt_without_a_step_has_no_number() -> None:
    metrics = AttemptMetrics({"clearance": Clearance()}, ROUTE)
    value = metrics.collect_attempt_values({"time": [], "speed": []}, DRIVE, 0.0)["clearance"]
    assert value == {"value": None, "unit": "m"}


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("reset", "metrics.wrong: KeyError: 'reset'"),
        ("step", "metrics.wrong: ValueError: step returned inf"),
        ("attempt", "metrics.wrong: ZeroDivisionError"),
    ],
)
def test_what_a_metric_raises_has_a_class_and_its_name(where: str, why: str) -> None:
    with pytest.raises(AttemptError, match=why) as caught:
        play(Wrong(where))
    assert caught.value.failure == "metric_exception"


def test_shipped_metrics_are_chosen_by_name() -> None:
    assert build_metrics(composed()) == {}
    chosen = build_metrics(composed("metrics=[clearance,hardest_braking]"))
    assert [*chosen] == ["clearance", "hardest_braking"]
