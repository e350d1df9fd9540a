"""Intervals, paired tests, Holm, separation, inflation: against publications and slow paths."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from statsmodels.stats.outliers_influence import variance_inflation_factor

from analysis.statistics.diagnostics import (
    compute_condition_number,
    compute_variance_inflation,
    detect_separation,
)
from analysis.statistics.intervals import (
    FEWEST_RESAMPLED_ROUTES,
    compute_expanded_percentiles,
    compute_wilson_interval,
    estimate_mean,
    estimate_ratio,
    estimate_share,
    sample_bootstrap_weights,
)
from analysis.statistics.significance import (
    MOST_EXACT,
    compute_holm_p_values,
    compute_mcnemar_p,
    run_sign_flip_test,
)
from harness.types.vocabulary import Floats
from tests.analysis.published import endometrial, sex2


@pytest.mark.parametrize(
    ("events", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_newcombe_tabulates_it(events: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, Statistics in Medicine 17, table I, method 3."""
    assert compute_wilson_interval(events, n) == pytest.approx((low, high), abs=5.1e-5)


def test_bootstrap_resamples_whole_routes() -> None:
    random = np.random.default_rng(0)
    clusters = random.integers(0, 7, 30).astype(np.float64)
    above, below = random.normal(size=30), random.random(30)
    estimate = estimate_ratio(above, below, clusters)
    resampled = []
    for often in sample_bootstrap_weights(7)[:300]:
        rows = [
            r
            for route, n in enumerate(often)
            for r in np.flatnonzero(clusters == route).repeat(int(n))
        ]
        resampled.append(above[rows].sum() / below[rows].sum())
    assert estimate.value == pytest.approx(above.sum() / below.sum())
    slow = np.quantile(resampled, compute_expanded_percentiles(7))
    assert (estimate.low, estimate.high) == pytest.approx(
        tuple(slow), abs=0.25 * (slow[1] - slow[0])
    )
    assert (estimate.n, estimate.routes, estimate.method) == (30, 7, "bootstrap")


def test_intervals_cover_what_they_promise_although_routes_differ() -> None:
    random = np.random.default_rng(3)
    routes, seeds, times = 15, 4, 300
    clusters = np.repeat(np.arange(routes), seeds).astype(np.float64)
    held = naive = 0
    for _ in range(times):
        values = random.normal(size=routes).repeat(seeds) + 0.5 * random.normal(size=len(clusters))
        estimate = estimate_mean(values, clusters)
        held += estimate.low <= 0 <= estimate.high
        naive += abs(values.mean()) < 1.96 * values.std() / np.sqrt(len(values))
    assert held / times > 0.91
    assert naive / times < 0.85


def test_rates_of_nothing_or_everything_still_have_a_width() -> None:
    clusters = np.array([0.0, 0, 1, 1, 2, 2])
    never = estimate_share(np.zeros(6), clusters)
    assert never.method == "wilson over routes"
    assert (never.low, never.high) == pytest.approx(compute_wilson_interval(0, 3))
    assert estimate_share(np.array([1.0, 0, 1]), np.arange(3.0)).method == "wilson"
    one = estimate_share(np.array([1.0, 0.0]), np.zeros(2))
    assert one.value == 0.5
    assert np.isnan(one.low)


@pytest.mark.parametrize(("value", "routes"), [(100.0, 4), (33.3, 8), (0.1, 19), (-72.35, 8)])
def test_a_mean_without_spread_has_no_interval(value: float, routes: int) -> None:
    """Sums of equal numbers differ in their last bits, which is no spread."""
    estimate = estimate_mean(np.full(routes, value), np.arange(float(routes)))
    assert estimate.value == pytest.approx(value)
    assert np.isnan(estimate.low)
    assert estimate.method == "none"


@pytest.mark.parametrize(("routes", "share"), [(2, 1 / 2), (3, 3 / 4), (4, 7 / 8)])
def test_few_routes_cover_as_little_as_is_said_of_them(routes: int, share: float) -> None:
    """Their interval is their range, which leaves a median out if all lie on one side of it."""
    assert routes < FEWEST_RESAMPLED_ROUTES
    random = np.random.default_rng(0)
    clusters = np.arange(float(routes))
    result = [estimate_mean(random.normal(size=routes), clusters) for _ in range(400)]
    assert np.mean([item.low <= 0 <= item.high for item in result]) == pytest.approx(
        share, abs=0.06
    )


