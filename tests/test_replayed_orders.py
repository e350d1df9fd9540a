"""The estimate along recorded campaigns, without a clock of this machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from statistics import fmean

import pytest

from tests.replayed_orders import (
    ALIKE,
    read_recorded_campaigns,
    replay_campaign,
    schedule_runs,
)

LONG = 60
"""Attempts of a campaign that is not over after a few."""
LANES = (1, 2, 6)
SEEDS = (1, 2, 3)


def replay_all(*, by_route: bool, orders: Sequence[int | None] = (None,)) -> list[float]:
    """Sizes of all errors of long campaigns under constant load.

    Args:
        by_route: pieces name their routes.
        orders: seeds of random orders of the attempts; None: as they were driven.
    """
    return [
        abs(error)
        for attempts in read_recorded_campaigns().values()
        if len(attempts) >= LONG
        for seed in orders
        for lanes in LANES
        for error in replay_campaign(
            attempts if seed is None else random.Random(seed).sample(attempts, len(attempts)),
            lanes,
            by_route=by_route,
        )
    ]


def test_most_estimates_of_long_campaigns_are_within_thirty_percent() -> None:
    errors = replay_all(by_route=True)
    assert sum(error <= ALIKE for error in errors) >= 0.85 * len(errors)


def test_routes_make_estimates_better_where_they_come_again() -> None:
    without = fmean(replay_all(by_route=False, orders=SEEDS))
    assert fmean(replay_all(by_route=True, orders=SEEDS)) < 0.95 * without


def test_equal_attempts_are_estimated_exactly() -> None:
    (attempt, *_) = read_recorded_campaigns()["demonstration"]
    first, *later = replay_campaign([attempt] * 40, 1)
    assert later == pytest.approx([0, 0], abs=0.05)
    assert first == pytest.approx(0, abs=0.05)


def test_the_lane_that_is_free_first_is_next() -> None:
    runs = schedule_runs([10, 2, 2, 2], 2)
    assert [run.lane for run in runs] == [0, 1, 1, 1]
    assert [run.ended for run in runs] == [14.5, 6.5, 10.0, 13.5]
