"""Pairs of effects: one rule for all tables, speeds over a shared stretch, the last repair."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from analysis.surrogates import REACHED, SURROGATE_MEASURES, compute_shared_speeds
from harness.types.record_names import PATTERNS
from studies.interventions.agreement import compare_directions
from studies.interventions.arms import (
    BRAKING,
    SPEED,
    STOPS,
    format_ground_truth,
    match_attempts,
    pair_arms,
)
from studies.interventions.doses import build_dose_curves, estimate_dose_slopes
from studies.interventions.last import WITH, WITHOUT, compare_last_repairs
from studies.interventions.paired import (
    OUTCOMES,
    SHARED_SPEED,
    TESTED_OUTCOMES,
    estimate_paired_effect,
)
from studies.interventions.shapley import (
    SAMPLED_ORDERS,
    estimate_shapley_shares,
    list_order_subsets,
)
from studies.interventions.study import describe_left_out_pairs, list_missing_outcomes
from tests.analysis.effect_frames import (
    CLEAN,
    CRASH,
    Row,
    attempts_of,
    inject_arm,
    repair_arm,
)
from tests.analysis.interventions import BASE

CURE = repair_arm("CCME")
ABSENT: Row = {"hazards_absent": "occluded_cyclist@40"}


def saved(intervention: str, _: int) -> Row:
    """Drives crash after 20 m unless CCME is repaired; then they wait for 26 s behind it."""
    if intervention == "none":
        return {**CRASH, "duration": 5.0, REACHED: json.dumps([0.0, 2.0, 4.0])}
    return {**CLEAN, "duration": 40.0, REACHED: json.dumps([0.0, 2.0, 4.0, 30.0, 32.0])}


def test_a_repair_that_prevents_a_crash_looks_no_slower_for_that() -> None:
    pairs = pair_arms(attempts_of([CURE], saved), BASE, CURE.arm)
    assert pairs[f"{SPEED}_a"].tolist() == pairs[f"{SPEED}_b"].tolist() == [5.0] * 6
    row = estimate_paired_effect(
        pairs, next(one for one in OUTCOMES if one.name == SHARED_SPEED)
    ).row
    assert row["difference"] == 0
    assert 20 / 5.0 > 40 / 40.0, "speeds of the whole drives, which are not compared"


def test_speeds_are_metres_per_second_of_the_steps_that_both_have() -> None:
    assert compute_shared_speeds((0.0, 2.0, 5.0), (0.0, 4.0, 8.0, 9.0)) == (4.0, 2.5)
    for other in ((), (0.0,), (0.0, 0.0)):
        assert all(map(math.isnan, compute_shared_speeds(other, (0.0, 2.0))))
        assert all(map(math.isnan, compute_shared_speeds((0.0, 2.0), other)))


def test_outcomes_without_surrogates_are_missing_and_named() -> None:
    unknown = {
        REACHED: "[]",
        SURROGATE_MEASURES[STOPS]: math.nan,
        SURROGATE_MEASURES[BRAKING]: math.nan,
    }
    attempts = attempts_of([CURE], lambda *_: unknown)
    pairs = pair_arms(attempts, BASE, CURE.arm)
    rows = pd.DataFrame([estimate_paired_effect(pairs, outcome).row for outcome in OUTCOMES])
    missing = [SHARED_SPEED, STOPS, BRAKING]
    assert rows[rows["pairs"] == 0]["outcome"].tolist() == missing
    assert rows[rows["pairs"] == 0]["difference"].isna().all()
    lines = list(list_missing_outcomes(rows[rows["pairs"] > 0], "late/latency"))
    assert lines == [
        f"late/latency: {name}: missing, as no pair has it in both drives" for name in missing
    ]


def test_stops_and_hard_braking_without_reason_are_described() -> None:
    attempts = attempts_of(
        [CURE], lambda name, _: {SURROGATE_MEASURES[STOPS]: 3.0 if name == "none" else 1.0}
    )
    outcome = next(one for one in OUTCOMES if one.name == STOPS)
    effect = estimate_paired_effect(pair_arms(attempts, BASE, CURE.arm), outcome)
    assert effect.row["difference"] == -2.0
    assert effect.hypothesis is None
    assert [one.name for one in TESTED_OUTCOMES] == [
        "violations, %",
        "collisions, %",
        "driving score",
    ]


@pytest.mark.thorough
def test_pairs_with_a_hazard_in_one_arm_only_are_in_no_table() -> None:
    """On route 0 an arm had no place for the hazard: without it, routes 1 to 5 are left."""
    subsets = {subset for order in SAMPLED_ORDERS for subset in list_order_subsets(order) if subset}
    repairs = [repair_arm(*(name for name in PATTERNS if name in subset)) for subset in subsets]
    doses = [inject_arm(dose) for dose in (0.0, 1.0)]
    every = repair_arm(*PATTERNS)
    changed = {"repair_LADE", every.name, "inject_1"}

    def row_of(intervention: str, route: int) -> Row:
        return ABSENT if route == 0 and intervention in changed else {}

    arms = [*repairs, *doses]
    attempts = attempts_of(arms, row_of)
    assert pair_arms(attempts, BASE, every.arm)["route"].tolist() == ["1", "2", "3", "4", "5"]
    assert {effect.row["pairs"] for effect in estimate_dose_slopes(attempts, BASE, arms)} == {5}
    assert set(build_dose_curves(attempts, BASE, arms)["attempts"]) == {5}
    assert set(estimate_shapley_shares(attempts, BASE, arms)["pairs"]) == {5}
    assert set(compare_last_repairs(attempts, BASE, arms)["pairs"]) == {5}
    notes = list(describe_left_out_pairs(attempts, BASE, arms))
    assert all(note.endswith("a hazard had a place in some of the arms only") for note in notes)
    assert sorted(note.partition(": ")[0] for note in notes) == sorted(
        [
            *(str(BASE.replace_factors(intervention=name)) for name in changed),
            f"{BASE}, doses of {' '.join(PATTERNS[:5])}",
            f"{BASE}, Shapley shares",
        ]
    )


def test_a_hazard_that_no_arm_had_leaves_no_pair_out() -> None:
    attempts = attempts_of([CURE], lambda *_: ABSENT)
    assert match_attempts(attempts, {"a": BASE, "b": CURE.arm}, []).left_out == 0
    assert len(pair_arms(attempts, BASE, CURE.arm)) == 6


def test_what_a_pattern_still_does_when_the_others_are_gone_is_no_test() -> None:
    """All but CCME repaired: the drives of routes 0 to 2 crash; with all six repaired none does."""
    every = repair_arm(*PATTERNS)
    rest = [repair_arm(*(p for p in PATTERNS if p != left)) for left in ("CCME", "LADE")]

    def row_of(intervention: str, route: int) -> Row:
        return CRASH if intervention == rest[0].name and route < 3 else CLEAN

    arms = [every, *rest]
    table = compare_last_repairs(attempts_of(arms, row_of), BASE, arms)
    violations = table[table["outcome"] == "violations, %"].set_index("pattern")
    assert list(violations.index) == ["LADE", "CCME"]
    assert violations[[WITHOUT, WITH, "difference"]].to_dict("index")["CCME"] == {
        WITHOUT: 50.0,
        WITH: 0.0,
        "difference": -50.0,
    }
    assert violations.loc["LADE", "difference"] == 0.0
    assert not {"p", "p family"} & set(table)
    assert compare_last_repairs(attempts_of(arms[1:], row_of), BASE, arms[1:]).empty


def test_directions_agree_or_not_whatever_is_significant() -> None:
    odds = [3.0, 0.5, 2.0, 1.5, 1.0, math.nan]
    differences = [-9.0, 4.0, 1.0, 0.0, -2.0, -1.0]
    counted = compare_directions(pd.DataFrame({"odds ratio": odds, "difference": differences}))
    assert {name: counted[name] for name in counted if name != "rank correlation"} == {
        "patterns": 6,
        "same direction": 2,
        "opposite": 1,
        "no direction": 2,
        "not estimated": 1,
    }
    ranks = np.array([[5, 1, 4, 3, 2], [5, 1, 2, 3, 4]])  # of odds, and of violations prevented
    assert counted["rank correlation"] == pytest.approx(np.corrcoef(ranks)[0, 1])


@pytest.mark.parametrize(
    ("odds", "differences"),
    [([1.5, 2.0], [-1.0, -2.0]), ([2.0, 2.0, 2.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [0.0] * 3)],
)
def test_ranks_without_spread_have_no_correlation(
    odds: list[float], differences: list[float]
) -> None:
    table = pd.DataFrame({"odds ratio": odds, "difference": differences})
    assert math.isnan(float(str(compare_directions(table)["rank correlation"])))


def test_ground_truth_is_named_in_the_words_of_the_docs() -> None:
    seen = "seen (hit by the ego or the reference rig)"
    assert format_ground_truth(["reference", "reference"]) == f"ground truth: {seen}"
    both = f"ground truth: all (all road users in the window); {seen}"
    assert format_ground_truth(["reference", "none"]) == both
