"""Decisions of several comparisons: what they need, and that one error rate holds for all."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.statistics.sequential_family import (
    Claim,
    Decision,
    Question,
    compute_needed_wealth,
    count_possible_errors,
    decide_from_wealth,
)

MARGIN = 0.1
NULLS = {
    "superiority": ("not more", "not fewer"),
    "equivalence": ("high", "low"),
    "either": ("not more", "not fewer", "high", "low"),
}


def list_true_nulls(means: tuple[float, float], question: Question, claim: Claim) -> set[str]:
    """Return the nulls that are true, of two equal strata with these means."""
    mean = sum(means) / 2
    asked = means if claim == "somewhere" else (mean,)
    truths = {
        "not more": all(value <= 0 for value in asked),
        "not fewer": all(value >= 0 for value in asked),
        "high": mean >= MARGIN,
        "low": mean <= -MARGIN,
    }
    return {name for name in NULLS[question] if truths[name]}


@pytest.mark.parametrize("question", ["superiority", "equivalence", "either"])
@pytest.mark.parametrize("claim", ["mean", "somewhere"])
def test_the_number_of_possible_errors_is_that_of_all_truths(
    question: Question, claim: Claim
) -> None:
    """Over a grid of truths: how many nulls are true at once, of those a decision leaves open."""
    grid = np.round(np.arange(-0.3, 0.31, 0.05), 10)
    rejected = {
        Decision.UNDECIDED: set[str](),
        Decision.MORE: {"not more"},
        Decision.FEWER: {"not fewer"},
        Decision.EQUIVALENT: {"high", "low"},
    }
    for decision, false in rejected.items():
        if not false <= set(NULLS[question]):
            continue
        most = 0
        for first in grid:
            for second in grid:
                true = list_true_nulls((float(first), float(second)), question, claim)
                if true & false:
                    continue
                # a side of the mean is one test: rejecting the nearer null rejects the margin's
                if claim == "mean" and question == "either":
                    true -= {"high"} if "not fewer" in true else set()
                    true -= {"low"} if "not more" in true else set()
                most = max(most, len(true))
        assert count_possible_errors(question, claim, np.array([int(decision)])) == [most]


def test_decisions_follow_from_wealth() -> None:
    needed = np.full(5, 3.0)
    superior = np.array([[3.5, 0], [0, 2.9], [0, 3.1], [4.0, 3.5], [0, 0]])
    within = np.array([[9, 0], [9, 2.0], [9, 9], [9, 9], [3.1, 3.2]])
    decided = decide_from_wealth(superior, within, needed, ("either", "mean"))
    assert decided.tolist() == [
        Decision.MORE,
        Decision.UNDECIDED,
        Decision.FEWER,
        Decision.MORE,
        Decision.EQUIVALENT,
    ]
    decided = decide_from_wealth(superior, within, needed, ("equivalence", "mean"))
    assert decided.tolist() == [0, 0, 2, 2, 2]
    # a claim about the mean below zero needs the margin's bet on the same side
    lacking = decide_from_wealth(
        np.array([[0, 4.0]]), np.array([[0, 0.0]]), np.array([3.0]), ("either", "mean")
    )
    assert lacking.tolist() == [Decision.UNDECIDED]


def test_a_decision_frees_its_share() -> None:
    open_ones = [count_possible_errors("superiority", "mean", np.array([0])) for _ in range(3)]
    assert compute_needed_wealth(0.05, open_ones) == pytest.approx(np.log(6 / 0.05))
    open_ones[1] = count_possible_errors("superiority", "mean", np.array([1]))
    assert compute_needed_wealth(0.05, open_ones) == pytest.approx(np.log(5 / 0.05))
