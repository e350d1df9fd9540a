"""Figures of two numbers of each arm: one marker an arm, none hidden, all with their names."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from analysis.drawing.canvas import Canvas, Circle, Polyline, TextLabel
from analysis.drawing.plots import spread_markers
from analysis.figures.scatter import (
    FEW,
    NEAREST,
    ScatterPoint,
    fit_horizontal_axis,
    fit_upright_ends,
    move_markers_apart,
    render_scatter_figure,
)
from analysis.statistics.intervals import IntervalEstimate


def estimate(value: float, half: float) -> IntervalEstimate:
    return IntervalEstimate(
        value=value, low=value - half, high=value + half, n=9, routes=9, method="bootstrap"
    )


def point(label: str, condition: str, x: float, y: float) -> ScatterPoint:
    title = f"{label}, {condition}"
    return ScatterPoint(
        label=label, condition=condition, x=estimate(x, 0.3), y=estimate(y, 8.0), title=title
    )


def figure(points: list[ScatterPoint]) -> Canvas:
    up = (*fit_upright_ends(points, (0.0, 100.0)), "collisions, %")
    return render_scatter_figure(points, fit_horizontal_axis(points, "speed"), up=up, says="arms")


def marker_places(canvas: Canvas) -> dict[str, tuple[float, float]]:
    """Return the middle of each marker by its title."""
    places = {}
    for mark in canvas.marks:
        if isinstance(mark, Circle) and mark.title:
            places[mark.title] = mark.at
        if isinstance(mark, Polyline) and mark.title:
            xs, ys = zip(*mark.points, strict=True)
            places[mark.title] = (sum(xs) / len(xs), sum(ys) / len(ys))
    return places


@pytest.mark.parametrize("count", [2, FEW, 12])
def test_no_marker_hides_another_and_every_arm_has_its_name(count: int) -> None:
    """All undisturbed arms lie at one place, all disturbed ones at another."""
    points = [point(f"system{n}", "none", 5.0, 10.0) for n in range(count)]
    points += [point(f"system{n}", "latency", 4.6, 30.0) for n in range(count)]
    canvas = figure(points)
    places = marker_places(canvas)
    assert places.keys() == {item.title for item in points}
    assert all(math.dist(a, b) > 0.9 * NEAREST for a, b in combinations(places.values(), 2))
    texts = [mark.text for mark in canvas.marks if isinstance(mark, TextLabel)]
    assert all(texts.count(f"system{n}") == 2 for n in range(count))
    assert {"none", "latency"} <= set(texts)
    assert any(text.startswith("median 95 % interval") for text in texts) == (2 * count > FEW)


def test_axes_reach_as_far_as_what_is_shown() -> None:
    many = [point(f"s{n}", "none", 4.0 + n / 10, 10.0 + n) for n in range(FEW + 1)]
    low, high = fit_upright_ends(many, (0.0, 100.0))
    assert 9 < low < 10 < 10 + FEW < high < 18
    low, high = fit_upright_ends(many[:2], (0.0, 100.0))
    assert low < 2.01
    assert high > 18.9


def test_one_system_is_named_by_its_conditions() -> None:
    points = [point("late", name, 5.0 + n, 9.0) for n, name in enumerate(("none", "latency"))]
    texts = [mark.text for mark in figure(points).marks if isinstance(mark, TextLabel)]
    assert texts.count("late") == 0
    assert texts.count("latency") == 2


def test_markers_that_are_far_apart_stay() -> None:
    places = [(10.0, 10.0), (40.0, 10.0), (10.0, 60.0)]
    assert move_markers_apart(places) == places


def test_markers_in_a_row_are_set_one_above_the_other() -> None:
    assert spread_markers([10.0, 50.0]) == [0.0, 0.0]
    up, middle, down = spread_markers([20.0, 20.0, 20.0])
    assert (up, middle, down) == (-down, 0.0, down)
    assert down >= 6.0
