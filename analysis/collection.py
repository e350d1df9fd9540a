"""Campaign folders as one table with a row for each attempt, and what is missing in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.arms import (
    COUNTS,
    FLAGS,
    WORDS,
    Fault,
    arms_in,
    factors_of,
    faults_in,
    notes_on_arms,
    without,
)
from analysis.attempt import COUNTED, SPANS, read_result, words, writable
from analysis.hazards import hazards_of, warnings
from analysis.routes import Way, geometries, read_ways
from analysis.statistics.intervals import FEWEST
from harness.errors import UserError
from harness.records.arms import CORE, Arm, telling
from harness.records.keys import AttemptKey
from harness.records.ledger import key_of as ledger_key
from harness.records.ledger import lines
from harness.records.reading import Campaign

KEY = ["arm", "route", "seed"]
OF_COLLECTION = ("campaign", "cluster", "try")
FREE = {
    "out",
    "dry_run",
    "executor",
    "progress",
    "attempts_per_route",
    "attempt_timeout",
    "retry_failed",
}
"""Settings that say nothing about results."""
UNKNOWN = "?"
"""The town of a route that is not in its campaign's folder."""
MISSING = [*KEY, "campaign", "ending", "message"]
WARNING = "warning:"
"""How the notes begin that stand above everything else."""


@dataclass(frozen=True, eq=False)
class Collection:
    """What is known of some campaigns."""

    campaigns: tuple[Campaign, ...]
    attempts: pd.DataFrame  # a row for each result; `cluster` is the route's geometry
    missing: pd.DataFrame  # planned attempts without result, and how their last try ended
    notes: tuple[str, ...]  # what a reader of any table should know
    looked: Callable[[], None] = lambda: None  # told of each attempt that somebody went through
    faults: tuple[Fault, ...] = ()  # arms that are left out

    @property
    def folder(self) -> Path:
        """The first campaign's folder: reports go there."""
        return self.campaigns[0].folder

    def each(self) -> Iterator[tuple[int, Campaign, AttemptKey]]:
        """Yield every attempt's row, campaign and key."""
        columns = (self.attempts[name] for name in ("campaign", *KEY))
        for row, (campaign, *key) in enumerate(zip(*columns, strict=True)):
            yield row, self.campaigns[campaign], key_of(*key)
            self.looked()

    @property
    def exit_code(self) -> int:
        """What a command about it ends with: 1 if it names an arm that shows nothing."""
        return 1 if self.faults else 0

    @cached_property
    def arms(self) -> list[Arm]:
        """The arms, those without any result too."""
        return sorted({*arms_in(self.attempts), *arms_in(self.missing)})

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors that tell its arms apart: columns of the attempts."""
        return telling(self.arms)


def key_of(arm: str, route: str, seed: int) -> AttemptKey:
    """Return the attempt of a row."""
    return AttemptKey(Arm.parse(arm), route, seed)


def row_key(key: AttemptKey) -> tuple[str, str, int]:
    """Return an attempt as rows name it."""
    return str(key.arm), key.route, key.seed


def collect(folders: Sequence[Path], mixed: bool = False, pooled: bool = True) -> Collection:
    """Read campaigns; carlite and CARLA are pooled only if `mixed` says so.

    Where folders are not pooled, but held against each other, two may hold the same attempt.
    """
    campaigns = tuple(Campaign(folder) for folder in folders)
    finished = [campaign.attempts() for campaign in campaigns]
    ways = [read_ways(folder) for folder in folders]
    clusters = clusters_of(ways)
    factors = factors_of(key.arm for own in finished for key in own)
    rows = [
        {
            "campaign": index,
            "cluster": clusters.get((index, key.route), f"{UNKNOWN}/{key.route}"),
            "try": int(place.name.removeprefix("try")),
            **with_factors(key, read_result(campaign, key), factors, campaign),
        }
        for index, campaign in enumerate(campaigns)
        for key, place in sorted(finished[index].items())
    ]
    attempts = pd.DataFrame(rows) if rows else nothing_yet()
    if pooled:
        refuse_doubles(attempts, folders)
    refuse_mixture(attempts, mixed)
    missing = [
        each
        for index, campaign in enumerate(campaigns)
        for each in missing_in(index, campaign, finished[index], [way.name for way in ways[index]])
    ]
    faults = faults_in(attempts, together=pooled)
    attempts = without(attempts, faults)
    lacking = without(pd.DataFrame(missing, columns=MISSING), faults)
    notes = (*notes_on_arms(attempts, faults), *notes_on(campaigns, attempts, lacking, ways))
    return Collection(
        campaigns,
        attempts,
        lacking,
        tuple(sorted(notes, key=lambda note: not note.startswith(WARNING))),
        faults=faults,
    )


def with_factors(
    key: AttemptKey, row: Mapping[str, Any], factors: Sequence[str], campaign: Campaign
) -> dict[str, Any]:
    """Return an attempt's row with the values of its factors behind the name of its arm."""
    if taken := [name for name in factors if name in {*row, *OF_COLLECTION}]:
        raise UserError(f"{campaign.folder}: a factor is called {taken[0]}, as a column is")
    told = {name: words(key.arm[name]) for name in factors}
    return {"arm": row["arm"], **told, **row}


