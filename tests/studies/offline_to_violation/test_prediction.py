"""Held-out models and the permutation test, against other programs and known answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest

from harness.types.vocabulary import Floats, Integers
from studies.offline_to_violation.permutation import (
    compute_finding_p,
    compute_route_permutation_p,
    sample_permutations,
    sum_route_residuals,
)
from studies.offline_to_violation.prediction import (
    BASE_RATE,
    OutcomeRows,
    fit_ridge_logistic,
    predict_held_out_routes,
    score_models,
    standardise_findings,
)
from studies.offline_to_violation.verdicts import (
    MeasuredStudy,
    build_score_table,
    predict_references,
)
from tests.studies.offline_to_violation.simulated import Simulated


def make_design(seed: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    design = np.column_stack([np.ones(80), random.normal(size=(80, 3))])
    y = (random.random(80) < 0.3).astype(np.float64)
    return y, design


@pytest.mark.parametrize("seed", range(5))
def test_the_ridge_fit_is_the_maximum_that_a_general_optimiser_finds(seed: int) -> None:
    y, design = make_design(seed)
    penalties = np.array([0.0, 1.0, 1.0, 1.0])

    def loss(at: Floats) -> float:
        line = design @ at
        return float(np.logaddexp(0, line).sum() - y @ line + (penalties * at**2).sum() / 2)

    other = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    assert fit_ridge_logistic(y, design, penalties) == pytest.approx(other, abs=1e-5)


def test_a_separated_sample_has_finite_coefficients_and_probabilities() -> None:
    y = np.array([0.0] * 10 + [1.0] * 10)
    design = np.column_stack([np.ones(20), np.linspace(-2, 2, 20)])
    fitted = fit_ridge_logistic(y, design, np.array([0.0, 1.0]))
    assert np.isfinite(fitted).all()
    assert 1 < fitted[1] < 10


def test_a_held_out_route_does_not_change_its_prediction() -> None:
    study = Simulated(seed=1, slope=1.0).make_study()
    rows = study.make_outcome_rows()
    before = predict_held_out_routes(rows, study.values)
    flipped = rows.violated.copy()
    flipped[rows.routes == 7] = 1 - flipped[rows.routes == 7]
    changed = OutcomeRows(
        violated=flipped,
        routes=rows.routes,
        systems=rows.systems,
        cells=rows.cells,
        towns=rows.towns,
    )
    after = predict_held_out_routes(changed, study.values)
    assert (after[rows.routes == 7] == before[rows.routes == 7]).all()
    assert (after != before).any()


def test_missing_findings_are_the_mean_of_the_other_routes() -> None:
    values = np.array([[[1.0]], [[3.0]], [[np.nan]], [[100.0]]])
    scaled = standardise_findings(values, np.array([True, True, True, False]))
    assert scaled[:, 0, 0].tolist() == [-1.0, 1.0, 0.0, 98.0]


def test_the_base_rate_of_one_cell_is_the_share_of_the_other_folds() -> None:
    routes = np.arange(40)
    violated = (routes % 4 == 0).astype(np.float64)
    rows = OutcomeRows(
        violated=violated, routes=routes, systems=0 * routes, cells=0 * routes, towns=0 * routes
    )
    p = predict_held_out_routes(rows, np.zeros((40, 1, 0)))
    # the constant has no penalty, so that each probability is the share of 36 rows
    shares = {round(count / 36, 6) for count in range(6, 11)}
    assert {round(float(one), 6) for one in p} <= shares


def test_scores_of_a_known_prediction() -> None:
    rows = OutcomeRows(
        violated=np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0]),
        routes=np.arange(6),
        systems=np.zeros(6, np.int64),
        cells=np.zeros(6, np.int64),
        towns=np.zeros(6, np.int64),
    )
    even, good = np.full(6, 0.5), np.array([0.8, 0.2, 0.8, 0.2, 0.2, 0.8])
    table = score_models(rows, {BASE_RATE: even, "good": good}).set_index("model")
    assert table.loc["good", "log loss"] == pytest.approx(-np.log(0.8))
    assert table.loc["good", "Brier"] == pytest.approx(0.04)
    assert table.loc["good", "lower log loss"] == pytest.approx(np.log(0.8) - np.log(0.5))
    assert table.loc[BASE_RATE, "lower Brier"] == 0
    assert table.loc["good", "too high"] == pytest.approx(0)


def test_the_permutation_p_of_three_routes_is_counted_in_full() -> None:
    finding, residuals = np.array([[-2.0], [-1.0], [3.0]]), np.array([[-1.0], [0.0], [1.0]])
    every = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    # sums of products: 5, 1, 4, -1, -4, -5; two are as far from 0 as 5
    assert compute_route_permutation_p(finding, residuals, every) == pytest.approx(3 / 7)
    assert np.isnan(compute_route_permutation_p(np.zeros((3, 1)), residuals, every))


def test_a_finding_that_predicts_is_significant_and_lowers_the_loss() -> None:
    significant, permutations = 0, sample_few_permutations()
    for seed in range(10):
        study = Simulated(seed=seed, slope=1.0).make_study()
        significant += compute_p(study, 0, permutations) < 0.05
        table = build_score_table(study)
        assert float(table["lower log loss"][table["model"] == "all patterns"].iloc[0]) > 0
    assert significant >= 8


def compute_p(study: MeasuredStudy, number: int, permutations: Integers) -> float:
    known = predict_references(study, "all")
    return compute_finding_p(
        study.values[:, :, number],
        study.trivial,
        base=sum_route_residuals(known.rows, known.base),
        informed=sum_route_residuals(known.rows, known.trivial),
        towns=study.number_towns(),
        permutations=permutations,
    )


def sample_few_permutations() -> Integers:
    return sample_permutations(Simulated(seed=0).make_study().number_towns(), 999)


def test_permutations_stay_within_towns() -> None:
    towns = np.array([0, 1, 0, 1, 1])
    permuted = sample_permutations(towns, 200)
    assert (np.sort(permuted, axis=1) == np.arange(5)).all()
    assert (towns[permuted] == towns).all()
    assert len(np.unique(permuted, axis=0)) == 12


@pytest.mark.thorough
def test_noise_is_called_a_predictor_no_more_often_than_the_level() -> None:
    false, permutations = 0, sample_few_permutations()
    for seed in range(500):
        study = Simulated(seed=seed).make_study()
        false += compute_p(study, 1, permutations) < 0.05
    # at most the level, as far as 500 studies show
    assert binomtest(false, 500, 0.05, alternative="greater").pvalue > 0.01
    assert false > 0
