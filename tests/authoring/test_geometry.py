"""Lines and arcs against what they are meant to be."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.authoring.geometry import (
    PathPiece,
    PlanePath,
    PlanePose,
    join_poses,
    make_rounded_path,
)
from harness.authoring.writing import format_decimal
from harness.carlite.angles import wrap_to_pi

coordinate = st.floats(-100, 100)
angle = st.floats(-math.pi, math.pi)


def gap(a: PlanePose, b: PlanePose) -> float:
    return math.hypot(a.x - b.x, a.y - b.y)


def assert_continuous(path: PlanePath) -> None:
    for one, two in zip(path.pieces, path.pieces[1:], strict=False):
        end = one.compute_pose(one.length)
        assert gap(end, two.start) < 1e-6
        assert abs(wrap_to_pi(end.heading - two.start.heading)) < 1e-6


@given(coordinate, coordinate, angle, st.floats(0.1, 80), st.floats(-0.2, 0.2))
def test_an_arc_is_what_many_small_steps_make(
    x: float, y: float, heading: float, length: float, curvature: float
) -> None:
    assume(abs(curvature) > 1e-6)
    steps = 2000
    here = PlanePose(x, y, heading)
    for _ in range(steps):
        ahead = here.move_ahead(length / steps / 2)
        here = PlanePose(ahead.x, ahead.y, here.heading + curvature * length / steps)
        here = here.move_ahead(length / steps / 2)
    assert (
        gap(PathPiece(PlanePose(x, y, heading), length, curvature).compute_pose(length), here)
        < 1e-2
    )


@given(coordinate, coordinate, angle)
def test_join_reaches_its_end_without_a_kink(x: float, y: float, heading: float) -> None:
    start, end = PlanePose(0, 0, 0), PlanePose(x, y, heading)
    assume(math.hypot(x, y) > 1 and x > 0.5 and abs(heading) < 2.8)
    path = join_poses(start, end)
    assert_continuous(path)
    assert gap(path.compute_pose(0), start) < 1e-6
    assert gap(path.compute_pose(path.length), end) < 1e-5
    assert abs(wrap_to_pi(path.compute_pose(path.length).heading - heading)) < 1e-5


def tightest(path: PlanePath) -> float:
    """Return the smallest radius."""
    return 1 / max(abs(piece.curvature) for piece in path.pieces)


@given(st.floats(2, 30))
def test_join_keeps_the_radius_it_is_asked_for(radius: float) -> None:
    path = join_poses(PlanePose(0, 0, 0), PlanePose(40, 40, math.pi / 2), radius)
    assert tightest(path) == pytest.approx(radius)
    assert len(path.pieces) == 3


def test_parallel_lanes_are_joined_by_an_s_of_two_arcs() -> None:
    path = join_poses(PlanePose(0, 0, 0), PlanePose(30, 2, 0))
    assert [math.copysign(1, piece.curvature) for piece in path.pieces] == [1, -1]
    assert tightest(path) == pytest.approx((30**2 + 2**2) / (4 * 2))


def test_through_rounds_its_corners() -> None:
    path = make_rounded_path(((0, 0), (100, 0), (100, 80)), (20,))
    assert_continuous(path)
    assert path.length == pytest.approx(80 + 20 * math.pi / 2 + 60)
    assert gap(path.compute_pose(path.length), PlanePose(100, 80, 0)) < 1e-9


def test_through_refuses_a_bend_without_room() -> None:
    with pytest.raises(ValueError, match="no room"):
        make_rounded_path(((0, 0), (10, 0), (10, 80)), (20,))


@given(st.floats(0, 40), st.floats(1, 40))
def test_part_of_a_path_lies_on_it(begin: float, extra: float) -> None:
    path = make_rounded_path(((0, 0), (50, 0), (70, 40)), (30,))
    end = min(begin + extra, path.length)
    part = path.crop_path(begin, end)
    assert part.length == pytest.approx(end - begin)
    assert gap(part.compute_pose(extra / 2), path.compute_pose(begin + extra / 2)) < 1e-6


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (-0.0, "0"), (-1e-9, "0"), (2.5, "2.5"), (1e6, "1000000")]
)
def test_numbers_have_one_spelling(value: float, text: str) -> None:
    assert format_decimal(value) == text
