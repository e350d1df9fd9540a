"""Parked cars that are scenery: a detection of one is neither right nor wrong, if so set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.evaluation.matching import match_frame
from harness.evaluation.patterns import RULES, Rule
from harness.types.precision import find_parked_detections
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import CYCLIST, VEHICLE, Boxes
from tests.evaluation import slowly
from tests.evaluation.scenes import boxes, row
from tests.evaluation.test_frame_evaluation import NO_BOXES, classed, of, shown, truth_of

IGNORED = EvaluationSettings(truth_filter="none", ahead=99.0, behind=99.0, lateral=99.0)
WRONG = replace(IGNORED, parked="wrong")


@given(boxes(5), boxes(4), boxes(4))
def test_on_parked_as_it_is_written(
    detected: np.ndarray, truth: np.ndarray, parked: np.ndarray
) -> None:
    """Only boxes a little clear of every limit: polygons and arrays differ in the last digit."""
    answers = find_parked_detections(
        of(*detected.tolist()), of(*truth.tolist()), of(*parked.tolist())
    )
    for box, lies in zip(detected, answers, strict=True):
        expected = slowly.lies_on_parked(box, truth, parked)
        assert expected is None or lies == expected


@pytest.mark.thorough
@given(classed(), classed(), classed(), classed(), st.sampled_from(RULES))
def test_it_is_as_if_such_detections_were_not_there(
    truth: Boxes, ego: Boxes, coop: Boxes, parked: Boxes, rule: Rule
) -> None:
    settings = replace(IGNORED, rule=rule)
    hits = np.full(len(truth), 9)
    frame = evaluate_frame(
        truth_of(truth), hits, ego_alone=ego, cooperative=coop, settings=settings, parked=parked
    )
    alone, both = (boxes[~find_parked_detections(boxes, truth, parked)] for boxes in (ego, coop))
    without = evaluate_frame(
        truth_of(truth), hits, ego_alone=alone, cooperative=both, settings=settings
    )
    assert frame.count_patterns() == without.count_patterns()
    assert frame.count_boxes() == without.count_boxes()


def test_a_parked_car_is_no_additional_detection_and_costs_no_precision() -> None:
    car, parked = of(row(x=9)), of(row(x=20))
    seen = Boxes.join([parked, car])
    for settings, additional, detections in ((IGNORED, {}, 1), (WRONG, {"LADE": 1}, 2)):
        frame = evaluate_frame(
            truth_of(car),
            np.array([9]),
            ego_alone=car,
            cooperative=seen,
            settings=settings,
            parked=parked,
        )
        assert {name: n for name, n in shown(frame).items() if name in PATTERNS} == additional
        table = match_frame(frame.truth, frame.cooperative)
        assert (len(table.scores), table.correct.sum()) == (detections, 1)


@pytest.mark.parametrize(
    ("x", "of_class", "lies"),
    [(20, VEHICLE, True), (23, VEHICLE, True), (24.5, VEHICLE, False), (20, CYCLIST, False)],
)
def test_how_near_a_detection_must_be(x: float, of_class: int, lies: bool) -> None:
    detected = of(row(x=x), of_class=of_class)
    assert find_parked_detections(detected, NO_BOXES, of(row(x=20))).tolist() == [lies]


def test_a_small_box_inside_a_parked_car_is_of_it() -> None:
    assert find_parked_detections(
        of(row(x=21, length=0.4, width=0.4)), NO_BOXES, of(row(x=20))
    ).all()


def test_a_road_user_who_stands_nearer_is_meant() -> None:
    detected = of(row(x=20, y=1.2))
    assert not find_parked_detections(detected, of(row(x=20, y=1.4)), of(row(x=20, y=0))).any()


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValueError, match=r"parked = .*: unknown; valid: ignored, wrong"):
        EvaluationSettings(parked="right")  # type: ignore[arg-type]
