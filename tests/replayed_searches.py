"""Searches and confirmations on a made-up clock, with the outcomes of published ones.

The ledgers in `studies/published/search` hold which evaluations failed, in their order. What drives
take was recorded on one search of `latency_cut_in` with `ideal_late`: a drive that fails ends after
7 s of simulated time, another one after 17 to 18.6 s, both on the same way.

Short searches, as `make estimates` drives one, are made up with the real sampler: the outcome of a
candidate is that of the nearest of 900 published ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from harness.campaign.planning.estimate import SECONDS_PER_METRE, STARTING
from studies.search.candidates import SearchCandidate, SearchEvaluation, SearchOutcome
from studies.search.configuration import compose_search_config, plan_search
from studies.search.confirm import CONFIRM
from studies.search.driving import LEDGER_FOLDER
from studies.search.folders import get_ledger_file
from studies.search.ledger import read_ledger
from studies.search.search import list_expected_shares, run_search_loop
from studies.search.settings import SearchSettings
from studies.space import Values
from tests.conftest import ROOT
from tests.replayed_orders import RecordedAttempt

PUBLISHED = ROOT / "studies" / "published" / "search"
SYSTEMS, SAMPLERS, SEEDS = ("late", "fcooper"), ("tpe", "random", "sobol"), (1, 2, 3)
TICK_SECONDS = 0.3
"""Seconds of a processor for a second of simulated time."""
FAILED_AT, CLEAN_AT = (6.8, 7.2), (17.0, 18.6)
"""Seconds of simulated time at which drives ended."""
ENDING = 0.1
"""Seconds of a processor from a drive's end to that of its attempt."""
RECORDED_SEARCH = (
    *(17.6, 18.0, 17.8, 18.4, 7.0, 7.0, 17.2, 18.6, 17.0, 7.0),
    *(18.6, 19.0, 6.8, 7.0, 7.0, 18.0, 7.0, 7.0, 7.0, 7.0),
)
RECORDED_CONFIRMATION = (7.0, 17.6, 18.0, 18.0, 17.8, 17.0, 7.0, 17.0)
"""Seconds of simulated time of each drive of `search` and `confirm` in `make estimates`."""
TO_COLLISION = ((0.0, 0.0), (0.17, 0.02), (0.43, 0.154), (0.69, 0.325), (1.0, 0.535))
TO_GOAL = (
    (0.0, 0.0),
    (0.07, 0.015),
    (0.23, 0.27),
    (0.36, 0.466),
    (0.53, 0.515),
    (0.68, 0.6),
    (0.82, 0.749),
    (1.0, 1.0),
)
"""Shares of the route by shares of the time: the ego waits for the car that has pulled out."""
TYPICAL = 35.0
"""Metres of a random evaluation, so that it is expected to take what they take on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSearch:
    """A search of 100 evaluations, and the repeats of its findings."""

    name: str
    seed: int
    settings: SearchSettings
    evaluations: Sequence[SearchEvaluation]
    repeats: Sequence[SearchEvaluation]


def read_published_searches() -> Iterator[PublishedSearch]:
    """Yield all published searches."""
    for system in SYSTEMS:
        for sampler in SAMPLERS:
            for seed in SEEDS:
                folder = PUBLISHED / system / f"{sampler}-s{seed}"
                yield PublishedSearch(
                    name=f"{system} {sampler}",
                    seed=seed,
                    settings=make_settings(sampler, seed, budget=100, startup=20),
                    evaluations=read_ledger(get_ledger_file(folder))[1],
                    repeats=read_ledger(get_ledger_file(folder / CONFIRM))[1],
                )


def make_settings(sampler: str, seed: int, *, budget: int, startup: int) -> SearchSettings:
    """Return the settings of a search of `latency_cut_in`."""
    return replace(read_settings(), sampler=sampler, seed=seed, budget=budget, startup=startup)


@cache
def read_settings() -> SearchSettings:
    """Return those of the configuration."""
    return plan_search(compose_search_config("latency_cut_in", ["system=ideal_late"])).search


def make_up_search(settings: SearchSettings, known: Sequence[SearchEvaluation]) -> list[bool]:
    """Return which evaluations fail of a search that gets the outcomes of the nearest known ones.

    Args:
        settings: of the search.
        known: evaluations of other searches in the same space.
    """
    points = np.array([locate(settings, one.candidate.values) for one in known])

    def evaluate(candidate: SearchCandidate) -> SearchOutcome:
        apart = points - locate(settings, candidate.values)
        return known[int(np.argmin((apart**2).sum(axis=1)))].outcome

    with TemporaryDirectory() as folder:
        ledger = run_search_loop(settings, evaluate, Path(folder) / LEDGER_FOLDER)
        return [one.outcome.failed for one in read_ledger(ledger)[1]]


def locate(settings: SearchSettings, values: Values) -> list[float]:
    """Return a candidate as shares of the ranges of the parameters."""
    return [(float(values[one.name]) - one.low) / (one.high - one.low) for one in settings.space]


def make_drives(
    failed: Sequence[bool], seed: int, shares: Sequence[float] = ()
) -> list[RecordedAttempt]:
    """Return drives with these outcomes.

    Args:
        failed: of each drive, whether it fails.
        seed: of what the drives take.
        shares: that are expected of each one, of a random one's time; () for all 1.
    """
    chance = random.Random(seed)
    simulated = [chance.uniform(*(FAILED_AT if fails else CLEAN_AT)) for fails in failed]
    return make_timed_drives(simulated, shares)


def make_timed_drives(
    times: Sequence[float], shares: Sequence[float] = ()
) -> list[RecordedAttempt]:
    """Return drives that end after so many seconds of simulated time.

    Args:
        times: of the drives' ends.
        shares: that are expected of each one, of a random one's time; () for all 1.
    """
    drives = []
    for simulated, share in zip(times, shares or [1.0] * len(times), strict=True):
        fails = simulated < CLEAN_AT[0]
        seconds = TICK_SECONDS * simulated + ENDING
        expected = share * (STARTING + SECONDS_PER_METRE * TYPICAL)
        drives.append(
            RecordedAttempt(
                arm="evaluation",
                route="bend",
                metres=(expected - STARTING) / SECONDS_PER_METRE,
                seconds=seconds,
                steady_seconds=seconds,
                completion=0.535 if fails else 1.0,
                way=TO_COLLISION if fails else TO_GOAL,
            )
        )
    return drives


def make_search_drives(settings: SearchSettings, failed: Sequence[bool]) -> list[RecordedAttempt]:
    """Return the drives of a search, with what is expected of each."""
    return make_drives(failed, settings.seed, list_expected_shares(settings))


def select_short_confirmations(search: PublishedSearch) -> Iterator[list[bool]]:
    """Yield outcomes of repeats as of `crucible confirm --redraws=4 --most=2`."""
    failed = [one.outcome.failed for one in search.repeats]
    for first in range(0, len(failed) - 19, 20):
        yield failed[first : first + 4] + failed[first + 10 : first + 14]
