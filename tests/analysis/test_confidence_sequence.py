"""The betting confidence sequence: it holds at all moments together, and narrows."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.statistics.confidence_sequence import (
    MEANS,
    compute_betting_wealth,
    compute_confidence_sequence,
    compute_predictable_bets,
)
from analysis.statistics.intervals import compute_clopper_pearson_interval
from harness.types.vocabulary import Floats


def excluded_ever(values: Floats, mean: float) -> bool:
    """Return whether the true mean is excluded at any moment, without the grid of means."""
    bets = compute_predictable_bets(values, 0.95)
    low = compute_betting_wealth(values, np.array([mean]), bets)
    high = compute_betting_wealth(1 - values, np.array([1 - mean]), bets)
    return bool(max(low.max(), high.max()) >= 2 / 0.05)


@pytest.mark.thorough
@pytest.mark.parametrize("mean", [0.0, 0.0005, 0.01, 0.1, 0.5, 0.9, 0.999])
def test_the_mean_is_inside_at_every_moment(mean: float) -> None:
    """1000 simulations of 500 values: at most 5 % leave, plus three standard errors."""
    random = np.random.default_rng(round(1e4 * mean))
    excluded = sum(
        excluded_ever((random.random(500) < mean).astype(np.float64), mean) for _ in range(1000)
    )
    assert excluded / 1000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_values_need_not_be_0_or_1() -> None:
    random = np.random.default_rng(1)
    excluded = sum(excluded_ever(random.beta(0.2, 1.8, 300), 0.1) for _ in range(1000))
    assert excluded / 1000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


def test_an_interval_that_is_looked_at_after_every_value_would_not_hold() -> None:
    """Clopper and Pearson's 95 %, looked at 500 times, excludes the mean in far more than 5 %."""
    random = np.random.default_rng(2)
    excluded = 0
    for _ in range(100):
        events = np.cumsum(random.random(500) < 0.3)
        excluded += any(
            not low <= 0.3 <= high
            for low, high in (
                compute_clopper_pearson_interval(int(events[n]), n + 1) for n in range(9, 500, 5)
            )
        )
    assert excluded / 100 > 0.15


@pytest.mark.parametrize("mean", [0.0, 0.002, 0.03, 0.6])
def test_limits_agree_with_wealth_and_narrow(mean: float) -> None:
    values = (np.random.default_rng(3).random(400) < mean).astype(np.float64)
    limits = compute_confidence_sequence(values)
    assert (np.diff(limits.low) >= 0).all()
    assert (np.diff(limits.high) <= 0).all()
    assert (limits.low <= mean).all()
    assert (limits.high >= mean).all()
    low, high = limits.last
    exact = compute_clopper_pearson_interval(int(values.sum()), 400)
    assert high - low < 2.6 * (exact[1] - exact[0])
    bets = compute_predictable_bets(values, 0.95)
    assert compute_betting_wealth(values, np.array([low]), bets).max() >= 40 or low == 0
    places = np.arange(len(MEANS))
    first, last = np.searchsorted(MEANS, [low, high])
    outside = MEANS[places > last][:1]
    assert compute_betting_wealth(1 - values, 1 - outside, bets).max() >= 40 or high == 1
    inside = MEANS[(places > first) & (places < last)]
    assert compute_betting_wealth(values, inside, bets).max() < 40
    assert compute_betting_wealth(1 - values, 1 - inside, bets).max() < 40


def test_zeros_and_ones_may_be_exchanged() -> None:
    values = (np.random.default_rng(4).random(120) < 0.1).astype(np.float64)
    limits, mirrored = compute_confidence_sequence(values), compute_confidence_sequence(1 - values)
    assert limits.low == pytest.approx(1 - mirrored.high, abs=1e-12)
    assert limits.high == pytest.approx(1 - mirrored.low, abs=1e-12)


def test_a_mean_that_moves_leaves_the_last_limits() -> None:
    values = np.repeat([0.0, 1.0], 400)
    limits = compute_confidence_sequence(values)
    assert (limits.low <= limits.high).all()
    assert limits.last[1] < 0.05


def test_nothing_and_wrong_values() -> None:
    assert compute_confidence_sequence(np.array([])).last == (0.0, 1.0)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="from 0 to 1"):
            compute_confidence_sequence(np.array([0.5, wrong]))
