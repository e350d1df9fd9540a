"""Nominal drives and lines of sight: when an ego alone could first see a mover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types.vocabulary import Pose, Route
from harness.world.hazards.courses import make_course
from harness.world.hazards.meeting import MovingActor, PlannedMeeting, StaticActor
from harness.world.hazards.nominal import ACCELERATION, CRUISE, NominalDrive
from harness.world.hazards.sight import (
    LIDAR_RANGE,
    OccluderBoxes,
    SightApproach,
    find_blocked_lines,
)
from harness.world.hazards.track import Track


def box(
    *, x: float, y: float, yaw: float, size: tuple[float, float, float], rows: int
) -> OccluderBoxes:
    return OccluderBoxes(xyz=np.tile((x, y, 0.0), (rows, 1)), yaw=np.full(rows, yaw), size=size)


def test_a_box_cuts_the_lines_through_it() -> None:
    eyes = np.array([(0.0, 0.0, 1.0)] * 4)
    targets = np.array([(10.0, 0.0, 1.0), (10.0, 9.0, 1.0), (4.0, 0.0, 1.0), (0.0, 8.0, 1.0)])
    boxes = box(x=6.0, y=0.0, yaw=0.0, size=(2.0, 2.0, 2.0), rows=4)
    assert find_blocked_lines(eyes, targets[:, None], boxes)[:, 0].tolist() == [
        True,
        False,
        False,
        False,
    ]


def test_a_turned_box_cuts_other_lines() -> None:
    eye, target = np.array([(0.0, 2.0, 1.0)]), np.array([[(10.0, 2.0, 1.0)]])
    along = box(x=5.0, y=0.0, yaw=0.0, size=(6.0, 1.0, 2.0), rows=1)
    across = box(x=5.0, y=0.0, yaw=math.pi / 2, size=(6.0, 1.0, 2.0), rows=1)
    assert not find_blocked_lines(eye, target, along).any()
    assert find_blocked_lines(eye, target, across).all()


@given(height=st.floats(0.1, 10.0), eye=st.floats(0.1, 10.0), far=st.floats(0.0, 3.0))
def test_a_box_hides_what_its_top_is_above_the_line_to(
    height: float, eye: float, far: float
) -> None:
    """The line from the eye falls or rises evenly; over the box it is lowest at one of its ends."""
    boxes = box(x=5.0, y=0.0, yaw=0.0, size=(2.0, 2.0, height), rows=1)
    lowest = min(eye + (far - eye) * share for share in (0.4, 0.6))
    if abs(lowest - height) > 1e-6:
        hidden = find_blocked_lines(
            np.array([(0.0, 0.0, eye)]), np.array([[(10.0, 0.0, far)]]), boxes
        )
        assert hidden.item() == (lowest < height)


def straight(length: int = 200, limit: float = 14.0) -> Route:
    xs = np.arange(length + 1.0)
    zeros, ones = np.zeros(length + 1), np.ones(length + 1)
    return Route(
        name="straight",
        town="nowhere",
        xyz=np.stack([xs, zeros, zeros], axis=1),
        yaw=zeros,
        station=xs,
        lane_width=3.5 * ones,
        speed_limit=limit * ones,
        in_junction=np.zeros(length + 1, np.bool_),
        lane_change=np.zeros(length + 1, np.bool_),
    )


@given(station=st.floats(0.0, 80.0), ahead=st.floats(1.0, 60.0))
def test_a_cruising_ego_arrives_by_its_speed(station: float, ahead: float) -> None:
    seconds = NominalDrive(straight()).compute_seconds_between(station, CRUISE, station + ahead)
    assert seconds == pytest.approx(ahead / CRUISE, rel=1e-6)


def test_an_ego_at_rest_gathers_speed_first() -> None:
    run_up = CRUISE**2 / (2 * ACCELERATION)
    expected = CRUISE / ACCELERATION + (60.0 - run_up) / CRUISE
    assert NominalDrive(straight()).compute_seconds_between(0.0, 0.0, 60.0) == pytest.approx(
        expected, abs=0.2
    )


def test_a_limit_slows_the_nominal_drive() -> None:
    assert NominalDrive(straight(limit=5.0)).compute_seconds_between(
        0.0, 5.0, 50.0
    ) == pytest.approx(10.0)


def test_where_the_ego_is_before_it_arrives_is_the_inverse_of_when() -> None:
    nominal = NominalDrive(straight())
    before = np.array([0.0, 2.0, 5.0])
    stations = nominal.compute_earlier_stations(100.0, before)
    again = [nominal.compute_seconds_between(0.0, 0.0, float(station)) for station in stations]
    assert np.subtract(again[0], again) == pytest.approx(before, abs=1e-6)


class Wall:
    """Houses that hide everything up to a place along the road."""

    def __init__(self, until: float) -> None:
        self.until = until

    def is_hidden(self, eye: np.ndarray, target: np.ndarray) -> bool:
        return bool(eye[0] < self.until)


def crossing(track: Track) -> tuple[MovingActor, PlannedMeeting]:
    """Return a pedestrian who starts 6 m right of a straight road and crosses it at 150 m."""
    way = np.array([(150.0, 6.0, 0.0), (150.0, -6.0, 0.0)])
    mover = MovingActor("walker.pedestrian.*", make_course(way, 2.0, acceleration=4.0))
    return mover, PlannedMeeting(station=150.0, seconds=3.0, over=6.0)


def test_what_nothing_hides_is_seen_from_as_far_as_the_lidar_reaches() -> None:
    track = Track(None, straight())
    reveal = SightApproach(track, *crossing(track)).compute_reveal(())
    assert reveal == pytest.approx((LIDAR_RANGE - 1.15) / CRUISE, abs=0.15)


@pytest.mark.parametrize("until", [100.0, 110.0])
def test_behind_houses_it_is_seen_where_they_end(until: float) -> None:
    """The LiDAR is 1.15 m behind the ego's front."""
    track = Track(None, straight(), Wall(until))
    reveal = SightApproach(track, *crossing(track)).compute_reveal(())
    assert reveal == pytest.approx((150.0 - until - 1.15) / CRUISE, abs=0.45)


def test_a_row_hides_it_until_the_ego_looks_past_its_corner() -> None:
    """By similar triangles: the line to the body's near corner passes the van's inner front one."""
    track = Track(None, straight())
    mover, meeting = crossing(track)
    row = tuple(
        StaticActor("vehicle.mercedes.sprinter", Pose(145.5 - 6.0 * number, 3.0))
        for number in range(6)
    )
    reveal = SightApproach(track, mover, meeting).compute_reveal(row)
    assert 0.3 < reveal < 1.5
    assert SightApproach(track, mover, meeting).compute_reveal(row[:1]) >= reveal
