"""How much boxes overlap, held against shapely and against geometry known beforehand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.types.overlap import compute_bev_iou
from harness.types.vocabulary import Floats
from tests.evaluation import slowly
from tests.evaluation.scenes import TURN, boxes, row, rows


def moved(rectangles: Floats, x: float, y: float, turn: float = 0.0) -> Floats:
    """The same boxes after the world was turned round its origin and shifted."""
    cos, sin = math.cos(turn), math.sin(turn)
    result = rectangles.copy()
    result[:, 0] = cos * rectangles[:, 0] - sin * rectangles[:, 1] + x
    result[:, 1] = sin * rectangles[:, 0] + cos * rectangles[:, 1] + y
    result[:, 6] += turn
    return result


@pytest.mark.thorough
@given(boxes(), boxes())
def test_overlaps_are_those_of_polygons(a: Floats, b: Floats) -> None:
    overlaps = compute_bev_iou(a, b)
    assert overlaps.shape == (len(a), len(b))
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            if abs(slowly.shared_area(p, q) - slowly.TOUCHING) > 1e-12:
                assert overlaps[i, j] == pytest.approx(slowly.iou(p, q), abs=1e-9)


@pytest.mark.thorough
@given(boxes(), boxes())
def test_overlaps_are_mutual_and_at_most_one(a: Floats, b: Floats) -> None:
    overlaps = compute_bev_iou(a, b)
    np.testing.assert_allclose(overlaps, compute_bev_iou(b, a).T, atol=1e-9)
    assert ((overlaps >= 0) & (overlaps <= 1)).all()


@pytest.mark.thorough
@given(boxes(), boxes(), st.sampled_from([0.0, 1e4, -1e4]), st.floats(-10, 10), TURN)
def test_it_does_not_matter_where_one_looks_from(
    a: Floats, b: Floats, x: float, y: float, turn: float
) -> None:
    here = compute_bev_iou(a, b)
    there = compute_bev_iou(moved(a, x, y, turn), moved(b, x, y, turn))
    more_than_touch = (here > 1e-6) | (there > 1e-6)
    np.testing.assert_allclose(here[more_than_touch], there[more_than_touch], atol=1e-9)


@given(boxes())
def test_a_box_is_itself(a: Floats) -> None:
    sizes = a[:, 3] * a[:, 4]
    np.testing.assert_allclose(np.diag(compute_bev_iou(a, a)), sizes > 0, atol=1e-12)


@given(boxes())
def test_half_a_turn_changes_nothing_and_nor_does_height(a: Floats) -> None:
    b = a + np.array([0, 0, 5, 0, 0, 3, math.pi])
    np.testing.assert_allclose(compute_bev_iou(a, b), compute_bev_iou(a, a), atol=1e-9)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (row(x=2), 1 / 3),  # half of it further on
        (row(length=2, width=1), 0.25),  # a quarter, inside
        (row(x=1, y=0.5, length=2, width=1), 0.25),  # inside, in a corner of it
        (row(yaw=math.pi / 2), 4 / 12),  # across
        (row(length=2, width=4), 4 / 12),  # across, said differently
        (row(length=1e-3, width=1e-3), 1e-6 / 8),
        (row(length=4e3, width=2e3), 1e-6),
        (row(x=4), 0),  # edge to edge
        (row(x=4, y=2), 0),  # corner to corner
        (row(x=3, yaw=math.pi / 2), 0),  # edge to edge, turned
        (row(x=4 - 1e-10), 0),  # less than counts
        (row(length=0), 0),
        (row(length=0, width=0), 0),
        (row(length=1e-5, width=1e-5), 0),  # a speck
    ],
)
@pytest.mark.parametrize("turn", [0.0, 0.3, math.pi / 4, -2.0])
def test_known_overlaps(other: list[float], expected: float, turn: float) -> None:
    a, b = (moved(rows(item), 3, -7, turn) for item in (row(), other))
    assert compute_bev_iou(a, b)[0, 0] == pytest.approx(
        expected, rel=1e-9, abs=1e-9 if expected else 0
    )


@pytest.mark.parametrize(("side", "counts"), [(1e-3, True), (3.2e-5, True), (3.1e-5, False)])
def test_a_thousandth_of_a_square_millimetre_is_the_least(side: float, counts: bool) -> None:
    speck = rows(row(length=side, width=side))
    assert compute_bev_iou(rows(row()), speck)[0, 0] == (
        pytest.approx(side**2 / 8) if counts else 0
    )


@pytest.mark.parametrize("turn", [10.0**-power for power in range(1, 15)])
def test_edges_that_are_almost_parallel(turn: float) -> None:
    a = rows(row())
    for shift in (0.0, 1e-3, 0.5):
        b = rows(row(x=shift, yaw=turn))
        assert compute_bev_iou(a, b)[0, 0] == pytest.approx(slowly.iou(a[0], b[0]), abs=1e-12)


def test_two_squares_turned_an_eighth_share_an_octagon() -> None:
    octagon = 2 * (math.sqrt(2) - 1)
    a, b = rows(row(length=1, width=1)), rows(row(length=1, width=1, yaw=math.pi / 4))
    assert compute_bev_iou(a, b)[0, 0] == pytest.approx(octagon / (2 - octagon), abs=1e-15)


def test_no_boxes_give_an_empty_table() -> None:
    assert compute_bev_iou(np.zeros((0, 7)), rows(row(), row())).shape == (0, 2)
    assert compute_bev_iou(rows(row()), np.zeros((0, 7))).shape == (1, 0)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (rows(row(x=math.nan)), "not finite"),
        (rows(row(yaw=math.inf)), "not finite"),
        (rows(row(length=-1)), "negative size"),
        (np.zeros((2, 6)), "seven numbers"),
        (np.zeros(7), "seven numbers"),
    ],
)
def test_what_is_no_box_is_refused(wrong: Floats, says: str) -> None:
    for pair in ((wrong, rows(row())), (rows(row()), wrong)):
        with pytest.raises(ValueError, match=says):
            compute_bev_iou(*pair)
