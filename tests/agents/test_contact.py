"""Contacts of profiles with road users: those far away are left out, and nothing else changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agents.driving.footprint import Rectangles, reachable, touching
from agents.driving.path import Path
from agents.driving.tracking import rows_without
from tests.agents.little_world import straight

PLACE = st.floats(-12, 12) | st.integers(-24, 24).map(lambda halves: halves / 2)
SIZE = st.floats(0.05, 4) | st.sampled_from([0.5, 1.0, 2.0])


@st.composite
def rectangles(sample: st.DrawFn, wide: float) -> Rectangles:
    """One to three rows of two rectangles each."""
    shape = sample(st.integers(1, 3)), 2

    def numbers(kind: st.SearchStrategy[float], count: int) -> np.ndarray:
        return np.array(sample(st.lists(kind, min_size=count, max_size=count)))

    count = shape[0] * shape[1]
    return Rectangles(
        (wide * numbers(PLACE, 2 * count)).reshape(*shape, 2),
        numbers(st.floats(-7, 7), count).reshape(shape),
        numbers(SIZE, count).reshape(shape),
        numbers(SIZE, count).reshape(shape),
    )


@given(rectangles(1.0), rectangles(1.0))
def test_who_cannot_be_reached_touches_nothing(ours: Rectangles, theirs: Rectangles) -> None:
    touched = touching(ours[:, None], theirs[None])
    assert not touched[:, ~reachable(ours, theirs)].any()


def test_who_is_far_away_cannot_be_reached() -> None:
    ours = Rectangles(np.zeros((1, 2, 2)), np.zeros((1, 2)), np.ones((1, 1)), np.ones((1, 1)))
    centres = np.array([[[3.9, 0.0]], [[4.1, 0.0]], [[0.0, -4.1]]]).repeat(2, axis=1)
    theirs = Rectangles(centres, np.zeros((3, 2)), np.ones((3, 2)), np.ones((3, 2)))
    assert reachable(ours, theirs).tolist() == [True, False, False]


@given(st.integers(0, 9), st.data())
def test_rows_without_some_are_all_others(count: int, data: st.DataObject) -> None:
    some = st.lists(st.integers(0, count - 1), unique=True) if count else st.just([])
    chosen = data.draw(some)
    others = rows_without(np.array(chosen, np.int64), count)
    assert others.tolist() == [row for row in range(count) if row not in chosen]


@given(st.lists(st.tuples(st.floats(0, 150), st.floats(-8, 8)), max_size=4))
def test_boxes_are_projected_as_if_alone(centres: list[tuple[float, float]]) -> None:
    path = Path(straight())
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    corners = np.array(centres).reshape(-1, 1, 2) + square
    stations, offsets = path.outlines(corners, 20.0, 100.0)
    for at, box in enumerate(corners):
        station, offset = path.stretch(box, 20.0, 100.0)
        assert stations[at].tolist() == station.tolist()
        assert offsets[at].tolist() == offset.tolist()