def nothing_yet() -> pd.DataFrame:
    """Return the table of a campaign without any result."""
    texts = ("cluster", "arm", *CORE, "route", "simulator", "violation", "violation_with")
    words = {name: pd.Series(dtype=str) for name in (*texts, *WORDS)}
    truths = ("violated", "collided", "collided_with_road_user", "ego_stationary", *FLAGS)
    flags = {name: pd.Series(dtype=bool) for name in truths}
    whole = {name: pd.Series(dtype=int) for name in ("campaign", "seed", "try", *COUNTS)}
    other: tuple[str, ...] = ("driving_score", "completion", "violation_time", "duration")
    other += ("ap", "ap_ego_alone", "ap_end_10s", "ap_ego_alone_end_10s")
    counts = tuple(f"{name}_{span}" for span in SPANS for name in COUNTED)
    hazards = {name: pd.Series(dtype=type(each)) for name, each in hazards_of([]).items()}
    words |= hazards
    return pd.DataFrame(words | flags | whole | {n: pd.Series(dtype=float) for n in other + counts})


def clusters_of(ways: Sequence[Sequence[Way]]) -> dict[tuple[int, str], str]:
    """Return the geometry of every campaign's every route."""
    flat = [(index, way) for index, own in enumerate(ways) for way in own]
    names = geometries([way for _, way in flat])
    return {(index, way.name): name for (index, way), name in zip(flat, names, strict=True)}


def refuse_doubles(attempts: pd.DataFrame, folders: Sequence[Path]) -> None:
    """Refuse folders that hold the same attempt: nobody could say which of the two counts.

    Where a folder has no routes its town is not known, and might be any.
    """
    place = attempts["cluster"].str.partition("/")[0] if len(attempts) else attempts["cluster"]
    twice = attempts.assign(town=place).duplicated(["town", *KEY])
    twice |= (place == UNKNOWN) & attempts.duplicated(KEY, keep=False)
    if twice.any():
        key = key_of(*attempts.loc[twice, KEY].iloc[0])
        raise UserError(f"{', '.join(map(str, folders))}: {key} is in more than one; name one")


def refuse_mixture(attempts: pd.DataFrame, mixed: bool) -> None:
    """Refuse to pool records of different simulators unless told."""
    kinds = sorted({name.partition(" ")[0] for name in attempts["simulator"]})
    if len(kinds) > 1 and not mixed:
        raise UserError(
            f"records of {' and '.join(kinds)}: what they measure differs; analyse them one by one,"
            " or pool them with --mix-simulators"
        )


def settings_of(campaign: Campaign) -> Mapping[str, Any]:
    """Return the settings a campaign was made with."""
    settings: Any = campaign.header.get("settings")
    whole = (
        isinstance(settings, dict)
        and isinstance(settings.get("system"), dict)
        and isinstance(settings.get("seeds"), list)
        and all(isinstance(seed, int) for seed in settings["seeds"])
    )
    if not whole:
        raise UserError(f"{campaign.folder / 'campaign.yaml'}: not a campaign's settings")
    found: dict[str, Any] = settings
    return found


def missing_in(
    index: int, campaign: Campaign, finished: Mapping[AttemptKey, Path], routes: Sequence[str]
) -> Iterator[dict[str, object]]:
    """Yield what was planned, by the arms that were ever tried, and has no result."""
    last = {ledger_key(line): line for line in lines(campaign.folder)}
    arms = sorted({key.arm for key in (*finished, *last)})
    seeds = settings_of(campaign)["seeds"]
    planned = {AttemptKey(arm, route, seed) for arm in arms for route in routes for seed in seeds}
    for key in sorted((planned | set(last)) - set(finished)):
        line = last.get(key, {"failure": "not tried yet", "message": ""})
        yield {
            "arm": writable(str(key.arm)),
            "route": writable(key.route),
            "seed": key.seed,
            "campaign": index,
            "ending": writable(line["failure"] or "done, but its records are gone"),
            "message": writable(line["message"]),
        }


def notes_on(
    campaigns: Sequence[Campaign],
    attempts: pd.DataFrame,
    missing: pd.DataFrame,
    ways: Sequence[Sequence[Way]],
) -> Iterator[str]:
    """Yield what a reader of any table should know."""
    yield from warnings(attempts)
    for campaign, own in zip(campaigns, ways, strict=True):
        if not own:
            yield f"{campaign.folder}: no routes in it; each route's name counts as a geometry"
    if not len(attempts):
        yield "no attempt has a result"
    if len(missing):
        endings = Counter(map(str, missing["ending"]))
        told = ", ".join(f"{count} {ending}" for ending, count in endings.most_common())
        yield f"{len(missing)} of {len(missing) + len(attempts)} attempts have no result: {told}"
    tried = {arm.system for arm in arms_in(missing)} | set(attempts["system"])
    for campaign in campaigns:
        for name in sorted(set(map(str, settings_of(campaign)["system"])) - tried - {"checkpoint"}):
            yield f"{campaign.folder}: nothing of the system {name} was tried"
    routes = attempts["cluster"].nunique()
    if 1 < routes < FEWEST:
        yield f"{routes} routes: intervals that resample them cover less than 95 %"
    again = int((attempts["try"] > 1).sum())
    if again:
        yield f"{again} results are of a second or later try"
    digests = {str(campaign.header.get("digest")) for campaign in campaigns}
    if len(digests) > 1:
        yield f"settings differ between the folders: {', '.join(differing(campaigns))}"
    struck = int(attempts["ego_stationary"].sum())
    if struck:
        yield f"{struck} violations are of an ego that stood and was struck"


def differing(campaigns: Sequence[Campaign]) -> list[str]:
    """Return which settings, by their groups, are not the same in all folders."""
    settings = [settings_of(campaign) for campaign in campaigns]
    names = dict.fromkeys(name for each in settings for name in each if name not in FREE)
    unlike = [name for name in names if any(e.get(name) != settings[0].get(name) for e in settings)]
    return unlike or ["nothing that the folders tell"]
