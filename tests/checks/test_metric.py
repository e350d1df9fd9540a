"""The check of metrics: shipped ones pass it, and each mistake fails where it is made."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
import pytest

from crucible.check import main
from harness.checks.metric import CHECKS, MetricExamination
from harness.evaluation.metrics.braking import HardestBraking
from harness.evaluation.metrics.clearance import Clearance
from harness.evaluation.metrics.metric import AttemptData, Metric, StepData
from harness.types.vocabulary import Route


class Speed(Metric):
    unit: ClassVar[str] = "m/s"

    def step(self, data: StepData) -> float | None:
        return data.speed


class Nothing(Metric):
    pass


class NoUnit(Speed):
    unit = 3  # type: ignore[assignment]


class Text(Speed):
    def step(self, data: StepData) -> Any:
        return "fast"


class Infinite(Speed):
    def attempt(self, data: AttemptData) -> float | None:
        return float("inf")


class NeedsRoadUsers(Speed):
    def step(self, data: StepData) -> float | None:
        return float(np.hypot(*data.truth.geometry[:, :2].T).min())


class Writes(Speed):
    def step(self, data: StepData) -> float | None:
        data.truth.geometry[:, 0] -= data.station
        return 0.0


class WritesAtTheEnd(Speed):
    def attempt(self, data: AttemptData) -> float | None:
        data.frames["speed"].sort()
        return 0.0


class Random(Speed):
    def step(self, data: StepData) -> float | None:
        return float(np.random.default_rng().random())


class Remembers(Speed):
    """Never reset."""

    most = 0.0

    def step(self, data: StepData) -> float | None:
        self.most = max(self.most, data.time)
        return self.most


class Resets(Remembers):
    def reset(self, route: Route) -> None:
        self.most = 0.0


class Slow(Speed):
    def step(self, data: StepData) -> float | None:
        time.sleep(0.002)
        return 1.0


def verdicts(make: type[Metric]) -> dict[str, str]:
    return {finding.check: finding.verdict for finding in MetricExamination(make).list_findings()}


@pytest.mark.parametrize("metric", [Clearance, HardestBraking, Speed, Resets])
def test_good_metrics_pass(metric: type[Metric]) -> None:
    assert verdicts(metric) | {"time": "passed"} == dict.fromkeys(CHECKS, "passed")


@pytest.mark.parametrize(
    ("metric", "check"),
    [
        (Nothing, "declared"),
        (NoUnit, "declared"),
        (Text, "runs"),
        (Infinite, "runs"),
        (NeedsRoadUsers, "empty"),
        (Writes, "inputs"),
        (WritesAtTheEnd, "inputs"),
        (Random, "deterministic"),
        (Remembers, "reset"),
    ],
)
def test_a_mistake_fails_its_check(metric: type[Metric], check: str) -> None:
    failed = [name for name, verdict in verdicts(metric).items() if verdict == "failed"]
    assert failed[:1] == [check]


def test_a_slow_metric_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.checks.metric.SLOW", 0.001)
    assert verdicts(Slow) == {**dict.fromkeys(CHECKS, "passed"), "time": "warning"}


@pytest.mark.usefixtures("prints_fit")
def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tests.checks.test_metric:Speed"]) == 0
    assert "as a metric" in capsys.readouterr().out
    assert main(["tests.checks.test_metric:Writes"]) == 1
    assert "it writes into truth" in capsys.readouterr().out
    assert main(["tests.checks.test_metric:Speed", "limit=3"]) == 2
    assert "Speed takes no arguments" in capsys.readouterr().err
    assert main(["harness.types.vocabulary:Pose"]) == 2
    error = capsys.readouterr().err
    assert "harness.types.vocabulary:Pose is no plug-in" in error
    assert error.count("\n") == 1
