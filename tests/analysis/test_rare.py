"""Rare failures: importance sampling against tails of the normal distribution, and strata."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from analysis.statistics.rare import (
    compute_defensive_weights,
    compute_effective_sample_size,
    compute_upper_limit,
    convert_points_to_shares,
    estimate_failure_rate,
    estimate_stratified_rate,
    fit_proposal_centre,
    sample_proposal,
)
from harness.common.errors import UserError
from harness.types.vocabulary import Floats


def beyond(distance: float, dimensions: int) -> Callable[[Floats], Floats]:
    """Return the margin of failures beyond a plane at a distance from the nominal centre."""
    return lambda points: distance - points.sum(axis=1) / np.sqrt(dimensions)


def streams(seed: int, name: int) -> np.random.Generator:
    return np.random.default_rng([seed, name])


@pytest.mark.parametrize(("distance", "dimensions"), [(3.0, 1), (3.0, 4), (4.0, 2)])
def test_rates_of_a_tail_are_unbiased(distance: float, dimensions: int) -> None:
    """Means of 40 estimates within three standard errors, their 95 % intervals hold."""
    margin, rate = beyond(distance, dimensions), float(norm.sf(distance))
    estimates = []
    for seed in range(40):
        centre = fit_proposal_centre(margin, dimensions, streams(seed, 1))
        points = sample_proposal(centre, 1000, streams(seed, 2))
        weights = compute_defensive_weights(points, centre)
        assert weights.max() <= 2.0
        estimates.append(np.where(margin(points) <= 0, weights, 0).mean())
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert np.mean(estimates) == pytest.approx(rate, abs=3 * error)
    assert error < 0.1 * rate


@pytest.mark.thorough
@pytest.mark.parametrize("distance", [2.5, 3.5])
def test_the_interval_holds_the_rate_and_says_what_it_rests_on(distance: float) -> None:
    margin, rate = beyond(distance, 3), float(norm.sf(distance))
    held = near = 0
    for seed in range(15):
        centre = fit_proposal_centre(margin, 3, streams(seed, 1))
        points = sample_proposal(centre, 1500, streams(seed, 2))
        estimate = estimate_failure_rate(
            margin(points) <= 0, compute_defensive_weights(points, centre)
        )
        held += estimate.low <= rate <= estimate.high
        near += abs(estimate.value - rate) < 2 * estimate.standard_error
        assert estimate.low > rate / 5
        assert estimate.n == 1500
        assert 30 <= estimate.effective <= 1500
        assert estimate.largest_share < 0.2
    assert held == 15
    assert near >= 12


def test_failures_that_the_proposal_misses_still_count() -> None:
    """Two tails, one of which the proposal moves away from: its weights are 2."""
    rate = 2 * float(norm.sf(2.0))
    centre = np.array([2.5])
    points = sample_proposal(centre, 4000, streams(0, 3))
    estimate = estimate_failure_rate(
        np.abs(points[:, 0]) >= 2.0, compute_defensive_weights(points, centre)
    )
    assert estimate.low < rate < estimate.high
    assert estimate.value == pytest.approx(rate, abs=3 * estimate.standard_error)
    assert estimate.effective < 250  # of some 2700 failures


def test_too_few_effective_failures_are_refused() -> None:
    points = sample_proposal(np.zeros(1), 500, streams(0, 4))
    weights = compute_defensive_weights(points, np.zeros(1))
    assert weights == pytest.approx(1.0)
    failed = np.arange(500) % 41 == 40
    with pytest.raises(UserError, match=r"of the failures = 12\.0: must be ≥ 30"):
        estimate_failure_rate(failed, weights)
    assert 12 / 500 < compute_upper_limit(failed, weights) < 0.1
    assert 7 / 500 < compute_upper_limit(failed & False, weights) < 12 / 500


def test_weights_that_are_not_defensive_are_refused() -> None:
    weights = np.full(100, 3.0)
    with pytest.raises(UserError, match=r"weight = 3\.000: must be ≤ 2"):
        estimate_failure_rate(np.ones(100, bool), weights)


def test_effective_sizes_and_shares() -> None:
    assert compute_effective_sample_size(np.ones(7)) == pytest.approx(7)
    assert compute_effective_sample_size(np.array([2.0, 0, 0])) == pytest.approx(1)
    assert compute_effective_sample_size(np.zeros(3)) == 0
    assert convert_points_to_shares(np.array([[0.0, -1e9, 1e9]])).tolist() == [[0.5, 0.0, 1.0]]


def test_strata_are_weighted_by_their_shares() -> None:
    random = streams(0, 5)
    rates, route_shares = np.array([0.02, 0.5, 0.1]), np.array([0.6, 0.1, 0.3])
    failed = (random.random((400, 3)) < rates).astype(np.float64)
    estimate = estimate_stratified_rate(failed, route_shares)
    assert estimate.value == pytest.approx(failed.mean(axis=0) @ route_shares)
    assert estimate.low < rates @ route_shares < estimate.high
    assert estimate.by_route == pytest.approx(failed.mean(axis=0))
    assert estimate.rounds == 400
    pooled = estimate_stratified_rate(failed[:, :1], np.array([1.0]))
    assert pooled.value == pytest.approx(failed[:, 0].mean())


@pytest.mark.parametrize(
    ("shape", "route_shares", "message"),
    [
        ((4, 3), [0.5, 0.5], "a row for each round, a column for each route"),
        ((4,), [1.0], "a row for each round"),
        ((0, 1), [1.0], "a row for each round"),
        ((4, 2), [0.5, 0.6], "sum up to 1"),
        ((4, 2), [1.5, -0.5], "must be ≥ 0"),
    ],
)
def test_wrong_strata_are_refused(
    shape: tuple[int, ...], route_shares: list[float], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        estimate_stratified_rate(np.zeros(shape), np.array(route_shares))
