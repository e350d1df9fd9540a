"""Estimates along campaigns that are made up, against the true time that was left.

The drives of a campaign have what recorded ones have: a process starts before each, and a server
before the first of a worker; some end early, at places that are alike; some arms take longer than
others; in a guided search more and more of them end early. The clock is made up, too.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.common.piece_rates import WorkPiece
from harness.common.progress_bar import BarForecast
from harness.common.remaining_time import WorkForecast
from studies.search.search import SETTLED, SHORTER
from tests.replayed_orders import ALIKE, RecordedAttempt, SetClock, replay_campaign

CAMPAIGNS, ATTEMPTS = 30, 24
LANES = (1, 2, 4)
WHOLE, EARLY, COLLISION = 8.0, 3.5, 0.55
"""Seconds of a drive to the goal and of one that ends early, and the share at which it ends."""


def make_attempt(
    chance: random.Random, *, fails: float, pace: float = 1.0, arm: str = "a", metres: float = 200
) -> RecordedAttempt:
    """Return a drive that ends early with a probability."""
    early = chance.random() < fails
    seconds = pace * (EARLY if early else WHOLE) * chance.uniform(0.85, 1.15)
    return RecordedAttempt(
        arm=arm,
        route=str(chance.randrange(8)),
        metres=metres,
        seconds=seconds,
        steady_seconds=seconds,
        completion=COLLISION * chance.uniform(0.9, 1.1) if early else 1.0,
    )


def make_early_endings(chance: random.Random) -> list[RecordedAttempt]:
    """Every second drive ends early, whichever."""
    return [make_attempt(chance, fails=0.5) for _ in range(ATTEMPTS)]


def make_unlike_arms(chance: random.Random) -> list[RecordedAttempt]:
    """Three arms in turn: one never ends early, one nearly always does, one is slow."""
    return [
        make_attempt(chance, fails=fails, pace=pace, arm=arm)
        for _ in range(ATTEMPTS // 3)
        for arm, fails, pace in (("clean", 0.0, 1.0), ("late", 0.9, 1.0), ("slow", 0.3, 2.0))
    ]


def make_guided_search(chance: random.Random) -> list[RecordedAttempt]:
    """Three in ten fail at first, and seven in ten at last; that is expected as of a search."""
    return [
        make_attempt(
            chance,
            fails=0.3 + 0.4 * min(number / SETTLED, 1.0),
            metres=200 * (1 - SHORTER * min(number / SETTLED, 1.0)),
        )
        for number in range(ATTEMPTS)
    ]


def make_even(chance: random.Random) -> list[RecordedAttempt]:
    """All reach their goals."""
    return [make_attempt(chance, fails=0.0) for _ in range(ATTEMPTS)]


Make = Callable[[random.Random], list[RecordedAttempt]]


def replay_made_up(make: Make, lanes: int, *, with_ends: bool = True) -> list[list[float]]:
    """Return the errors of campaigns, each at a quarter, half and three quarters."""
    return [
        replay_campaign(make(random.Random(seed)), lanes, by_route=False, with_ends=with_ends)
        for seed in range(CAMPAIGNS)
    ]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    ("make", "least"),
    [
        (make_even, 1.0),
        (make_early_endings, 0.85),
        (make_unlike_arms, 0.8),
        (make_guided_search, 0.8),
    ],
)
def test_most_estimates_are_near_the_true_time(make: Make, least: float, lanes: int) -> None:
    campaigns = replay_made_up(make, lanes)
    errors = [error for errors in campaigns for error in errors]
    assert sum(abs(error) <= ALIKE for error in errors) >= least * len(errors)
    # at no point are all too long, or too short; which worker ends last is a matter of chance
    for at_share in zip(*campaigns, strict=True):
        assert fmean(at_share) == pytest.approx(0, abs=0.15 if lanes < 4 else 0.22)


@pytest.mark.parametrize("make", [make_even, make_early_endings])
def test_how_drives_start_and_where_they_end_makes_estimates_better(make: Make) -> None:
    def mean_error(*, with_ends: bool) -> float:
        campaigns = replay_made_up(make, 4, with_ends=with_ends)
        return fmean(abs(error) for errors in campaigns for error in errors)

    assert mean_error(with_ends=True) < 0.8 * mean_error(with_ends=False)


def test_what_a_search_expects_makes_its_estimates_better() -> None:
    def make_unexpected(chance: random.Random) -> list[RecordedAttempt]:
        return [replace(one, metres=200) for one in make_guided_search(chance)]

    expected, unexpected = (
        fmean(abs(error) for errors in replay_made_up(make, 1) for error in errors)
        for make in (make_guided_search, make_unexpected)
    )
    assert expected < unexpected


@given(
    drives=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from("123"),
            st.floats(0.1, 1000),
            st.floats(0.01, 1),
            st.floats(1, 1000),
        ),
        min_size=1,
        max_size=12,
    ),
    lanes=st.integers(1, 4),
    with_ends=st.booleans(),
)
def test_something_is_left_until_the_last_drive_ends(
    drives: Sequence[tuple[str, str, float, float, float]], lanes: int, with_ends: bool
) -> None:
    attempts = [
        RecordedAttempt(
            arm=arm,
            route=route,
            metres=metres,
            seconds=seconds,
            steady_seconds=seconds,
            completion=completion,
        )
        for arm, route, seconds, completion, metres in drives
    ]
    for error in replay_campaign(attempts, lanes, with_ends=with_ends, absolute=True):
        assert -1 < error < float("inf")


@given(
    seconds=st.lists(st.floats(0.5, 50), min_size=3, max_size=10),
    unit=st.floats(0.01, 100),
    done=st.integers(1, 9),
    share=st.floats(0.05, 0.95),
)
def test_a_slower_machine_takes_in_proportion(
    seconds: Sequence[float], unit: float, done: int, share: float
) -> None:
    def estimate(scale: float) -> float:
        clock = SetClock()
        forecast = WorkForecast(deque([WorkPiece()] * len(seconds)), clock=clock)
        for number, one in enumerate(seconds[: min(done, len(seconds) - 1) + 1]):
            forecast.begin_piece(0)
            clock.now += 0.2 * scale * one
            forecast.note_share(0, 0.0)
            clock.now += 0.8 * scale * one * share
            forecast.note_share(0, share)
            if number < min(done, len(seconds) - 1):
                clock.now += 0.8 * scale * one * (1 - share)
                forecast.note_share(0, 1.0)
                forecast.end_piece(0)
        left = forecast.estimate_remaining().seconds
        assert left is not None
        return left

    assert estimate(unit) == pytest.approx(unit * estimate(1.0), rel=1e-6)


@given(
    pieces=st.none() | st.lists(st.integers(0, 9), min_size=1, max_size=12),
    workers=st.integers(1, 4),
    jumps=st.lists(st.integers(0, 30), max_size=12),
)
def test_a_bar_takes_jumps_of_any_size(
    pieces: list[int] | None, workers: int, jumps: list[int]
) -> None:
    clock = SetClock()
    total = 40 if pieces is None else sum(pieces)
    bar = BarForecast(total, workers=workers, pieces=pieces, clock=clock)
    done = 0
    for jump in [*jumps, total]:
        clock.now += 3
        done = min(done + jump, total)
        bar.note_done(done)
        assert (str(bar) == "") == (done == total)