@pytest.mark.parametrize("n", [1, 4, 9])
def test_sign_flips_try_all_signs(n: int) -> None:
    differences = np.round(np.random.default_rng(n).normal(size=n), 1)
    seen = abs(differences.sum())
    signs = product((1, -1), repeat=n)
    slow = np.mean([abs(np.dot(sign, differences)) >= seen - 1e-9 for sign in signs])
    test = run_sign_flip_test(differences)
    assert test.p == pytest.approx(slow)
    assert test.exact


def test_many_routes_sample_signs_and_agree_with_the_normal_approximation() -> None:
    differences = np.random.default_rng(0).normal(0.25, 1, 60)
    test = run_sign_flip_test(differences)
    z = differences.sum() / np.sqrt((differences**2).sum())
    assert not test.exact
    assert test.p == pytest.approx(2 * norm.sf(abs(z)), abs=0.01)


def test_routes_without_difference_do_not_count() -> None:
    few = np.array([2.0, 1.0, 3.0])
    many = np.concatenate([few, np.zeros(40)])
    assert run_sign_flip_test(many) == run_sign_flip_test(few)
    assert len(many) > MOST_EXACT
    assert run_sign_flip_test(np.zeros(5)).p == 1.0


def test_mcnemar_below_six_discordant_routes_cannot_reach_005() -> None:
    assert compute_mcnemar_p(0, 5) == pytest.approx(0.0625)
    assert compute_mcnemar_p(0, 6) == pytest.approx(0.03125)
    assert compute_mcnemar_p(3, 3) == 1.0
    assert compute_mcnemar_p(0, 0) == 1.0


@pytest.mark.parametrize("only_a", range(0, 40, 3))
@pytest.mark.parametrize("only_b", range(1, 40, 5))
def test_mcnemar_is_a_two_sided_binomial_test(only_a: int, only_b: int) -> None:
    assert compute_mcnemar_p(only_a, only_b) == pytest.approx(
        binomtest(only_a, only_a + only_b).pvalue
    )


def test_holm() -> None:
    p = np.array([0.04, 0.01, np.nan, 0.03, 0.2])
    slow = {0.01: 0.04, 0.03: 0.09, 0.04: 0.09, 0.2: 0.2}
    assert compute_holm_p_values(p)[[0, 1, 3, 4]] == pytest.approx(
        [slow[value] for value in (0.04, 0.01, 0.03, 0.2)]
    )
    assert np.isnan(compute_holm_p_values(p)[2])
    assert compute_holm_p_values(np.array([0.5, 0.6])) == pytest.approx([1.0, 1.0])


def test_separation_as_detectseparation_finds_it() -> None:
    """README of R's brglm2: of the endometrial fit NV is infinite, all else finite."""
    apart = detect_separation(*endometrial())
    assert apart.kind == "quasi"
    assert apart.infinite.tolist() == [False, True, False, False]
    y, design = sex2()
    assert detect_separation(y, design).infinite.tolist() == [False] * 6 + [True]
    assert detect_separation(y, design[:, :6]).kind == "none"


def test_complete_separation() -> None:
    x = np.array([1.0, 2, 3, 4])
    design = np.column_stack([np.ones(4), x])
    assert detect_separation((x > 2).astype(np.float64), design).kind == "complete"
    assert detect_separation(np.array([0.0, 1, 0, 1]), design).kind == "none"


def test_inflation_as_statsmodels_has_it() -> None:
    random = np.random.default_rng(2)
    columns: Floats = random.normal(size=(50, 3))
    columns[:, 2] += 2 * columns[:, 0]
    design = np.column_stack([np.ones(50), columns])
    slow = [variance_inflation_factor(design, value) for value in (1, 2, 3)]
    assert compute_variance_inflation(columns) == pytest.approx(slow)
    twice = np.column_stack([columns, columns[:, 0], np.ones(50)])
    factors = compute_variance_inflation(twice)
    assert np.isinf(factors[[0, 3]]).all()
    assert np.isnan(factors[4])
    assert compute_condition_number(twice) == np.inf
    assert compute_condition_number(columns) > compute_condition_number(random.normal(size=(50, 3)))
