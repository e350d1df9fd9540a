"""Shipped metrics against slow references; what metrics may return."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.checks.metric import compute_metric_numbers, make_attempt_data, make_test_step
from harness.evaluation.metrics.braking import HardestBraking
from harness.evaluation.metrics.clearance import Clearance, compute_box_distance
from harness.evaluation.metrics.metric import (
    Metric,
    check_metric_value,
    has_attempt_number,
    has_step_numbers,
)
from harness.types.vocabulary import Floats

BOXES = st.tuples(
    st.floats(-15, 15),
    st.floats(-15, 15),
    st.just(0.0),
    st.floats(0.5, 8),
    st.floats(0.5, 3),
    st.just(1.5),
    st.floats(-math.pi, math.pi),
).map(np.array)


def filled(box: Floats, count: int = 20) -> Floats:
    """Return points all over a box."""
    across = np.linspace(-0.5, 0.5, count)
    x, y = (grid.ravel() for grid in np.meshgrid(across * box[3], across * box[4]))
    cos, sin = np.cos(box[6]), np.sin(box[6])
    return np.column_stack([box[0] + cos * x - sin * y, box[1] + sin * x + cos * y])


def slowly(one: Floats, other: Floats) -> float:
    """Return the distance between the nearest of many points of two boxes."""
    a, b = filled(one), filled(other)
    return float(np.linalg.norm(a[:, None] - b[None], axis=2).min())


@pytest.mark.thorough
@given(BOXES, BOXES)
def test_the_distance_of_boxes_is_that_of_their_points(one: Floats, other: Floats) -> None:
    spacing = math.hypot(8, 3) / 19
    assert compute_box_distance(one, other) <= slowly(one, other) + 1e-9
    assert slowly(one, other) <= compute_box_distance(one, other) + spacing
    assert compute_box_distance(one, other) == pytest.approx(
        compute_box_distance(other, one), abs=1e-9
    )


def test_clearance_is_that_of_the_nearest_and_the_smallest_counts() -> None:
    steps = [make_test_step(number) for number in range(20)]
    *of_steps, smallest = compute_metric_numbers(Clearance(), steps)
    assert smallest == min(of_steps)
    ego = np.array([-1.3, 0.0, 0.0, 4.9, 2.12, 1.5, 0.0])
    first = min(slowly(ego, box) for box in steps[0].truth.geometry)
    assert of_steps[0] == pytest.approx(first, abs=0.45)


def test_the_hardest_braking_is_the_steepest_part() -> None:
    data = make_attempt_data([make_test_step(number) for number in range(5)])
    data.frames["speed"][:] = [8.0, 8.2, 7.8, 6.0, 6.0]
    assert HardestBraking().attempt(data) == pytest.approx(1.8 / 0.2)
    data.frames["speed"][:] = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert HardestBraking().attempt(data) == 0.0
    assert HardestBraking().attempt(make_attempt_data([make_test_step(0)])) is None


class Halved(Metric):
    """Known at every second step."""

    def step(self, data: object) -> float | None:
        self.count = getattr(self, "count", -1) + 1
        return float(self.count) if self.count % 2 else None


def test_an_attempt_has_the_mean_of_known_steps() -> None:
    numbers = compute_metric_numbers(Halved(), [make_test_step(number) for number in range(6)])
    assert np.isnan(numbers[0:6:2]).all()
    assert numbers[1:6:2] + numbers[6:] == [1.0, 3.0, 5.0, 3.0]
    assert math.isnan(compute_metric_numbers(Halved(), [make_test_step(0)])[-1])


def test_what_a_metric_measures_follows_from_what_it_overrides() -> None:
    assert (has_step_numbers(Halved()), has_attempt_number(Halved())) == (True, True)
    assert (has_step_numbers(HardestBraking()), has_attempt_number(HardestBraking())) == (
        False,
        True,
    )
    assert not has_attempt_number(Metric())


@pytest.mark.parametrize("value", [True, "1", [1.0], float("inf"), -np.inf])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"step returned .*a (finite )?number or None"):
        check_metric_value(value, "step")


def test_numbers_of_numpy_are_numbers() -> None:
    assert check_metric_value(np.float32(0.5), "step") == 0.5
    assert check_metric_value(np.int64(3), "step") == 3.0
    assert math.isnan(check_metric_value(float("nan"), "step"))
