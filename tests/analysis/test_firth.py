"""Firth's logit against published results of R, and against its definition, maximised slowly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from analysis.regression.design import build_regression_design
from analysis.simulation.campaigns import CampaignScenario, select_last_window, simulate_drives
from analysis.statistics.firth import correct_intercept, fit_firth
from analysis.statistics.intervals import compute_jackknife_errors, make_leave_one_out_weights
from harness.types.vocabulary import Floats
from tests.analysis.published import endometrial, sex2


def slow_fit(y: Floats, design: Floats, weights: Floats) -> Floats:
    """The penalised likelihood as Firth (1993) writes it, climbed without derivatives of ours."""

    def down(beta: Floats) -> float:
        p = expit(design @ beta)
        information = design.T @ (design * (weights * p * (1 - p))[:, None])
        log_likelihood = (weights * np.log(np.where(y == 1, p, 1 - p))).sum()
        return -float(log_likelihood + np.linalg.slogdet(information)[1] / 2)

    minimum = minimize(down, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-7})
    again = minimize(down, minimum.x, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-13})
    return np.asarray(again.x)


def sampled(seed: int, n: int = 40) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    design = np.column_stack([np.ones(n), random.normal(size=(n, 2)), random.random(n) < 0.2])
    y = (random.random(n) < expit(design @ [-0.5, 1.0, 0.0, 0.5])).astype(np.float64)
    y[design[:, 3] == 1] = 1.0  # the last column separates
    return y, design


def test_endometrial_cancer_as_brglm2_has_it() -> None:
    """README of R's brglm2: `glm(HG ~ NV + PI + EH, method = "brglm_fit")`."""
    fits = fit_firth(*endometrial())
    assert fits.converged.all()
    assert fits.coefficients[0] == pytest.approx([3.77456, 2.92927, -0.03475, -2.60416], abs=6e-6)


def test_urinary_tract_infection_as_logistf_has_it() -> None:
    """logistf(case ~ age+oc+vic+vicl+vis+dia): in the package firthlogist's pages to six digits.

    The tests of R's package parameters have the same, and flic's intercept, to two.
    """
    y, design = sex2()
    assert len(y) == 239
    fits = fit_firth(y, design)
    assert fits.coefficients[0] == pytest.approx(
        [0.120254, -1.10598, -0.0688167, 2.26887, -2.11141, -0.788317, 3.09601], rel=3e-6
    )
    flic = correct_intercept(y, design, fits.coefficients)
    assert flic[0, 0] == pytest.approx(0.13, abs=0.005)
    assert expit(flic @ design.T).mean() == pytest.approx(y.mean())


@pytest.mark.parametrize("seed", range(4))
def test_maximum_of_the_penalised_likelihood(seed: int) -> None:
    y, design = sampled(seed)
    weights = np.random.default_rng(seed).integers(0, 3, len(y)).astype(np.float64)
    fits = fit_firth(y, design, np.stack([np.ones(len(y)), weights]))
    assert fits.converged.all()
    assert fits.coefficients[0] == pytest.approx(slow_fit(y, design, np.ones(len(y))), abs=2e-5)
    assert fits.coefficients[1] == pytest.approx(slow_fit(y, design, weights), abs=2e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [5, 6])
def test_a_lower_maximum_is_left_for_a_higher_one(seed: int) -> None:
    """From zero alone some fits end in a lower maximum; a wide search finds no higher one."""
    scene = CampaignScenario(routes=8, systems=2, seeds=1, route_sd=1.5, base=-0.8)
    design = build_regression_design(
        select_last_window(simulate_drives(scene, np.random.default_rng(seed)))
    )
    weights = np.vstack([np.ones((1, len(design.y))), make_leave_one_out_weights(design.clusters)])
    alone = fit_firth(design.y, design.matrix, weights, starts=[])
    result = fit_firth(design.y, design.matrix, weights)
    random = np.random.default_rng(0)
    starts = list(4 * random.normal(size=(40, design.matrix.shape[1])))
    sought = fit_firth(design.y, design.matrix, weights, starts=starts)
    heights = [
        [
            penalised(design.y, design.matrix, *item)
            for item in zip(fits.coefficients, weights, strict=True)
        ]
        for fits in (alone, result, sought)
    ]
    assert (np.array(heights[0]) < np.array(heights[1]) - 0.1).any()
    assert (np.array(heights[0]) <= np.array(heights[1]) + 1e-6).all()
    assert (np.array(heights[2]) <= np.array(heights[1]) + 1e-6).all()


def penalised(y: Floats, design: Floats, beta: Floats, weights: Floats) -> float:
    """The penalised likelihood as it is defined."""
    eta = design @ beta
    p = expit(eta)
    information = design.T @ (design * (weights * p * (1 - p))[:, None])
    likelihood = (weights * (y * eta - np.logaddexp(0, eta))).sum()
    return float(likelihood + np.linalg.slogdet(information)[1] / 2)


def test_weights_are_repeated_rows() -> None:
    y, design = sampled(9)
    weights = np.random.default_rng(1).integers(0, 3, (5, len(y))).astype(np.float64)
    together = fit_firth(y, design, weights)
    for item, coefficient in zip(weights.astype(int), together.coefficients, strict=True):
        alone = fit_firth(np.repeat(y, item), np.repeat(design, item, axis=0))
        assert coefficient == pytest.approx(alone.coefficients[0], abs=1e-6)


def test_weights_that_leave_a_column_empty_give_no_numbers() -> None:
    y, design = sampled(3)
    fits = fit_firth(y, design, np.stack([design[:, 3] == 0, np.ones(len(y))]).astype(np.float64))
    assert np.isnan(fits.coefficients[0]).all()
    assert not fits.converged[0]
    assert fits.converged[1]


def test_jackknife_is_refitting_without_one_route_at_a_time() -> None:
    y, design = sampled(5)
    clusters = np.arange(len(y)) % 8
    full = fit_firth(y, design).coefficients[0]
    left = fit_firth(y, design, make_leave_one_out_weights(clusters)).coefficients
    total = np.zeros(4)
    for route in range(8):
        fits = fit_firth(y[clusters != route], design[clusters != route]).coefficients[0]
        assert left[route] == pytest.approx(fits, abs=1e-6)
        total += 7 / 8 * (fits - full) ** 2
    assert compute_jackknife_errors(full, left) ** 2 == pytest.approx(total, rel=1e-4)
