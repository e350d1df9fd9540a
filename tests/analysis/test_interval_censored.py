"""Turnbull's estimate against brute force, and intervals that resample routes."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.interval_censored import (
    compare_interval_pairs,
    estimate_restricted_mean_difference,
    estimate_share_above,
    find_innermost_intervals,
    fit_resampled_turnbull,
    fit_turnbull,
)
from harness.types.vocabulary import Floats

ENDS = (-math.inf, 0.0, 1.0, 2.0, math.inf)
CELLS = len(ENDS) - 1
"""Smallest intervals in which a number can be known to lie."""
FINE = 48
AFTER = math.inf
RETRACTION = [
    (45, AFTER), (6, 10), (0, 7), (46, AFTER), (46, AFTER), (7, 16), (17, AFTER), (7, 14),
    (37, 44), (0, 8), (4, 11), (15, AFTER), (11, 15), (22, AFTER), (46, AFTER), (46, AFTER),
    (25, 37), (46, AFTER), (26, 40), (46, AFTER), (27, 34), (36, 44), (46, AFTER), (36, 48),
    (37, AFTER), (40, AFTER), (17, 25), (46, AFTER), (11, 18), (38, AFTER), (5, 12), (37, AFTER),
    (0, 5), (18, AFTER), (24, AFTER), (36, AFTER), (5, 11), (19, 35), (17, 25), (24, AFTER),
    (32, AFTER), (33, AFTER), (19, 26), (37, AFTER), (34, AFTER), (36, AFTER),
]  # fmt: skip
"""Months between which a retraction was first seen."""
observations = st.lists(
    st.sampled_from(list(combinations(range(len(ENDS)), 2))), min_size=1, max_size=6
)


@cache
def simplex() -> Floats:
    """Return all distributions over the cells whose probabilities are multiples of 1 / FINE."""
    bars = np.array(list(combinations(range(FINE + CELLS - 1), CELLS - 1)))
    edges = np.hstack(
        [np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), FINE + CELLS - 1)]
    )
    return np.asarray((np.diff(edges) - 1) / FINE, np.float64)


def log_likelihood(seen: list[tuple[int, int]], cells: Floats) -> Floats:
    """Return the log likelihood of distributions over cells, by the definition."""
    total = np.zeros(len(cells))
    with np.errstate(divide="ignore"):
        for low, high in seen:
            total += np.log(cells[:, low:high].sum(axis=1))
    return total


def ends_of(seen: list[tuple[int, int]]) -> tuple[Floats, Floats]:
    low, high = np.array([[ENDS[a], ENDS[b]] for a, b in seen]).T
    return low, high


@pytest.mark.thorough
@given(observations)
@settings(max_examples=60, deadline=None)
def test_no_distribution_is_more_likely(seen: list[tuple[int, int]]) -> None:
    """Of all on a fine lattice; and the best of these is as likely, but for the lattice."""
    low, high = ends_of(seen)
    estimate = fit_turnbull(low, high)
    inside = (estimate.low >= low[:, None]) & (estimate.high <= high[:, None])
    ours = float(np.log(inside @ estimate.mass[0]).sum())
    lattice = log_likelihood(seen, simplex())
    assert estimate.mass[0].sum() == pytest.approx(1.0)
    assert ours >= lattice.max() - 1e-6
    assert ours <= lattice.max() + len(seen) * 0.02
    best = simplex()[lattice >= lattice.max() - 1e-9]
    for place in range(1, len(ENDS) - 1):
        above = best[:, place:].sum(axis=1)
        least, most = (float(side[0]) for side in estimate.bound_share_above(ENDS[place]))
        if lattice.max() >= ours - 1e-9:  # a lattice point is a maximum itself
            assert above.min() >= least - 1e-4
            assert above.max() <= most + 1e-4


@given(observations, st.lists(st.integers(1, 3), min_size=6, max_size=6))
@settings(max_examples=40, deadline=None)
def test_weights_are_repeated_observations(seen: list[tuple[int, int]], counts: list[int]) -> None:
    weights = np.array([counts[: len(seen)]], np.float64)
    low, high = ends_of(seen)
    times = weights[0].astype(int)
    weighted = fit_turnbull(low, high, weights)
    repeated = fit_turnbull(np.repeat(low, times), np.repeat(high, times))
    assert weighted.mass[0] == pytest.approx(repeated.mass[0], abs=1e-6)


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=12))
def test_it_is_kaplan_and_meier_s_estimate_where_steps_are_known(
    seen: list[tuple[int, bool]],
) -> None:
    """Failures in one known step each, others right-censored at its end."""
    low = np.array([time if censored else time - 1 for time, censored in seen], np.float64)
    high = np.array([math.inf if censored else time for time, censored in seen], np.float64)
    estimate = fit_turnbull(low, high)
    survival = 1.0
    for time in range(1, 6):
        at_risk = sum(other >= time for other, _ in seen)
        failed = sum(other == time and not censored for other, censored in seen)
        survival *= 1 - failed / at_risk if at_risk else 1.0
        least, most = estimate.bound_share_above(time)
        last = max(other for other, _ in seen)
        if time <= last:
            assert most[0] == pytest.approx(survival, abs=1e-5)
            assert least[0] == pytest.approx(survival, abs=1e-5)


def test_published_estimate_of_breast_retraction() -> None:
    """Of the 46 women of Finkelstein and Wolfe (1985, Biometrics 41, 933) with radiation alone.

    The masses are those that the R package `interval` prints (Fay and Shaw 2010, Journal of
    Statistical Software 36, 2).
    """
    low, high = np.array(RETRACTION).T
    estimate = fit_turnbull(low, high)
    masses = zip(estimate.low, estimate.high, estimate.mass[0].round(4), strict=True)
    assert {(a, b): mass for a, b, mass in masses if mass} == {
        (4, 5): 0.0463, (6, 7): 0.0334, (7, 8): 0.0887, (11, 12): 0.0708,
        (24, 25): 0.0926, (33, 34): 0.0818, (38, 40): 0.1209, (46, 48): 0.4656,
    }  # fmt: skip


def test_innermost_intervals_of_five_observations() -> None:
    low = np.array([0.0, 0.4, 0.2, -math.inf, 0.8])
    high = np.array([0.6, 0.6, 0.4, 0.0, math.inf])
    inner_low, inner_high = find_innermost_intervals(low, high)
    assert inner_low.tolist() == [-math.inf, 0.2, 0.4, 0.8]
    assert inner_high.tolist() == [0.0, 0.4, 0.6, math.inf]
    with pytest.raises(ValueError, match="no size inside"):
        fit_turnbull(np.array([0.4]), np.array([0.4]))


def test_inside_an_interval_a_share_has_two_limits() -> None:
    low, high = np.array([0.0, 1.0]), np.array([1.0, math.inf])
    least, most = fit_turnbull(low, high).bound_share_above(0.5)
    assert (least[0], most[0]) == (0.5, 1.0)
    data, samples, routes = fit_resampled_turnbull(low, high, np.array([0.0, 1.0]))
    estimate = estimate_share_above(data, samples, size=0.5, n=2, routes=routes)
    assert estimate.low <= 0.5
    assert estimate.high == 1.0


def test_censored_attempts_count() -> None:
    """Of four, one fails at 0 already, one never: without these two the shares would be others."""
    low = np.array([-math.inf, 0.2, 0.6, 0.8])
    high = np.array([0.0, 0.4, 0.8, math.inf])
    estimate = fit_turnbull(low, high)
    shares = {size: estimate.bound_share_above(size)[0][0] for size in (0.0, 0.2, 0.4, 0.6, 0.8)}
    assert shares == pytest.approx({0.0: 0.75, 0.2: 0.75, 0.4: 0.5, 0.6: 0.5, 0.8: 0.25})
    assert estimate.compute_restricted_mean(0.8)[0] == pytest.approx((0 + 0.4 + 0.8 + 0.8) / 4)


def test_pairs_have_an_order_only_where_intervals_are_apart() -> None:
    never = math.inf
    a = (
        np.array([0.2, 0.2, 0.2, 0.6, -never, 0.8, 0.2, 0.4]),
        np.array([0.4, 0.4, 0.4, 0.8, 0.0, never, 0.6, 0.8]),
    )
    b = (
        np.array([0.4, 0.2, 0.0, 0.8, 0.0, 0.8, 0.4, 0.2]),
        np.array([0.6, 0.4, 0.2, never, 0.2, never, 0.8, 0.6]),
    )
    assert compare_interval_pairs(a, b).tolist() == [1.0, 0.0, -1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_a_difference_of_pairs_resamples_routes_together() -> None:
    at = np.random.default_rng(1).integers(0, 5, 12)
    grid = np.arange(8) / 5
    a, b = (grid[at], grid[at + 1]), (grid[at + 1], grid[at + 2])
    estimate = estimate_restricted_mean_difference(a, b, np.arange(12.0), 2.0)
    assert estimate.value == pytest.approx(0.2)
    assert math.isnan(estimate.low)  # the same in every route: no spread to resample
    assert estimate.n == estimate.routes == 12
    other = np.roll(at, 1)
    mixed = estimate_restricted_mean_difference(
        a, (grid[other], grid[other + 1]), np.arange(12.0), 2.0
    )
    assert mixed.low < 0 < mixed.high


def test_resampled_intervals_cover_the_share() -> None:
    """Six equal attempts on each of 16 routes: as if they were independent, few would cover."""
    random = np.random.default_rng(7)
    grid = np.array([-math.inf, 0.0, 0.2, 0.4, 0.6, 0.8, math.inf])
    chances = np.array([0.1, 0.15, 0.2, 0.2, 0.15, 0.2])
    truth, covered, times = chances[2:].sum(), 0, 50
    for _ in range(times):
        cell = np.tile(random.choice(6, 16, p=chances), 6)
        clusters = np.tile(np.arange(16.0), 6)
        data, samples, routes = fit_resampled_turnbull(grid[cell], grid[cell + 1], clusters)
        estimate = estimate_share_above(data, samples, size=0.2, n=96, routes=routes)
        covered += estimate.low <= truth <= estimate.high
    assert covered / times >= 0.88
