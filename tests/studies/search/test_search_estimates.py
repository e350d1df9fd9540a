"""The estimate along published searches and confirmations, without a clock of this machine."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from studies.search.search import GUIDED
from tests.replayed_orders import ALIKE, replay_campaign
from tests.replayed_searches import (
    PublishedSearch,
    make_drives,
    make_search_drives,
    read_published_searches,
    select_short_confirmations,
)


@pytest.fixture(scope="module")
def published() -> list[PublishedSearch]:
    return list(read_published_searches())


def list_failed(search: PublishedSearch) -> list[bool]:
    return [one.outcome.failed for one in search.evaluations]


@pytest.mark.parametrize("lanes", [1, 2])
def test_estimates_of_long_searches_are_right(published: list[PublishedSearch], lanes: int) -> None:
    for search in published:
        drives = make_search_drives(search.settings, list_failed(search))
        errors = replay_campaign(drives, lanes)
        assert all(abs(error) <= ALIKE for error in errors), (search.name, search.seed, errors)


def test_guided_searches_are_estimated_better_by_what_is_expected_of_them(
    published: list[PublishedSearch],
) -> None:
    """The first 20 evaluations after the random ones stand for a short search."""
    expected, flat = [], []
    for search in published:
        if search.settings.sampler in GUIDED:
            failed = list_failed(search)[16:36]
            short = replace(search.settings, budget=20, startup=4)
            expected += replay_campaign(make_search_drives(short, failed), 1)
            flat += replay_campaign(make_drives(failed, short.seed), 1)
    assert fmean(map(abs, expected)) < fmean(map(abs, flat))


def test_most_estimates_of_short_confirmations_are_right(published: list[PublishedSearch]) -> None:
    errors = [
        error
        for search in published
        for failed in select_short_confirmations(search)
        for error in replay_campaign(make_drives(failed, search.seed), 1, absolute=True)
    ]
    assert sum(abs(error) <= ALIKE for error in errors) >= 0.7 * len(errors)
