"""Measures after each 10 m: the last one is the whole drive's, and none looks ahead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.evaluation.surrogates.along import compute_measures_along, count_until
from harness.evaluation.surrogates.encroachment import compute_post_encroachment_time
from harness.evaluation.surrogates.measures import (
    DriveEnding,
    compute_surrogates,
    find_passing_ticks,
)
from harness.evaluation.surrogates.motion import RoadUserMotion
from harness.evaluation.surrogates.reasons import EgoWay
from harness.evaluation.surrogates.rules import RULES
from harness.types.vocabulary import Floats

DT = 0.1
CAR = np.array([4.5, 2.0, 1.5])


def make_drive(speeds: Floats, crossing: float, start: float, pace: float) -> RoadUserMotion:
    """An ego on a straight way; a car crosses it at some place, from some side distance."""
    ticks = len(speeds)
    x = np.concatenate([[0.0], np.cumsum((speeds[1:] + speeds[:-1]) / 2 * DT)])
    flat = np.zeros((ticks, 2))
    other = np.column_stack([np.full(ticks, crossing), start + pace * DT * np.arange(ticks)])
    turned = np.column_stack([np.zeros(ticks), np.full(ticks, np.pi / 2)])
    return RoadUserMotion(
        tick_seconds=DT,
        ego=np.column_stack([x, flat, np.zeros(ticks)]),
        ego_size=CAR,
        place=np.concatenate([other, turned], axis=1),
        size=np.tile(CAR, (ticks, 1)),
        tick=np.arange(ticks),
        actor=np.ones(ticks, np.int64),
    )


@st.composite
def drives(sample: st.DrawFn) -> tuple[RoadUserMotion, EgoWay, DriveEnding]:
    knots = sample(st.lists(st.floats(0, 14), min_size=4, max_size=7))
    speeds = np.interp(np.linspace(0, 1, 150), np.linspace(0, 1, len(knots)), knots)
    crossing, start, pace = (sample(st.floats(*ends)) for ends in ((10, 90), (-40, -5), (1, 9)))
    motion = make_drive(speeds, crossing, start, pace)
    way = EgoWay(xy=np.array([[0.0, 0.0], [500.0, 0.0]]), station=motion.ego[:, 0], signals=[])
    last = sample(st.integers(20, 149))
    ending = DriveEnding(
        tick=last, collided=sample(st.booleans()), struck=sample(st.integers(0, 1))
    )
    return motion, way, ending


@settings(max_examples=30, deadline=None)
@given(drives())
def test_the_last_value_is_that_of_the_whole_drive(drive: tuple[Any, Any, Any]) -> None:
    whole, along = compute_surrogates(*drive), compute_measures_along(*drive)
    marks = len(find_passing_ticks(drive[1].select_ticks(0, drive[2].tick), drive[2].tick))
    for name, values in along.items():
        assert len(values) == marks + 1
        assert values[-1] == pytest.approx(whole[name], abs=6e-4), name


@settings(max_examples=30, deadline=None)
@given(drives())
def test_measures_only_grow_worse_along_the_way(drive: tuple[Any, Any, Any]) -> None:
    for name, values in compute_measures_along(*drive).items():
        steps = np.diff(values)
        if name.startswith("smallest"):
            assert (steps <= 0).all(), name
        elif name != "jerk_rms":
            assert (steps >= 0).all(), name


@settings(max_examples=30, deadline=None)
@given(drives())
def test_post_encroachment_times_are_those_of_the_drive_until_there(
    drive: tuple[Any, Any, Any],
) -> None:
    motion, way, ending = drive
    ending = DriveEnding(tick=ending.tick, collided=False)
    values = compute_measures_along(motion, way, ending)["smallest_pet"]
    near = motion.select_tick_range(0, ending.tick).select_near(RULES.reach, RULES.level)
    ticks = find_passing_ticks(way.select_ticks(0, ending.tick), ending.tick)
    for tick, value in zip(ticks, values[:-1], strict=True):
        until = near.select_tick_range(0, int(tick))
        assert value == pytest.approx(compute_post_encroachment_time(until, RULES), abs=6e-4)


def test_an_episode_counts_from_its_first_tick_on() -> None:
    assert count_until([7, 3], np.array([2, 3, 6, 7, 9])).tolist() == [0, 1, 1, 2, 2]
