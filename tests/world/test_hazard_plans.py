"""Timetables, meetings, lines of sight and arrivals: the geometry behind hazards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vocabulary import Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.courses import through
from harness.world.hazards.encounter import Arrival
from harness.world.hazards.meeting import cut

LINE = np.array([(0.0, 0.0, 0.0), (40.0, 0.0, 0.0)])


@given(speed=st.floats(1.0, 15.0), gain=st.floats(1.0, 6.0))
def test_a_course_gathers_speed_as_physics_has_it(speed: float, gain: float) -> None:
    course = through(LINE, speed, acceleration=gain)
    run_up = speed * speed / (2 * gain)
    expected = math.sqrt(80.0 / gain) if run_up > 40.0 else speed / gain + (40.0 - run_up) / speed
    assert course.duration == pytest.approx(expected, rel=0.05)


def test_a_course_stands_while_it_pauses_and_goes_on() -> None:
    course = through(LINE, 5.0, pause_at=20.0, pause=4.0)
    arrives = course.seconds_to(20.0)
    assert course.distance_at(arrives + 3.9) == pytest.approx(20.0)
    assert course.distance_at(arrives + 5.0) > 20.5
    assert course.duration > through(LINE, 5.0).duration + 4.0


def test_a_course_slows_down_before_a_slow_stretch() -> None:
    points = np.stack([np.arange(41.0), np.zeros(41), np.zeros(41)], axis=1)
    course = through(points, np.where(points[:, 0] < 30.0, 10.0, 2.0), braking=4.0)
    assert np.interp(30.5, course.along, course.pace) == pytest.approx(2.0)
    assert np.interp(25.0, course.along, course.pace) < math.sqrt(4.0 + 2 * 4.0 * 5.5) + 0.1


def test_a_rectangle_cuts_the_lines_through_it() -> None:
    eyes = np.array([(0.0, 0.0)] * 4)
    targets = np.array([(10.0, 0.0), (10.0, 9.0), (4.0, 0.0), (0.0, 8.0)])
    assert cut(
        eyes, targets, centre=np.array((6.0, 0.0)), yaw=np.array(0.0), length=2.0, width=2.0
    ).tolist() == [
        True,
        False,
        False,
        False,
    ]


def test_a_turned_rectangle_cuts_other_lines() -> None:
    eye, target = np.array([(0.0, 2.0)]), np.array([(10.0, 2.0)])
    centre = np.array((5.0, 0.0))
    assert not cut(eye, target, centre=centre, yaw=np.array(0.0), length=6.0, width=1.0).any()
    assert cut(eye, target, centre=centre, yaw=np.array(math.pi / 2), length=6.0, width=1.0).all()


def arrival_after(speeds: list[float]) -> Arrival:
    arrival = Arrival()
    for tick, speed in enumerate(speeds):
        arrival.observe(
            EgoState(
                frame=tick,
                time=0.05 * tick,
                vehicle_in_world=Pose(0.0, 0.0),
                speed=speed,
                station=0.0,
            )
        )
    return arrival


def test_a_steady_ego_arrives_by_its_speed() -> None:
    assert arrival_after([8.0] * 20).seconds(16.0) == pytest.approx(2.0)


def test_a_standing_ego_arrives_never() -> None:
    assert arrival_after([0.0] * 20).seconds(10.0) == math.inf


def test_an_ego_that_speeds_up_arrives_earlier_than_by_its_speed() -> None:
    seconds = arrival_after([2.0 + 0.1 * tick for tick in range(40)]).seconds(30.0)
    assert 30.0 / 8.0 < seconds < 30.0 / 5.9


def test_a_reached_place_needs_no_time() -> None:
    assert arrival_after([0.0]).seconds(-1.0) == 0.0
