"""Firth's logit and the detection of separation against firthmodels, an implementation of others.

firthmodels starts from zero alone, so that it may end in a lower one of several maxima. It has
profile intervals, which we do not report: they say how high the penalised likelihood is around its
maximum.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2

from analysis.statistics.diagnostics import detect_separation
from analysis.statistics.firth import fit_firth
from harness.types.vocabulary import Floats
from tests.analysis.published import endometrial, sex2
from tests.analysis.test_firth import penalised, sampled

pytestmark = pytest.mark.thorough

SAMPLES = {"endometrial": endometrial(), "sex2": sex2(), "sampled": sampled(0)}


def sample_outcomes(seed: int, rows: int, columns: int, outcome: str) -> tuple[Floats, Floats]:
    """Return outcomes and a design whose last column is rare; it separates as `outcome` says."""
    random = np.random.default_rng(seed)
    rare = random.random(rows) < 0.2
    design = np.column_stack([np.ones(rows), random.normal(size=(rows, columns)), rare])
    chance = expit(design @ random.normal(0, 1.5, size=columns + 2))
    y = (random.random(rows) < chance).astype(np.float64)
    if outcome == "quasi":
        y[rare] = 1.0
    if outcome == "complete":
        y = (design[:, 1] > 0).astype(np.float64)
    return y, design


@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(10, 60),
    columns=st.integers(1, 3),
    outcome=st.sampled_from(["as sampled", "quasi", "complete"]),
    most=st.sampled_from([1, 3]),
)
def test_estimates_and_separation_of_samples(
    seed: int, rows: int, columns: int, outcome: str, most: int
) -> None:
    from firthmodels import FirthLogisticRegression
    from firthmodels import detect_separation as detect_with_reference

    y, design = sample_outcomes(seed, rows, columns, outcome)
    # Rows count 0 to 3 times, or once: the reference refuses what leaves one outcome only.
    weights = np.random.default_rng(seed).integers(most == 1, most + 1, rows).astype(np.float64)
    there = weights > 0
    assume(len(set(y[there])) == 2)
    assume(np.linalg.matrix_rank(design[there]) == design.shape[1])

    # Its maximum is ours, or lower.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it stops where rounding does not let it climb
        reference = FirthLogisticRegression(
            backend="numpy", fit_intercept=False, gtol=1e-6, xtol=1e-6, max_iter=500
        ).fit(design, y, sample_weight=weights)
    fits = fit_firth(y, design, weights[None])
    assert fits.converged.all()
    higher = penalised(y, design, fits.coefficients[0], weights) - reference.loglik_
    assert higher > -1e-8
    if higher < 1e-6:
        assert fits.coefficients[0] == pytest.approx(reference.coef_, abs=1e-4)

    # The same columns have no finite estimate without the penalty.
    ours = detect_separation(y[there], design[there])
    theirs = detect_with_reference(design[there], y[there], fit_intercept=False)
    assert (ours.kind != "none") == theirs.separation
    if ours.kind == "complete":
        # any column may run away; the direction that the reference returns is one of many
        assert ours.infinite.all()
    else:
        assert ours.infinite.tolist() == (~theirs.is_finite).tolist()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_profile_limits_lie_where_the_likelihood_is_lower_by_what_they_promise(name: str) -> None:
    from firthmodels import FirthLogisticRegression

    y, design = SAMPLES[name]
    best = fit_firth(y, design).coefficients[0]
    reference = FirthLogisticRegression(
        backend="numpy", fit_intercept=False, gtol=1e-6, xtol=1e-6, max_iter=500
    ).fit(design, y)
    assert best == pytest.approx(reference.coef_, abs=1e-5)
    height = penalised(y, design, best, np.ones(len(y)))
    assert height == pytest.approx(reference.loglik_, abs=1e-9)

    limits = reference.conf_int(method="pl", max_iter=200, tol=1e-8)
    assert (limits[:, 0] < best).all()
    assert (best < limits[:, 1]).all()
    for column, limit in [(c, limit) for c, row in enumerate(limits) for limit in row]:
        there = maximise_others(y, design, column, float(limit))
        assert height - there == pytest.approx(chi2.ppf(0.95, 1) / 2, abs=1e-5)


def maximise_others(y: Floats, design: Floats, column: int, value: float) -> float:
    """Return the highest penalised likelihood with one coefficient held at a value."""
    weights = np.ones(len(y))

    def down(others: Floats) -> float:
        return -penalised(y, design, np.insert(others, column, value), weights)

    start = np.zeros(design.shape[1] - 1)
    return -float(minimize(down, start, method="BFGS", options={"gtol": 1e-6}).fun)
