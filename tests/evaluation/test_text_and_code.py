"""Where the study's text and its released code disagree, both can be had: a test for each row."""

from __future__ import annotations

import numpy as np

from harness.evaluation.frame_evaluation import (
    EGO_BOX,
    EvaluatedFrame,
    EvaluationSettings,
    evaluate_frame,
)
from harness.evaluation.matching import MatchTable, match_frame
from harness.evaluation.windows import WindowRules, sum_windows
from harness.types.precision import compute_average_precision, compute_mean_precision
from harness.types.vocabulary import CLASSES, CYCLIST, PEDESTRIAN, VEHICLE, Boxes, GroundTruth
from tests.evaluation.scenes import row, rows

TEXT = EvaluationSettings(rule="exists", truth_filter="none")
CODE = EvaluationSettings(rule="max", truth_filter="none", tau_cyclist=0.0, ego_box=True)
CODED_WINDOWS = WindowRules(by_frames=True, t1_span_frames=5, cut_slow_tail=True)

NO_BOXES = Boxes.none()
TIMES = np.linspace(0, 40, 201)


def of(*geometry: list[float], of_class: int = VEHICLE) -> Boxes:
    array = rows(*geometry)
    return Boxes(array, np.full(len(array), of_class), np.full(len(array), 0.5))


def judged(truth: Boxes, ego: Boxes, coop: Boxes, settings: EvaluationSettings) -> EvaluatedFrame:
    unseen = np.zeros(len(truth), np.int64)
    return evaluate_frame(
        GroundTruth(truth, np.arange(len(truth)), unseen),
        unseen,
        ego_alone=ego,
        cooperative=coop,
        settings=settings,
    )


def test_tau_is_a_half_for_cyclists_or_nothing() -> None:
    cyclist, askew = (of(row(x=x, length=2), of_class=CYCLIST) for x in (9, 10.5))
    text = judged(cyclist, askew, askew, TEXT).count_patterns()
    code = judged(cyclist, askew, askew, CODE).count_patterns()
    assert text["CCLE_cyclist"] == 1  # the ego alone does not have it
    assert code["CCLE_cyclist"] == code["LCLE_cyclist"] == 0  # any overlap is a detection
    assert judged(cyclist, askew, NO_BOXES, CODE).count_patterns()["LCME_cyclist"] == 1


def test_mislocalised_is_any_poor_box_or_a_poor_best_box() -> None:
    car, coop = of(row(x=9)), of(row(x=9), row(x=11))
    assert judged(car, car, coop, TEXT).count_patterns()["LCLE"] == 1
    assert judged(car, car, coop, CODE).count_patterns()["LCLE"] == 0


def test_ground_truth_is_all_road_users_in_both_and_those_hit_in_neither() -> None:
    unseen = of(row(x=9))
    for settings in (TEXT, CODE):
        assert judged(unseen, NO_BOXES, NO_BOXES, settings).count_patterns()["CCME"] == 1
    assert judged(unseen, NO_BOXES, NO_BOXES, EvaluationSettings()).count_patterns()["CCME"] == 0


def test_the_ego_itself_does_not_count_or_is_detected_with_any_vehicle() -> None:
    car = of(row(x=9))
    text, code = (judged(car, car, car, settings) for settings in (TEXT, CODE))
    assert text.count_boxes()["truth_all"] == text.count_boxes()["cooperative_all"] == 1
    assert code.count_boxes()["truth_all"] == code.count_boxes()["cooperative_all"] == 2
    assert not any(code.count_patterns().values())
    walker = of(row(x=9), of_class=PEDESTRIAN)
    assert judged(car, NO_BOXES, walker, CODE).count_boxes()["truth_all"] == 1


def test_precision_is_eleven_point_by_class_or_all_point_of_all_with_the_ego() -> None:
    walker = of(row(x=9, length=0.6, width=0.6), of_class=PEDESTRIAN)
    truth = Boxes.join([of(row(x=9), row(x=20)), walker])
    coop = Boxes.join([of(row(x=9)), walker[:0]])
    text, code = (
        match_frame(frame.truth, frame.cooperative)
        for frame in (judged(truth, NO_BOXES, coop, settings) for settings in (TEXT, CODE))
    )
    by_class = [text.select_matches(index) for index in range(len(CLASSES))]
    assert compute_mean_precision(by_class, "eleven_point") == (6 / 11 + 0) / 2
    assert (
        compute_average_precision(code.select_matches(), "all_point") == 2 / 4
    )  # the car and the ego
    assert compute_average_precision(text.select_matches(), "all_point") == 1 / 3


def test_the_ego_is_detected_first_and_once() -> None:
    frame = judged(of(row(x=9)), NO_BOXES, of(row(x=30)), CODE)
    matches = MatchTable.join_tables(
        [match_frame(frame.truth, frame.cooperative)] * 3
    ).select_matches(VEHICLE)
    assert matches.truths == 6
    assert matches.scores[matches.correct].tolist() == EGO_BOX.scores.tolist() * 3


def test_t1_is_for_five_seconds_or_about_one() -> None:
    steady = {"CADE": np.ones(201)}
    text, code = (
        sum_windows(TIMES, steady, end=40.0, rules=rules)["t1"]["CADE"]
        for rules in (None, CODED_WINDOWS)
    )
    assert text is not None
    assert code is not None
    assert round(text, 9) == 25
    assert code == 151 / 30


def test_the_end_is_ten_seconds_or_fifty_frames_before_the_ego_all_but_stopped() -> None:
    late = {"CADE": np.where(TIMES > 38.1, 1.0, 0.0)}
    speeds = np.where(TIMES > 38.1, 0.3, 8.0)
    text, code = (
        sum_windows(TIMES, late, end=40.0, rules=rules, speeds=speeds, collided=True)["end_10s"][
            "CADE"
        ]
        for rules in (None, CODED_WINDOWS)
    )
    assert (text, code) == (10, 0)
