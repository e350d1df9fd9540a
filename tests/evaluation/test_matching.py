"""Matches of frames as rows: what counts, and in which class and band."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evaluation.frame_evaluation import EGO_BOX, EvaluatedBoxes, compute_distance_bands
from harness.evaluation.matching import MatchTable, match_frame
from harness.types.precision import (
    compute_average_precision,
    compute_mean_precision,
    match_detections,
    match_many_frames,
)
from harness.types.record_names import BANDS
from harness.types.vocabulary import CLASSES, CYCLIST, PEDESTRIAN, VEHICLE, Boxes, Floats
from tests.evaluation.scenes import row, rows, scored


def judged(geometry: Floats, of_class: int = VEHICLE, score: float = 1.0) -> EvaluatedBoxes:
    count = len(geometry)
    boxes = Boxes(geometry, np.full(count, of_class), np.full(count, score))
    return counted(boxes, np.ones(count, np.bool_))


def counted(boxes: Boxes, counts: np.ndarray) -> EvaluatedBoxes:
    nothing = np.zeros(len(boxes), np.int64)
    return EvaluatedBoxes(
        boxes=boxes,
        counted=counts,
        bands=compute_distance_bands(boxes.geometry),
        pattern=nothing - 1,
        times=nothing,
    )


@st.composite
def frame(sample: st.DrawFn) -> tuple[EvaluatedBoxes, EvaluatedBoxes]:
    """Truth and detections of some classes, not all of which count."""
    parts = []
    for _ in range(2):
        geometry, scores = sample(scored(5))
        classes = sample(st.lists(st.integers(0, 2), min_size=len(scores), max_size=len(scores)))
        counts = sample(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
        boxes = Boxes(geometry * [4, 4, 1, 1, 1, 1, 1], np.array(classes, np.int64), scores)
        parts.append(counted(boxes, np.array(counts, np.bool_)))
    return parts[0], parts[1]


@pytest.mark.thorough
@given(frame())
def test_where_all_count_classes_are_matched_as_if_alone(
    pair: tuple[EvaluatedBoxes, EvaluatedBoxes],
) -> None:
    truth, detections = (counted(part.boxes, np.ones(len(part.boxes), np.bool_)) for part in pair)
    table = match_frame(truth, detections)
    for index in range(len(CLASSES)):
        mine, theirs = (part.boxes[part.boxes.classes == index] for part in (truth, detections))
        _, right = match_detections(theirs, mine)
        selected = table.select_matches(index)
        assert selected.truths == len(mine)
        np.testing.assert_array_equal(selected.scores, theirs.scores)
        np.testing.assert_array_equal(selected.correct, right)


@pytest.mark.thorough
@given(frame())
def test_classes_and_bands_share_everything_between_them(
    pair: tuple[EvaluatedBoxes, EvaluatedBoxes],
) -> None:
    table = match_frame(*pair)
    everything = table.select_matches()
    assert everything.truths == pair[0].counted.sum()
    for parts in (
        [table.select_matches(of_class=index) for index in range(len(CLASSES))],
        [table.select_matches(band=index) for index in range(len(BANDS) + 1)],
    ):
        assert sum(part.truths for part in parts) == everything.truths
        assert sum(len(part.scores) for part in parts) == len(everything.scores)
        assert sum(part.correct.sum() for part in parts) == everything.correct.sum()
        assert all(part.correct.sum() <= part.truths for part in parts)


@pytest.mark.thorough
@given(st.lists(frame(), max_size=4))
def test_joined_tables_hold_what_their_parts_hold(
    pairs: list[tuple[EvaluatedBoxes, EvaluatedBoxes]],
) -> None:
    tables = [match_frame(*pair) for pair in pairs]
    joined = MatchTable.join_tables(tables).select_matches(of_class=VEHICLE, band=0)
    parts = [table.select_matches(of_class=VEHICLE, band=0) for table in tables]
    assert joined.truths == sum(part.truths for part in parts)
    assert joined.scores.tolist() == [score for part in parts for score in part.scores]


def test_detecting_a_road_user_that_does_not_count_is_not_wrong() -> None:
    truth = counted(judged(rows(row(), row(x=10))).boxes, np.array([True, False]))
    selected = match_frame(
        truth, judged(rows(row(), row(x=10), row(x=10.1), row(x=20)))
    ).select_matches()
    assert selected.truths == 1
    assert selected.correct.tolist() == [True, False]  # both boxes at 10 m have left


def test_a_box_outside_the_window_may_find_but_not_err() -> None:
    outside = counted(judged(rows(row(x=0.2), row(x=30))).boxes, np.array([False, False]))
    selected = match_frame(judged(rows(row())), outside).select_matches()
    assert selected.correct.tolist() == [True]


def test_a_find_belongs_to_the_band_of_the_true_box() -> None:
    table = match_frame(judged(rows(row(x=30.1))), judged(rows(row(x=29.9), row(x=-60))))
    near, middle, far = (table.select_matches(band=index) for index in range(len(BANDS)))
    assert (near.truths, len(near.scores)) == (0, 0)
    assert (middle.truths, middle.correct.tolist()) == (1, [True])
    assert (far.truths, far.correct.tolist()) == (0, [False])
    assert compute_average_precision(middle) == 1
    assert math.isnan(compute_average_precision(near))
    assert math.isnan(compute_average_precision(far))


def test_classes_are_averaged_or_pooled() -> None:
    car, walker = rows(row(x=9)), rows(row(x=-9, length=0.5, width=0.5))
    right = match_frame(judged(car, VEHICLE), judged(car, VEHICLE, 0.9))
    wrong = match_frame(judged(walker, PEDESTRIAN), judged(walker, CYCLIST, 0.8))
    table = MatchTable.join_tables([right, wrong])
    by_class = [table.select_matches(index) for index in range(len(CLASSES))]
    assert compute_mean_precision(by_class) == 0.5  # 1, 0, and no cyclist to find
    assert compute_average_precision(table.select_matches(), "all_point") == 0.5
    assert compute_average_precision(table.select_matches(), "eleven_point") == pytest.approx(
        6 / 11
    )


def test_the_ego_box_is_a_correct_detection_in_every_frame() -> None:
    ego = counted(EGO_BOX, np.array([True]))
    missed = match_frame(judged(rows(row(x=9))), judged(rows()))
    with_ego = MatchTable.join_tables([missed, match_frame(ego, ego)])
    assert compute_average_precision(missed.select_matches(), "all_point") == 0
    assert compute_average_precision(with_ego.select_matches(), "all_point") == 0.5


@given(st.integers(0, 1000), st.sampled_from((0.05, 0.5)))
def test_many_frames_are_matched_as_one_by_one(seed: int, overlap: float) -> None:
    chance = np.random.default_rng(seed)

    def make_crowd(count: int) -> Boxes:
        """Boxes overlap several others, and scores are often equal."""
        places = [*chance.uniform(-4, 4, (2, count)), np.zeros(count)]
        sizes = [np.full(count, 4.0), np.full(count, 2.0), np.ones(count)]
        geometry = np.stack([*places, *sizes, chance.choice([0, 0.1, 1.5], count)], axis=1)
        scores = chance.choice([0.2, 0.4, 0.4, 0.9], count)
        return Boxes(geometry, chance.integers(0, 2, count), scores)

    truth, detections = make_crowd(40), make_crowd(60)
    truth_frames, detection_frames = chance.integers(3, 6, 40), chance.integers(3, 7, 60)
    best, correct = match_many_frames(
        detections,
        truth,
        detection_frames=detection_frames,
        truth_frames=truth_frames,
        overlap=overlap,
    )
    assert correct.any()
    for number in range(3, 7):
        chosen = np.flatnonzero(detection_frames == number)
        columns = np.flatnonzero(truth_frames == number)
        best_here, correct_here = match_detections(detections[chosen], truth[columns], overlap)
        assert best[chosen].tolist() == np.append(columns, -1)[best_here].tolist()
        assert correct[chosen].tolist() == correct_here.tolist()


def test_no_frames_have_no_matches() -> None:
    nothing = np.zeros(0, np.int64)
    best, correct = match_many_frames(
        Boxes.none(), Boxes.none(), detection_frames=nothing, truth_frames=nothing
    )
    assert len(best) == len(correct) == 0
