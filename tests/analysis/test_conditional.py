"""Firth's conditional logit against the unconditional one of pairs, and against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from analysis.statistics.conditional import PaddedSets, fit_firth_conditional
from analysis.statistics.firth import fit_firth
from harness.types.vocabulary import Floats, Mask


def made(seed: int, sets: int = 14, columns: int = 3) -> PaddedSets:
    """Risk sets of two to five members."""
    random = np.random.default_rng(seed)
    member = random.random((sets, 5)) < 0.7
    member[:, :2] = True
    rows = random.normal(size=(sets, 5, columns)) * member[:, :, None]
    return PaddedSets(rows, member, rows[:, 0], np.arange(sets))


def height(beta: Floats, sets: PaddedSets, weights: Floats) -> float:
    """The penalised likelihood as it is defined, one set after the other."""
    total, information = 0.0, np.zeros((len(beta), len(beta)))
    for weight, rows, member, event in zip(
        weights, sets.rows, sets.member, sets.events, strict=True
    ):
        part = rows[member]
        chance = np.exp(part @ beta) / np.exp(part @ beta).sum()
        total += weight * np.log(np.exp(event @ beta) / np.exp(part @ beta).sum())
        spread = part - chance @ part
        information += weight * (spread.T * chance) @ spread
    return float(total + np.linalg.slogdet(information)[1] / 2)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_a_logit_of_differences_without_intercept(seed: int) -> None:
    """What is common to a pair cancels: the other estimator, held against R, gives the same."""
    differences = np.random.default_rng(seed).normal(0.4, 1, size=(40, 3))
    rows = np.stack([differences, np.zeros_like(differences)], axis=1)
    member: Mask = np.ones((40, 2), np.bool_)
    fits = fit_firth_conditional(PaddedSets(rows, member, differences, np.arange(40)))
    assert fits.converged.all()
    other = fit_firth(np.ones(40), differences).coefficients
    assert fits.coefficients == pytest.approx(other, abs=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_maximum_of_the_penalised_conditional_likelihood(seed: int) -> None:
    sets = made(seed)
    counts = np.random.default_rng(seed).integers(0, 3, 14).astype(np.float64)
    weights = np.stack([np.ones(14), counts])
    fits = fit_firth_conditional(sets, weights)
    assert fits.converged.all()
    for beta, weight in zip(fits.coefficients, weights, strict=True):
        ends = [
            minimize(lambda b, w=weight: -height(b, sets, w), start, options={"gtol": 1e-8})
            for start in (np.zeros(3), 2 * np.ones(3), -2 * np.ones(3))
        ]
        best = min(ends, key=lambda end: float(end.fun))
        assert beta == pytest.approx(best.x, abs=1e-4)


def test_left_out_sets_weigh_nothing() -> None:
    sets = made(7)
    weights = np.ones((1, 14))
    weights[0, 3] = 0
    rest = np.arange(14) != 3
    fewer = PaddedSets(sets.rows[rest], sets.member[rest], sets.events[rest], sets.clusters[rest])
    fits = fit_firth_conditional(sets, weights).coefficients
    assert fits == pytest.approx(fit_firth_conditional(fewer).coefficients, abs=1e-5)


def test_a_start_is_one_more_way_up_and_never_one_down() -> None:
    sets = made(8)
    fits = fit_firth_conditional(sets).coefficients[0]
    again = fit_firth_conditional(sets, start=fits + 3.0).coefficients[0]
    assert again == pytest.approx(fits, abs=1e-4)


def test_sets_without_any_difference_give_no_numbers() -> None:
    rows = np.ones((4, 3, 2))
    member: Mask = np.ones((4, 3), np.bool_)
    fits = fit_firth_conditional(PaddedSets(rows, member, rows[:, 0], np.arange(4)))
    assert np.isnan(fits.coefficients).all()
    assert not fits.converged.any()
