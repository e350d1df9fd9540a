"""Many tests at once: Holm's where all p-values are attainable, by enumeration where not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from analysis.statistics.significance import (
    HypothesisTest,
    adjust_p_values,
    compute_holm_p_values,
    list_attainable_p_values,
    run_sign_flip_test,
)


def test_continuous_p_values_one_in_a_slot_are_holms() -> None:
    p = np.random.default_rng(0).random(9) ** 3
    assert [item for (item,) in adjust_p_values([[HypothesisTest(x)] for x in p])] == pytest.approx(
        compute_holm_p_values(p)
    )


def test_a_test_that_cannot_reach_costs_nothing() -> None:
    """Five routes that differ give at least 2 / 2^5."""
    few = list_attainable_p_values(np.ones(5))
    assert few is not None
    assert few[0] == 2 / 2**5
    idle = [[HypothesisTest(0.0625, few)] for _ in range(50)]
    assert adjust_p_values([[HypothesisTest(0.03)], *idle])[0] == [0.03]
    assert adjust_p_values(
        [[HypothesisTest(0.03)], *[[HypothesisTest(0.0625)] for _ in range(50)]]
    )[0] == [1.0]


def test_the_second_of_a_slot_waits_for_the_first() -> None:
    levels = adjust_p_values(
        [
            [HypothesisTest(0.01), HypothesisTest(0.02)],
            [HypothesisTest(0.5), HypothesisTest(0.001)],
            [HypothesisTest(np.nan)],
        ]
    )
    assert levels[0] == pytest.approx([0.02, 0.04])
    assert levels[1] == pytest.approx([0.5, 0.5])
    assert np.isnan(levels[2]).all()
    assert adjust_p_values([]) == []


@pytest.mark.parametrize("seed", range(4))
def test_attainable_p_values_are_those_of_all_signs(seed: int) -> None:
    random = np.random.default_rng(seed)
    differences = random.integers(-2, 3, 7).astype(np.float64)
    moved = differences[differences != 0]
    every = [
        run_sign_flip_test(np.array(signs) * np.abs(moved)).p
        for signs in product((1, -1), repeat=len(moved))
    ]
    result = list_attainable_p_values(differences)
    assert result is not None
    assert result == pytest.approx(np.unique(np.round(every, 12)))
    test = HypothesisTest(1.0, result)
    limits = np.array([0.001, 0.03, 0.2, 1.0])
    share = [np.mean(np.array(every) <= limit + 1e-12) for limit in limits]
    assert test.compute_chance_at_most(limits) == pytest.approx(share)


def test_no_true_null_hypothesis_is_rejected_too_often() -> None:
    """Six routes, four slots of two dependent tests that are true, one that is false: all signs."""
    random = np.random.default_rng(5)
    sizes = np.abs(random.normal(size=(8, 6)))
    reach = [list_attainable_p_values(size) for size in sizes]
    wrong = 0
    every = list(product((1.0, -1.0), repeat=6))
    for signs in every:
        tests = [
            HypothesisTest(
                run_sign_flip_test(np.array(signs) * part * np.where(at % 2, 1, signs[0])).p, some
            )
            for at, (part, some) in enumerate(zip(sizes, reach, strict=True))
        ]
        levels = adjust_p_values(
            [[HypothesisTest(1e-6)], *([tests[at], tests[at + 4]] for at in range(4))]
        )
        wrong += any(p < 0.05 for slot in levels[1:] for p in slot)
    assert wrong / len(every) < 0.05
