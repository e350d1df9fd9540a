"""Boxes for property tests: many that align, touch, contain or repeat each other, and some odd."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from harness.types.vocabulary import Floats

ANYWHERE = st.floats(-8, 8) | st.integers(-16, 16).map(lambda halves: halves / 2)
SIZE = st.floats(0.05, 9) | st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0])
TURN = st.floats(-7, 7) | st.integers(-8, 8).map(lambda eighths: eighths * math.pi / 4)
BOX = st.tuples(ANYWHERE, ANYWHERE, ANYWHERE, SIZE, SIZE, SIZE, TURN)


@st.composite
def boxes(sample: st.DrawFn, most: int = 6) -> Floats:
    """Rows `x y z length width height yaw`, from none to `most`."""
    return np.array(sample(st.lists(BOX, max_size=most)), np.float64).reshape(-1, 7)


@st.composite
def scored(sample: st.DrawFn, most: int = 6) -> tuple[Floats, Floats]:
    """Boxes with scores, many of them equal."""
    geometry = sample(boxes(most))
    score = st.floats(0.01, 1) | st.sampled_from([0.25, 0.5, 1.0])
    scores = sample(st.lists(score, min_size=len(geometry), max_size=len(geometry)))
    return geometry, np.array(scores, np.float64)


def row(
    x: float = 0, y: float = 0, length: float = 4, width: float = 2, yaw: float = 0
) -> list[float]:
    return [x, y, 0.0, length, width, 1.5, yaw]


def rows(*values: list[float]) -> Floats:
    return np.array(values, np.float64).reshape(-1, 7)
