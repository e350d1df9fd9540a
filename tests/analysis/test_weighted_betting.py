"""Bets on weighted differences: against a slow reference, and how often they err."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from analysis.statistics.allocation import allocate_samples, predict_differences
from analysis.statistics.intervals import compute_clopper_pearson_interval
from analysis.statistics.sign_betting import SignWealth
from analysis.statistics.weighted_betting import (
    STAKES,
    MeanWealth,
    compute_mean_interval,
    compute_value_range,
    make_interval_means,
    weigh_difference,
)
from harness.types.vocabulary import Floats

SHARES = np.array([0.25, 0.25, 0.5])


def compute_slow_wealth(batches: list[tuple[list[float], float, float]], mean: float) -> float:
    """Return the largest logarithm of the wealth on a mean above, with plain numbers."""
    wealths = [1.0] * (len(STAKES) + 1)
    count, total, squares, best = 4.0, 0.0, 0.4, 0.0
    for values, low, _ in batches:
        most = 1 / (mean - low)
        average = total / count
        gap = average - mean
        stake = gap / (squares / count - average**2 + gap**2)
        stakes = [STAKES[0] * most, STAKES[1] * most, min(max(stake, 0.0), 0.9 * most)]
        for value in values:
            wealths = [
                wealth * (1 + stake * (value - mean))
                for wealth, stake in zip(wealths, stakes, strict=True)
            ]
            best = max(best, log(sum(wealths) / len(wealths)))
        count += len(values)
        total += sum(values)
        squares += sum(value**2 for value in values)
    return best


def test_wealth_agrees_with_plain_numbers() -> None:
    random = np.random.default_rng(1)
    batches = [
        (random.uniform(low, high, 5).tolist(), low, high)
        for low, high in [(-2.0, 1.5), (-1.2, 1.2), (-1.0, 3.0)] * 6
    ]
    wealth = MeanWealth.start(np.array([-0.1, 0.0, 0.2]), 1)
    mirrored = MeanWealth.start(np.array([-0.2, 0.0, 0.1]), 1)
    for values, low, high in batches:
        row = np.array([values])
        wealth.bet(row, np.array([low]), np.array([high]))
        mirrored.bet(-row, np.array([-high]), np.array([-low]))
    for column, mean in enumerate(wealth.means):
        expected = compute_slow_wealth(batches, float(mean))
        assert wealth.best[0, 0, column] == pytest.approx(expected)
    # below a mean is above it, seen in a mirror
    assert wealth.best[0, 1] == pytest.approx(mirrored.best[0, 0, ::-1])


def test_weighted_values_have_the_populations_mean() -> None:
    """Whatever is predicted and however routes are sampled: summed over all that can happen."""
    random = np.random.default_rng(2)
    for _ in range(20):
        means, predictions = random.uniform(-1, 1, (2, 3))
        chances = random.dirichlet(np.ones(3))
        overall = float((SHARES * predictions).sum())
        values = weigh_difference(means[None], predictions[None], (SHARES / chances)[None])
        assert overall + float((chances * values).sum()) == pytest.approx(
            float((SHARES * means).sum())
        )
        low, high = compute_value_range(SHARES, chances[None], predictions[None])
        extremes = overall + SHARES / chances * (np.array([[-1.0], [1.0]]) - predictions)
        assert (low[0], high[0]) == pytest.approx((extremes.min(), extremes.max()))


def simulate_adaptive(random: np.random.Generator, samples: int, chances: Floats) -> MeanWealth:
    """Return the wealth of experiments that sample where differences were, with predictions.

    Args:
        random: samples routes.
        samples: experiments.
        chances: (strata, 2) of a difference of 1, and of -1.
    """
    true = float((SHARES * (chances[:, 0] - chances[:, 1])).sum())
    wealth, rows = MeanWealth.start(np.array([true]), samples), np.arange(samples)
    counts, sums, squares = np.zeros((3, samples, 3))
    for _ in range(40):
        predictions = predict_differences(counts, sums)
        at = allocate_samples(SHARES, (squares + 0.4) / (counts + 4), 0.3)
        low, high = compute_value_range(SHARES, at, predictions)
        values = []
        for _ in range(5):
            strata = (random.random((samples, 1)) > at.cumsum(axis=1)[:, :-1]).sum(axis=1)
            chance = random.random(samples)
            more, fewer = chances[strata].T
            difference = (chance < more).astype(float) - (chance > 1 - fewer)
            weights = (SHARES / at)[rows, strata]
            value = weigh_difference(difference, predictions[rows, strata], weights)
            values.append(value + (SHARES * predictions).sum(axis=1))
            counts[rows, strata] += 1
            sums[rows, strata] += difference
            squares[rows, strata] += difference**2
        wealth.bet(np.stack(values, axis=1), low, high)
    return wealth


@pytest.mark.thorough
@pytest.mark.parametrize(
    "chances",
    [
        [[0.2, 0.2], [0.05, 0.05], [0.0, 0.0]],
        [[0.4, 0.02], [0.1, 0.0], [0.02, 0.0]],
        [[0.0, 0.4], [0.3, 0.0], [0.05, 0.0]],
        [[0.02, 0.0], [0.0, 0.0], [0.0, 0.01]],
    ],
)
def test_the_true_mean_is_excluded_as_rarely_as_stated(chances: list[list[float]]) -> None:
    """4000 experiments of 200 routes, looked at after each: at most 5 %, at a surety of 99.9 %."""
    random = np.random.default_rng(3)
    wealth = simulate_adaptive(random, 4000, np.array(chances))
    errors = int((wealth.best.max(axis=(1, 2)) >= np.log(2 / 0.05)).sum())
    assert compute_clopper_pearson_interval(errors, 4000, 0.998)[0] <= 0.05


def test_an_interval_narrows_round_the_mean() -> None:
    random = np.random.default_rng(4)
    wealth = MeanWealth.start(make_interval_means(), 1)
    assert compute_mean_interval(wealth, 0.95) == (np.array([-1.0]), np.array([1.0]))
    widths = []
    for _ in range(4):
        values = random.choice([-1.0, 0.0, 1.0], (1, 200), p=[0.02, 0.78, 0.2])
        wealth.bet(values, np.array([-1.0]), np.array([1.0]))
        low, high = compute_mean_interval(wealth, 0.95)
        assert low[0] < 0.18 < high[0]
        widths.append(float(high[0] - low[0]))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.15


def test_signs_win_where_a_stratum_has_a_direction() -> None:
    random = np.random.default_rng(5)
    wealth = SignWealth.start(1, 2)
    for _ in range(20):
        strata = random.integers(0, 2, (1, 5))
        # all differences of the first stratum are negative, the second has none
        wealth.bet(np.where(strata == 0, -1.0, 0.0), strata)
    assert wealth.best[0, 1] > np.log(1000)
    assert wealth.best[0, 0] == 0
    assert int(wealth.compute_growth()[0].argmax()) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("chance", [0.01, 0.1, 0.5])
def test_signs_err_as_rarely_as_stated(chance: float) -> None:
    """Both directions as often in each stratum, sampled where wealth grows."""
    random, samples = np.random.default_rng(6), 4000
    wealth = SignWealth.start(samples, 3)
    for _ in range(60):
        at = allocate_samples(SHARES, wealth.compute_growth() + 0.05, 0.2)
        strata = (random.random((samples, 5, 1)) > at.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
        signs = random.choice(
            [-1.0, 0.0, 1.0], strata.shape, p=[chance / 2, 1 - chance, chance / 2]
        )
        wealth.bet(signs, strata)
    errors = int((wealth.best.max(axis=1) >= np.log(2 / 0.05)).sum())
    assert compute_clopper_pearson_interval(errors, samples, 0.998)[0] <= 0.05


def test_allocation_keeps_its_floor() -> None:
    at = allocate_samples(SHARES, np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), 0.6)
    assert at == pytest.approx(np.array([[0.55, 0.15, 0.3], SHARES]))
