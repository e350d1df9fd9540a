"""Average precision, held against a slow reading of its definition and against known curves."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.types.overlap import compute_bev_iou
from harness.types.precision import (
    ClassMatches,
    Interpolation,
    compute_average_precision,
    compute_mean_precision,
    match_detections,
    pool_matches,
)
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, Boxes, Floats
from tests.evaluation import slowly
from tests.evaluation.scenes import boxes, row, rows, scored

SCORES = st.floats(0.01, 1) | st.sampled_from([0.25, 0.5, 1.0])
CAR, VAN = row(), row(x=20, length=6)


@st.composite
def matches(sample: st.DrawFn) -> ClassMatches:
    """Detections of a pool, rights no more than there are true boxes."""
    ranked = sample(st.lists(st.tuples(SCORES, st.booleans()), max_size=12))
    missed = sample(st.integers(0, 4))
    return of(ranked, sum(right for _, right in ranked) + missed)


def of(ranked: list[tuple[float, bool]], truths: int) -> ClassMatches:
    scores, correct = [score for score, _ in ranked], [right for _, right in ranked]
    return ClassMatches(np.array(scores, np.float64), np.array(correct, np.bool_), truths)


def vehicles(geometry: Floats, scores: Floats) -> Boxes:
    return Boxes(geometry, np.full(len(geometry), VEHICLE), scores)


def as_rows(table: ClassMatches) -> list[tuple[float, bool]]:
    return list(zip(table.scores.tolist(), table.correct.tolist(), strict=True))


@given(boxes(5), scored(6))
def test_matches_are_those_of_the_definition(
    truth: Floats, detections: tuple[Floats, Floats]
) -> None:
    detected, scores = detections
    overlaps = np.sort(compute_bev_iou(detected, truth), axis=1)
    assume((abs(overlaps - 0.5) > 1e-9).all())
    assume((np.diff(overlaps, axis=1) > 1e-9)[overlaps[:, 1:] > 0.5].all())
    _, right = match_detections(vehicles(detected, scores), vehicles(truth, np.ones(len(truth))))
    fast = list(zip(scores.tolist(), right.tolist(), strict=True))
    assert sorted(fast) == sorted(slowly.matched(truth, detected, scores.tolist()))


@given(matches())
def test_precisions_are_those_of_the_definition(table: ClassMatches) -> None:
    assume(table.truths)
    points = as_rows(table)
    eleven = slowly.eleven_point(points, table.truths)
    every = slowly.all_point(points, table.truths)
    assert compute_average_precision(table, "eleven_point") == pytest.approx(eleven, abs=1e-12)
    assert compute_average_precision(table, "all_point") == pytest.approx(every, abs=1e-12)


@given(matches(), st.randoms(use_true_random=False), st.sampled_from(["eleven_point", "all_point"]))
def test_order_does_not_matter(
    table: ClassMatches, chance: Random, interpolation: Interpolation
) -> None:
    assume(table.truths)
    shuffled = as_rows(table)
    chance.shuffle(shuffled)
    again = compute_average_precision(of(shuffled, table.truths), interpolation)
    assert again == compute_average_precision(table, interpolation)


@given(st.lists(matches(), max_size=4))
def test_a_pool_has_the_precision_of_its_frames_at_once(parts: list[ClassMatches]) -> None:
    at_once = of(
        [as_row for part in parts for as_row in as_rows(part)], sum(p.truths for p in parts)
    )
    pooled = pool_matches(parts)
    assert as_rows(pooled) == as_rows(at_once)
    assert pooled.truths == at_once.truths


def test_scores_are_sorted_over_the_pool_and_not_frame_by_frame() -> None:
    good = of([(0.9, True)], 1)
    bad = of([(0.8, False), (0.1, True)], 1)
    expected = 0.5 * 1 + 0.5 * (2 / 3)
    for order in ([good, bad], [bad, good]):
        assert compute_average_precision(pool_matches(order), "all_point") == pytest.approx(
            expected
        )


@pytest.mark.parametrize(
    ("ranked", "truths", "eleven", "every"),
    [
        ([(0.9, True), (0.8, True)], 2, 1, 1),
        ([(0.9, True), (0.8, False)], 2, 6 / 11, 0.5),  # recalls 0 to 0.5 are reached
        ([(0.9, False), (0.8, True)], 1, 0.5, 0.5),
        ([(0.5, False), (0.5, True)], 1, 0.5, 0.5),  # no threshold parts them
        ([(0.5, True), (0.5, False)], 1, 0.5, 0.5),
        ([(0.9, True), (0.8, False), (0.7, True)], 2, (6 + 5 * 2 / 3) / 11, 0.5 + 1 / 3),
        ([(0.9, True)] * 3, 10, 4 / 11, 0.3),  # three tenths are just reached
        ([(0.9, False)], 1, 0, 0),
        ([], 3, 0, 0),
    ],
)
def test_known_curves(
    ranked: list[tuple[float, bool]], truths: int, eleven: float, every: float
) -> None:
    assert compute_average_precision(of(ranked, truths), "eleven_point") == pytest.approx(eleven)
    assert compute_average_precision(of(ranked, truths), "all_point") == pytest.approx(every)


@pytest.mark.parametrize(
    ("detections", "scores", "right"),
    [
        ([CAR, CAR], [0.3, 0.9], [False, True]),  # the better score finds it, the other repeats it
        ([CAR, CAR], [0.5, 0.5], [True, False]),
        ([VAN, CAR], [0.1, 0.2], [True, True]),
        ([row(length=2)], [0.9], [True]),  # an overlap of half is enough
        ([row(length=1.99)], [0.9], [False]),
        ([], [], []),
    ],
)
def test_a_true_box_is_matched_once(
    detections: list[list[float]], scores: list[float], right: list[bool]
) -> None:
    truth = vehicles(rows(CAR, VAN), np.ones(2))
    _, correct = match_detections(vehicles(rows(*detections), np.array(scores)), truth)
    assert correct.tolist() == right


def test_a_detection_is_of_a_true_box_of_its_class() -> None:
    geometry, scores = rows(CAR, CAR), np.array([0.9, 0.3])
    detections = Boxes(geometry, np.array([PEDESTRIAN, CYCLIST]), scores)
    truth = Boxes(geometry, np.array([CYCLIST, VEHICLE]), np.ones(2))
    best, correct = match_detections(detections, truth)
    assert best.tolist() == [-1, 0]
    assert correct.tolist() == [False, True]


def test_a_class_that_does_not_occur_has_no_precision_and_is_no_part_of_the_mean() -> None:
    absent, present = of([(0.9, False)], 0), of([(0.9, True), (0.8, False)], 2)
    assert math.isnan(compute_average_precision(absent))
    assert compute_mean_precision([absent, present], "all_point") == 0.5
    assert math.isnan(compute_mean_precision([absent]))
    assert math.isnan(compute_average_precision(pool_matches([])))


def test_unknown_interpolations_are_refused() -> None:
    with pytest.raises(ValueError, match="eleven_point or all_point"):
        compute_average_precision(of([], 1), "41_point")  # type: ignore[arg-type]
