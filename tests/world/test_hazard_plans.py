"""Timetables: how movers gather speed, pause and slow down."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.world.hazards.courses import make_course

LINE = np.array([(0.0, 0.0, 0.0), (40.0, 0.0, 0.0)])


@given(speed=st.floats(1.0, 15.0), gain=st.floats(1.0, 6.0))
def test_a_course_gathers_speed_as_physics_has_it(speed: float, gain: float) -> None:
    course = make_course(LINE, speed, acceleration=gain)
    run_up = speed * speed / (2 * gain)
    expected = math.sqrt(80.0 / gain) if run_up > 40.0 else speed / gain + (40.0 - run_up) / speed
    assert course.duration == pytest.approx(expected, rel=0.05)


def test_a_course_stands_while_it_pauses_and_goes_on() -> None:
    course = make_course(LINE, 5.0, pause_at=20.0, pause=4.0)
    arrives = course.compute_seconds(20.0)
    assert course.compute_distance(arrives + 3.9) == pytest.approx(20.0)
    assert course.compute_distance(arrives + 5.0) > 20.5
    assert course.duration > make_course(LINE, 5.0).duration + 4.0


def test_a_course_slows_down_before_a_slow_stretch() -> None:
    points = np.stack([np.arange(41.0), np.zeros(41), np.zeros(41)], axis=1)
    course = make_course(points, np.where(points[:, 0] < 30.0, 10.0, 2.0), braking=4.0)
    assert np.interp(30.5, course.along, course.pace) == pytest.approx(2.0)
    assert np.interp(25.0, course.along, course.pace) < math.sqrt(4.0 + 2 * 4.0 * 5.5) + 0.1
