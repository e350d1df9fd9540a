"""Contacts of profiles with road users: those far away are left out, and nothing else changes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agents.driving.contact import ContactMargins, find_profile_contacts
from agents.driving.footprint import (
    GroundRectangles,
    find_reachable_rows,
    find_touching_pairs,
    make_grown_rectangles,
)
from agents.driving.path import RoutePath
from agents.driving.prediction import predict_motion
from agents.driving.settings import EgoVehicleModel
from agents.driving.speed import SpeedProfiles
from agents.driving.tracking import RoadUserTracks, list_other_rows
from harness.types.vocabulary import Boxes, Floats, Mask
from tests.agents.little_world import straight

PLACE = st.floats(-12, 12) | st.integers(-24, 24).map(lambda halves: halves / 2)
SIZE = st.floats(0.05, 4) | st.sampled_from([0.5, 1.0, 2.0])


@st.composite
def rectangles(sample: st.DrawFn, wide: float) -> GroundRectangles:
    """One to three rows of two rectangles each."""
    shape = sample(st.integers(1, 3)), 2

    def numbers(kind: st.SearchStrategy[float], count: int) -> np.ndarray:
        return np.array(sample(st.lists(kind, min_size=count, max_size=count)))

    count = shape[0] * shape[1]
    return GroundRectangles(
        (wide * numbers(PLACE, 2 * count)).reshape(*shape, 2),
        numbers(st.floats(-7, 7), count).reshape(shape),
        numbers(SIZE, count).reshape(shape),
        numbers(SIZE, count).reshape(shape),
    )


@given(rectangles(1.0), rectangles(1.0))
def test_who_cannot_be_reached_touches_nothing(
    ours: GroundRectangles, theirs: GroundRectangles
) -> None:
    touched = find_touching_pairs(ours[:, None], theirs[None])
    assert not touched[:, ~find_reachable_rows(ours, theirs)].any()


def test_who_is_far_away_cannot_be_reached() -> None:
    ours = GroundRectangles(np.zeros((1, 2, 2)), np.zeros((1, 2)), np.ones((1, 1)), np.ones((1, 1)))
    centres = np.array([[[3.9, 0.0]], [[4.1, 0.0]], [[0.0, -4.1]]]).repeat(2, axis=1)
    theirs = GroundRectangles(centres, np.zeros((3, 2)), np.ones((3, 2)), np.ones((3, 2)))
    assert find_reachable_rows(ours, theirs).tolist() == [True, False, False]


@given(st.integers(0, 9), st.data())
def test_rows_without_some_are_all_others(count: int, data: st.DataObject) -> None:
    some = st.lists(st.integers(0, count - 1), unique=True) if count else st.just([])
    chosen = data.draw(some)
    others = list_other_rows(np.array(chosen, np.int64), count)
    assert others.tolist() == [row for row in range(count) if row not in chosen]


@given(st.lists(st.tuples(st.floats(0, 150), st.floats(-8, 8)), max_size=4))
def test_boxes_are_projected_as_if_alone(centres: list[tuple[float, float]]) -> None:
    path = RoutePath(straight())
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    corners = np.array(centres).reshape(-1, 1, 2) + square
    stations, offsets = path.locate_boxes(corners, 20.0, 100.0)
    for at, box in enumerate(corners):
        station, offset = path.locate_on_stretch(box, 20.0, 100.0)
        assert stations[at].tolist() == station.tolist()
        assert offsets[at].tolist() == offset.tolist()


BOX = st.tuples(
    st.floats(45, 70), st.floats(-4, 4), st.just(1.0), st.floats(0.4, 5), st.floats(0.4, 2),
    st.just(1.5), st.floats(-7, 7),
)  # fmt: skip
TIMES = np.array([0.0, 0.5, 1.0])


@given(st.lists(BOX, min_size=1, max_size=4), st.floats(0.0, 1.0), st.booleans())
def test_contacts_are_those_of_one_profile_and_one_road_user_after_the_other(
    rows: list[tuple[float, ...]], room: float, only_some: bool
) -> None:
    path, car, count = RoutePath(straight()), EgoVehicleModel(), len(rows)
    tracks = RoadUserTracks.start_tracks(
        Boxes(np.array(rows), np.zeros(count, np.int64), np.ones(count))
    )
    profiles = SpeedProfiles(50.0 + np.array([0.0, 4.0, 9.0])[:, None] * TIMES, np.ones((3, 3)))
    margins = ContactMargins(
        front=2.0,
        rear=1.0,
        side=room + 0.1 * TIMES,
        their_front=np.full((count, 1), 0.3),
        their_rear=np.full(count, 0.2),
        their_side=np.full(count, 0.1),
    )
    counts = np.arange(count) % 2 == 0 if only_some else None
    future = predict_motion(tracks, path, ego_station=50.0, times=TIMES)
    touched = find_profile_contacts(
        path, profiles, tracks=tracks, future=future, margins=margins, car=car, count=counts
    )
    expected = np.zeros((3, 3), np.bool_)
    for n in np.flatnonzero(np.ones(count, np.bool_) if counts is None else counts):
        theirs = make_grown_rectangles(
            future.centre[n],
            future.yaw[n],
            size=(tracks.size[n, :1], tracks.size[n, 1:]),
            front=margins.their_front[n],
            rear=margins.their_rear[n : n + 1],
            side=np.full(1, 0.1),
        )
        for c, stations in enumerate(profiles.station):
            wide = along(path, stations, theirs, margins.side, car)
            slim = along(path, stations, theirs, np.zeros(3), car)
            expected[c] |= slim if wide[0] and not slim[0] else wide
    assert touched.tolist() == expected.tolist()


def along(
    path: RoutePath, stations: Floats, theirs: GroundRectangles, side: Floats, car: EgoVehicleModel
) -> Mask:
    """When the ego, with so much room at its sides, touches a road user."""
    centre, course = path.interpolate_points(stations)
    size, front, rear = (
        (np.array([car.length]), np.array([car.width])),
        np.array(2.0),
        np.array(1.0),
    )
    return find_touching_pairs(
        make_grown_rectangles(centre, course, size=size, front=front, rear=rear, side=side), theirs
    )
