"""Evaluation of a planning step: which boxes count, and the counts by class and band."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.evaluation.frame_evaluation import (
    EvaluatedFrame,
    EvaluationSettings,
    TruthFilter,
    compute_distance_bands,
    evaluate_frame,
)
from harness.evaluation.matching import match_frame
from harness.evaluation.patterns import RULES, Rule, count_patterns
from harness.records import schema
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import CLASSES, CYCLIST, VEHICLE, Boxes, GroundTruth
from tests.evaluation.scenes import boxes, row, rows

ALL_COUNT = EvaluationSettings(truth_filter="none", ahead=1e3, behind=1e3, lateral=1e3)
NO_BOXES = Boxes.none()


def of(*geometry: list[float], of_class: int = VEHICLE) -> Boxes:
    array = rows(*geometry)
    return Boxes(array, np.full(len(array), of_class), np.ones(len(array)))


def truth_of(present: Boxes, hits: int = 99) -> GroundTruth:
    return GroundTruth(present, np.arange(len(present)), np.full(len(present), hits))


def evaluated(
    truth: Boxes, ego: Boxes, coop: Boxes, settings: EvaluationSettings = ALL_COUNT, hits: int = 99
) -> EvaluatedFrame:
    return evaluate_frame(
        truth_of(truth, hits),
        np.full(len(truth), hits),
        ego_alone=ego,
        cooperative=coop,
        settings=settings,
    )


def shown(frame: EvaluatedFrame) -> dict[str, int]:
    """What was counted at all."""
    return {name: number for name, number in frame.count_patterns().items() if number}


@st.composite
def classed(sample: st.DrawFn) -> Boxes:
    geometry = sample(boxes(6))
    classes = sample(st.lists(st.integers(0, 2), min_size=len(geometry), max_size=len(geometry)))
    return Boxes(geometry, np.array(classes, np.int64), np.ones(len(geometry)))


@pytest.mark.parametrize("strange", [-1, 3])
def test_classes_that_there_are_not_are_refused(strange: int) -> None:
    """V2Xverse calls bicycles 3; a class below 0 would be counted from behind."""
    strange_boxes = of(row(10), of_class=strange)
    for ego, coop in ((strange_boxes, NO_BOXES), (NO_BOXES, strange_boxes)):
        with pytest.raises(ValueError, match="0 vehicle, 1 pedestrian, 2 cyclist"):
            evaluated(NO_BOXES, ego, coop)


@pytest.mark.thorough
@given(classed(), classed(), classed(), st.sampled_from(RULES), st.sampled_from([0.0, 0.3]))
def test_classes_are_evaluated_separately_by_their_taus(
    truth: Boxes, ego: Boxes, coop: Boxes, rule: Rule, tau: float
) -> None:
    settings = EvaluationSettings(
        truth_filter="none", rule=rule, tau_cyclist=tau, ahead=99, behind=99, lateral=99
    )
    counts = evaluated(truth, ego, coop, settings).count_patterns()
    for index, name in enumerate(CLASSES):
        true, lone, both = (part.geometry[part.classes == index] for part in (truth, ego, coop))
        expected = count_patterns(true, lone, coop=both, tau=settings.taus[index], rule=rule)
        assert {pattern: counts[f"{pattern}_{name}"] for pattern in PATTERNS} == expected


@pytest.mark.thorough
@given(classed(), classed(), classed(), st.floats(0, 8))
def test_what_is_counted_stands_in_the_window_and_adds_up(
    truth: Boxes, ego: Boxes, coop: Boxes, reach: float
) -> None:
    frame = evaluated(truth, ego, coop, EvaluationSettings(truth_filter="none", ahead=reach))
    for part in (frame.truth, frame.ego_alone, frame.cooperative):
        assert (part.counted == (part.boxes.geometry[:, 0] <= reach)).all()
        assert part.counted[part.times > 0].all()
        assert ((part.times > 0) == (part.pattern >= 0)).all()
    record = {**frame.count_patterns(), **frame.count_boxes()}
    for name in (*PATTERNS, "truth", "ego_alone", "cooperative"):
        total = record[name] if name in PATTERNS else record[f"{name}_all"]
        assert total == sum(record[f"{name}_{class_}"] for class_ in CLASSES)
        assert total == sum(record[f"{name}_{band}"] for band in BANDS)


def test_the_record_has_a_column_for_every_number() -> None:
    frame = evaluated(NO_BOXES, NO_BOXES, NO_BOXES)
    record = {**frame.count_patterns(), **frame.count_boxes()}
    assert not set(record) - set(schema.FRAMES.names)


@pytest.mark.parametrize(
    ("truth_filter", "ego_hits", "anyone", "counts"),
    [
        ("none", 0, 0, True),
        ("ego", 5, 5, True),
        ("ego", 4, 99, False),
        ("anyone", 0, 5, True),
        ("reference", 0, 5, True),
        ("reference", 4, 4, False),
        ("anyone", 4, 4, False),
    ],
)
def test_who_must_have_hit_a_road_user(
    truth_filter: TruthFilter, ego_hits: int, anyone: int, counts: bool
) -> None:
    settings = EvaluationSettings(truth_filter=truth_filter)
    frame = evaluate_frame(
        truth_of(of(row(x=9)), ego_hits),
        np.array([anyone]),
        ego_alone=NO_BOXES,
        cooperative=NO_BOXES,
        settings=settings,
    )
    assert frame.truth.counted.tolist() == [counts]
    assert frame.count_patterns()["CCME"] == counts
    assert frame.count_boxes()["truth_all"] == counts


@pytest.mark.parametrize(
    ("x", "y", "inside"),
    [(40, 0, True), (41, 0, False), (-10, 0, True), (-11, 0, False), (0, 5, True), (0, -6, False)],
)
def test_the_window_is_a_rectangle_round_the_lidar(x: float, y: float, inside: bool) -> None:
    window = EvaluationSettings(truth_filter="none", ahead=40, behind=10, lateral=5)
    one = of(row(x=x, y=y))
    assert evaluated(one, NO_BOXES, NO_BOXES, window).count_patterns()["CCME"] == inside
    assert evaluated(NO_BOXES, NO_BOXES, one, window).count_patterns()["LADE"] == inside
    assert evaluated(NO_BOXES, one, NO_BOXES, window).count_boxes()["ego_alone_all"] == inside


def test_a_detection_just_outside_the_window_still_finds_who_is_inside() -> None:
    window = EvaluationSettings(truth_filter="none", ahead=40)
    edge, beyond = of(row(x=39.9)), of(row(x=40.1))
    assert shown(evaluated(edge, beyond, beyond, window)) == {}
    assert shown(evaluated(edge, beyond, NO_BOXES, window)) == {
        "LCME": 1,
        "LCME_vehicle": 1,
        "LCME_30_50": 1,
    }


def test_detecting_a_road_user_that_does_not_count_is_no_additional_detection() -> None:
    hidden = of(row(x=9))
    frame = evaluated(hidden, NO_BOXES, hidden, EvaluationSettings(), hits=0)
    assert shown(frame) == {}
    assert frame.count_boxes()["cooperative_all"] == 1


def test_another_class_is_another_matter() -> None:
    frame = evaluated(of(row(x=9)), of(row(x=9)), of(row(x=9), of_class=CYCLIST))
    assert {"LCME_vehicle", "LADE_cyclist"} <= set(shown(frame))


def test_boxes_have_their_pattern_and_how_often() -> None:
    poorly = of(row(x=11), row(x=7), row(x=70))
    settings = EvaluationSettings(rule="pairs", ahead=99)
    frame = evaluated(of(row(x=9), row(x=-9)), NO_BOXES, poorly, settings)
    assert [PATTERNS[part] for part in frame.truth.pattern] == ["CCLE", "CCME"]
    assert frame.truth.times.tolist() == [2, 1]
    assert frame.cooperative.pattern.tolist() == [-1, -1, PATTERNS.index("LADE")]
    assert frame.cooperative.bands.tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("distance", "band"), [(0, 0), (29.99, 0), (30, 1), (49.99, 1), (50, 2), (99.99, 2), (100, 3)]
)
def test_bands_begin_at_their_nearer_edge(distance: float, band: int) -> None:
    places = rows(row(x=-distance), row(y=distance))
    assert compute_distance_bands(places).tolist() == [band] * 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"rule": "best"}, "rule = 'best': unknown; valid: max, exists, pairs"),
        (
            {"truth_filter": "all"},
            "truth_filter = 'all': unknown; valid: reference, anyone, ego, none",
        ),
        ({"tau_cyclist": 1.0}, "tau_cyclist = 1.0: must be ≥ 0 and < 1"),
        ({"tau_vehicle": math.nan}, "tau_vehicle = nan: must be ≥ 0 and < 1"),
    ],
)
def test_settings_without_sense_are_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        EvaluationSettings(**wrong)  # type: ignore[arg-type]


def test_the_ego_box_makes_no_difference_between_alone_and_together() -> None:
    settings = EvaluationSettings(truth_filter="none", ego_box=True)
    detection = of(row(10.2))
    frame = evaluated(of(row(10.0), row(20.0)), detection, detection, settings)
    alone, both = (match_frame(frame.truth, part) for part in (frame.ego_alone, frame.cooperative))
    assert alone.correct.tolist() == both.correct.tolist() == [True, True]
    assert not shown(frame).get("LCME")
    assert not shown(frame).get("CADE")


def test_ground_truth_reaches_the_window_s_corners() -> None:
    assert EvaluationSettings(ahead=30.0, behind=40.0, lateral=30.0).reach == 50.0
