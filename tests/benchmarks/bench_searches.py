"""Errors of the estimate along searches and confirmations, on a made-up clock.

Errors at a quarter, half and three quarters of 40 searches of 20 evaluations and 39 confirmations
of two findings, with the outcomes of published ones (`tests/replayed_searches.py`): how many of the
readings are within 30 %, and the mean error at each point. Constants of the estimator were chosen
by the searches with odd seeds and the confirmations of the searches with seed 1. `SHORTER` comes
from all searches of 100: the first rows have how much shorter their guided evaluations are.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from harness.campaign.planning.estimate import STARTING
from studies.search.search import GUIDED, list_expected_shares
from tests.replayed_orders import ALIKE, RecordedAttempt, replay_campaign
from tests.replayed_searches import (
    RECORDED_CONFIRMATION,
    RECORDED_SEARCH,
    SYSTEMS,
    PublishedSearch,
    make_drives,
    make_search_drives,
    make_settings,
    make_timed_drives,
    make_up_search,
    read_published_searches,
    select_short_confirmations,
)

BUDGET, STARTUP = 20, 4
SEEDS = range(1, 21)
LANES = (1, 2)
CONFIRMATIONS = "confirmations of 2 findings, 4 times"


def run() -> list[tuple[str, str]]:
    """Return the errors of each kind of work, as chosen by and as judged on."""
    published = list(read_published_searches())
    work: dict[tuple[str, bool], list[list[RecordedAttempt]]] = {}
    for system in SYSTEMS:
        known = [row for one in published if one.name.startswith(system) for row in one.evaluations]
        for seed in SEEDS:
            settings = make_settings("tpe", seed, budget=BUDGET, startup=STARTUP)
            drives = make_search_drives(settings, make_up_search(settings, known))
            title = f"searches of {BUDGET}, outcomes of {system}"
            work.setdefault((title, seed % 2 == 1), []).append(drives)
    for one in published:
        failed = [row.outcome.failed for row in one.evaluations]
        drives = make_search_drives(one.settings, failed)
        work.setdefault((f"searches of {len(failed)}", one.seed == 1), []).append(drives)
        for repeats in select_short_confirmations(one):
            work.setdefault((CONFIRMATIONS, one.seed == 1), []).append(
                make_drives(repeats, one.seed)
            )
    rows = []
    for system in SYSTEMS:
        shorter = measure_shorter(system, published)
        rows.append((f"guided evaluations are shorter, {system}", f"{100 * shorter:.0f} %"))
    for (title, chosen), orders in sorted(work.items()):
        use = "chosen by" if chosen else "judged on"
        for lanes in LANES:
            # what evaluations of the search took is known before its confirmation
            errors = [
                replay_campaign(drives, lanes, absolute=title == CONFIRMATIONS) for drives in orders
            ]
            name = f"{title}, {lanes} at a time, {use} {len(orders)}"
            rows.append((name, describe_errors(errors)))
    shares = list_expected_shares(make_settings("tpe", 1, budget=BUDGET, startup=STARTUP))
    searched = replay_campaign(make_timed_drives(RECORDED_SEARCH, shares), 1)
    rows.append(("recorded search", describe_errors([searched])))
    confirmed = replay_campaign(make_timed_drives(RECORDED_CONFIRMATION), 1, absolute=True)
    rows.append(("its confirmation", describe_errors([confirmed])))
    return rows


def measure_shorter(system: str, published: Sequence[PublishedSearch]) -> float:
    """Return by which share evaluations of guided searches are shorter than those of others."""
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for one in published:
        if one.name.startswith(system):
            guided = one.settings.sampler in GUIDED
            begin = one.settings.startup if guided else 0
            failed = [row.outcome.failed for row in one.evaluations[begin:]]
            drives = make_drives(failed, one.seed)
            seconds[guided] += [STARTING + drive.seconds for drive in drives]
    return 1 - fmean(seconds[True]) / fmean(seconds[False])


def describe_errors(errors: Sequence[Sequence[float]]) -> str:
    """Return how many readings are right, and the mean error at each point."""
    sizes = [abs(error) for of_one in errors for error in of_one]
    means = " ".join(f"{100 * fmean(at):+4.0f}" for at in zip(*errors, strict=True))
    return f"{sum(size <= ALIKE for size in sizes)} of {len(sizes)}; {means} %"
