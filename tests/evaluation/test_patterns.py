"""The six patterns, held against the paper's definitions and against small scenes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.evaluation.patterns import RULES, Rule, classify_patterns, count_patterns
from harness.types.overlap import compute_bev_iou
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import Floats
from tests.evaluation import slowly
from tests.evaluation.scenes import boxes, row, rows

TAU = st.sampled_from([0.0, 0.25, 0.5, 0.7])
RULE = st.sampled_from(RULES)
NONE = np.zeros((0, 7))
CAR = row()
WELL, POORLY, ELSEWHERE = row(x=0.4), row(x=2), row(x=40)
NONE_COUNTED = dict.fromkeys(PATTERNS, 0)


def clear_cut(truth: Floats, ego: Floats, coop: Floats, tau: float) -> bool:
    """No pair so close to a limit that the last digit decides."""
    for a, b in ((truth, ego), (truth, coop), (coop, ego)):
        values = compute_bev_iou(a, b)
        areas = np.array([[slowly.shared_area(p, q) for q in b] for p in a])
        if (abs(areas - slowly.TOUCHING) < 1e-12).any():
            return False
        if ((values > 0) & (abs(values - tau) < 1e-9)).any():
            return False
    return True


@given(boxes(5), boxes(5), boxes(5), TAU, RULE)
def test_counts_are_the_papers(
    truth: Floats, ego: Floats, coop: Floats, tau: float, rule: Rule
) -> None:
    assume(clear_cut(truth, ego, coop, tau))
    assert count_patterns(truth, ego, coop=coop, tau=tau, rule=rule) == slowly.count(
        truth, ego, coop=coop, tau=tau, rule=rule
    )


@pytest.mark.thorough
@given(boxes(5), boxes(5), boxes(5), TAU, RULE)
def test_a_box_shows_one_pattern_at_most(
    truth: Floats, ego: Floats, coop: Floats, tau: float, rule: Rule
) -> None:
    patterns = classify_patterns(truth, ego, coop=coop, tau=tau, rule=rule)
    assert tuple(patterns.truth) == ("LCME", "LCLE", "CCME", "CCLE")
    assert tuple(patterns.cooperative) == ("LADE", "CADE")
    for parts, number in ((patterns.truth, len(truth)), (patterns.cooperative, len(coop))):
        shown = np.array(list(parts.values()))
        assert shown.shape == (len(parts), number)
        assert ((shown > 0).sum(axis=0) <= 1).all()
        assert rule == "pairs" or shown.max(initial=0) <= 1


@given(boxes(5), boxes(5), boxes(5), TAU)
def test_rules_grow_and_differ_in_mislocalisation_alone(
    truth: Floats, ego: Floats, coop: Floats, tau: float
) -> None:
    by_best, by_any, by_all = (
        count_patterns(truth, ego, coop=coop, tau=tau, rule=rule) for rule in RULES
    )
    for name in PATTERNS:
        assert by_best[name] <= by_any[name] <= by_all[name]
        assert name.endswith("CLE") or by_best[name] == by_all[name]


@given(boxes(5), boxes(5), TAU)
def test_cooperation_that_repeats_the_ego_causes_no_error(
    truth: Floats, ego: Floats, tau: float
) -> None:
    solid = ego[ego[:, 3] * ego[:, 4] > slowly.TOUCHING]
    counts = count_patterns(truth, solid, coop=solid, tau=tau)
    assert counts["LCME"] == counts["LCLE"] == counts["LADE"] == 0


@given(boxes(5), boxes(5), TAU)
def test_perfect_cooperation_errs_in_nothing(truth: Floats, ego: Floats, tau: float) -> None:
    solid = truth[truth[:, 3] * truth[:, 4] > slowly.TOUCHING]
    assert count_patterns(solid, ego, coop=solid, tau=tau, rule="max") == NONE_COUNTED


@pytest.mark.parametrize(
    ("truth", "ego", "coop", "shown"),
    [
        ([CAR], [WELL], [WELL], ""),
        ([CAR], [WELL], [], "LCME"),
        ([CAR], [WELL], [POORLY], "LCLE"),
        ([CAR], [], [], "CCME"),
        ([CAR], [POORLY], [], "CCME"),  # a poor detection is none
        ([CAR], [POORLY], [POORLY], "CCLE"),
        ([CAR], [], [WELL], ""),  # what cooperation is for
        ([], [], [CAR], "LADE"),
        ([], [CAR], [], ""),  # corrected
        ([], [CAR], [POORLY], "CADE"),
        ([], [ELSEWHERE], [CAR], "LADE"),
        ([CAR], [WELL], [ELSEWHERE], "LCME LADE"),
        ([], [], [], ""),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_small_scenes(
    truth: list[list[float]],
    ego: list[list[float]],
    coop: list[list[float]],
    shown: str,
    rule: Rule,
) -> None:
    counts = count_patterns(rows(*truth), rows(*ego), coop=rows(*coop), rule=rule)
    assert counts == NONE_COUNTED | dict.fromkeys(shown.split(), 1)


def test_the_rules_disagree_where_a_good_and_a_poor_box_overlap() -> None:
    coop = rows(WELL, POORLY, row(x=-2))
    counts = [count_patterns(rows(CAR), rows(WELL), coop=coop, rule=rule)["LCLE"] for rule in RULES]
    assert counts == [0, 1, 2]


def test_an_overlap_of_just_tau_is_a_mislocalisation_and_no_detection() -> None:
    half = rows(row(length=2))
    assert compute_bev_iou(rows(CAR), half)[0, 0] == 0.5
    assert count_patterns(rows(CAR), half, coop=half) == NONE_COUNTED | {"CCLE": 1}


def test_boxes_without_an_area_match_nothing() -> None:
    flat = rows(row(length=0))
    assert count_patterns(flat, flat, coop=flat) == NONE_COUNTED | {"CCME": 1, "LADE": 1}


def test_which_boxes_have_a_pattern() -> None:
    patterns = classify_patterns(rows(CAR, ELSEWHERE), rows(CAR), coop=rows(row(x=20), ELSEWHERE))
    assert patterns.truth["LCME"].tolist() == [1, 0]
    assert patterns.cooperative["LADE"].tolist() == [1, 0]


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="max, exists, pairs"):
        count_patterns(NONE, NONE, coop=NONE, rule="best")  # type: ignore[arg-type]
