"""Gaps and times to collision against slow references: shapely, and small steps of time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import Polygon

from harness.types.vocabulary import Floats
from studies.search.gaps import (
    compute_pair_collision_times,
    compute_pair_corners,
    compute_rectangle_gaps,
    is_overlapping,
)

MOST, STEP = 10.0, 0.05
RECTANGLES = st.tuples(
    st.floats(-12, 12), st.floats(-12, 12), st.floats(0.5, 9), st.floats(0.5, 3), st.floats(-4, 4)
)
SPEEDS = st.tuples(st.floats(-8, 8), st.floats(-8, 8))


def row(*numbers: float) -> Floats:
    return np.array([numbers], np.float64)


def polygon(rectangle: Floats) -> Polygon:
    """Return a rectangle, turned and moved by shapely's order of corners."""
    x, y, length, width, yaw = rectangle
    cos, sin = np.cos(yaw), np.sin(yaw)
    local = [(1, 1), (1, -1), (-1, -1), (-1, 1)]
    points = [(a * length / 2, b * width / 2) for a, b in local]
    return Polygon([(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in points])


@given(RECTANGLES, RECTANGLES)
def test_gaps_are_those_of_shapely(
    one: tuple[float, float, float, float, float], other: tuple[float, float, float, float, float]
) -> None:
    first, second = row(*one), row(*other)
    expected = polygon(first[0]).distance(polygon(second[0]))
    assert compute_rectangle_gaps(first, second)[0] == pytest.approx(expected, abs=1e-9)
    assert compute_rectangle_gaps(second, first)[0] == pytest.approx(expected, abs=1e-9)
    if not 0 < expected < 1e-9:
        assert is_overlapping(first, second)[0] == (expected == 0)


def stepped(first: Floats, second: Floats, velocity: tuple[float, float]) -> float:
    """Return when two rectangles first touch, by small steps."""
    times = np.arange(0, MOST + STEP, STEP)
    moved = np.repeat(second, len(times), axis=0)
    moved[:, :2] += times[:, None] * np.array(velocity)
    touching = compute_rectangle_gaps(np.repeat(first, len(times), axis=0), moved) == 0
    return float(times[np.argmax(touching)]) if touching.any() else MOST


@given(RECTANGLES, RECTANGLES, SPEEDS)
def test_times_to_collision_are_those_of_small_steps(
    one: tuple[float, float, float, float, float],
    other: tuple[float, float, float, float, float],
    velocity: tuple[float, float],
) -> None:
    first, second = row(*one), row(*other)
    expected = stepped(first, second, velocity)
    (time,) = compute_pair_collision_times(first, second, row(*velocity), MOST)
    moved = second.copy()
    moved[:, :2] += time * np.array(velocity)
    if time < MOST:  # a graze may lie between two steps
        assert compute_rectangle_gaps(first, moved)[0] == pytest.approx(0.0, abs=1e-6)
        assert time <= expected + 1e-9
    if expected < MOST:
        assert expected - STEP - 1e-9 <= time


def test_pairs_whose_answer_is_known() -> None:
    car = row(0, 0, 4, 2, 0)
    assert compute_rectangle_gaps(car, row(7, 0, 4, 2, 0))[0] == 3
    assert compute_rectangle_gaps(car, row(5, 5, 4, 2, 0))[0] == pytest.approx(np.hypot(1, 3))
    assert compute_rectangle_gaps(car, row(4, 0, 2, 2, np.pi / 4))[0] == pytest.approx(
        2 - np.sqrt(2)
    )
    assert compute_rectangle_gaps(car, row(1, 0.5, 4, 2, 1))[0] == 0
    assert compute_rectangle_gaps(car, row(0, 0, 1, 1, 0))[0] == 0  # one inside the other
    assert compute_pair_collision_times(car, row(14, 0, 4, 2, 0), row(-5, 0), MOST)[0] == 2
    assert compute_pair_collision_times(car, row(14, 0, 4, 2, 0), row(5, 0), MOST)[0] == MOST
    assert compute_pair_collision_times(car, row(14, 0, 4, 2, 0), row(0, 0), MOST)[0] == MOST
    assert compute_pair_collision_times(car, row(3, 0, 4, 2, 0), row(0, 0), MOST)[0] == 0
    assert compute_pair_collision_times(car, row(14, 2.5, 4, 2, 0), row(-5, 0), MOST)[0] == MOST
    assert compute_pair_corners(row(1, 2, 4, 2, np.pi / 2))[0].round(9).tolist() == [
        [0.0, 4.0],
        [0.0, 0.0],
        [2.0, 0.0],
        [2.0, 4.0],
    ]
