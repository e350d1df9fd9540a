"""Campaign folders as one table with a row for each attempt, and what is missing in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from analysis import broken
from analysis.arms import (
    MESSAGE_COUNTS,
    MESSAGE_FLAGS,
    MESSAGE_TEXTS,
    ArmFault,
    collect_factors,
    describe_arm_problems,
    drop_faulty_arms,
    find_arm_faults,
    list_arms,
)
from analysis.attempt import COUNTED, METRIC_UNITS, SPANS, check_text, escape_surrogates
from analysis.broken import BrokenRecord, read_record
from analysis.campaign_labels import (
    CAMPAIGN,
    UNKNOWN_TOWN,
    add_campaign_labels,
    label_campaigns,
    parse_attempt_key,
)
from analysis.campaign_notes import WARNING_PREFIX, describe_campaigns
from analysis.hazards import describe_hazards_not_run, make_hazard_columns
from analysis.routes import RouteWay, read_route_ways, resolve_geometries
from analysis.statistics.intervals import FEWEST_RESAMPLED_ROUTES
from analysis.surrogates import ALONG, REACHED, SURROGATE_COLUMNS, add_oracle_columns
from harness.common.errors import UserError
from harness.common.progress_bar import EstimatedBar
from harness.records.arms import CORE, Arm, list_varying_factors
from harness.records.decided import DECIDED_BY
from harness.records.keys import AttemptKey
from harness.records.ledger import get_line_key as ledger_key
from harness.records.ledger import iter_ledger_lines
from harness.records.reading import CampaignRecords
from harness.types.record_names import IRRELEVANT_SETTINGS

ATTEMPT_KEY = ["arm", "route", "seed"]
CASE = "case"
"""The column with the number of a violation in its campaign; 0 for none."""
RESERVED = ("source", "cluster", "try", CASE, CAMPAIGN)
NO_RESULT = "no attempt has a result"
FEW_ROUTES = "intervals that resample them cover less than 95 %"
"""How the note on few routes ends; it says nothing where no interval is shown."""
UNPACKED = "unpacked, so that what needs boxes, messages or tracks is left out of all tables"
MISSING = [*ATTEMPT_KEY, "source", "ending", "message"]


@dataclass(frozen=True, eq=False, kw_only=True)
class CampaignCollection:
    """Campaigns, read: attempts with results, missing attempts, notes."""

    campaigns: tuple[CampaignRecords, ...]
    attempts: pd.DataFrame  # a row for each result; `cluster` is the route's geometry
    missing: pd.DataFrame  # planned attempts without result, and how their last try ended
    notes: tuple[str, ...]  # notes for readers of any table
    on_attempt: Callable[[], None] = lambda: None  # called for each attempt that is read
    faults: tuple[ArmFault, ...] = ()  # arms that are left out
    labels: tuple[str, ...] = ()  # of campaigns that are compared: values of their factor
    left_out: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=broken.COLUMNS))
    """Attempts with broken records, and their pair partners."""

    @property
    def folder(self) -> Path:
        """The first campaign's folder: reports go there."""
        return self.campaigns[0].folder

    def iterate_attempts(self) -> Iterator[tuple[int, CampaignRecords, AttemptKey]]:
        """Yield every attempt's row, campaign and key."""
        columns = (self.attempts[name] for name in ("source", *ATTEMPT_KEY))
        for row, (campaign, *key) in enumerate(zip(*columns, strict=True)):
            yield row, self.campaigns[campaign], parse_attempt_key(*key)
            self.on_attempt()

    @property
    def exit_code(self) -> int:
        """The exit code of a command about it: 1 if an arm is faulty or a record broken."""
        return 1 if self.faults or len(self.left_out) else 0

    @cached_property
    def arms(self) -> list[Arm]:
        """The arms, those without any result too."""
        return sorted(
            {*list_arms(self.attempts), *list_arms(self.missing), *list_arms(self.left_out)}
        )

    @cached_property
    def packed(self) -> bool:
        """Whether any of its campaigns was unpacked: tables of boxes and messages are left out."""
        return any(campaign.packed for campaign in self.campaigns)

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors that distinguish its arms: columns of the attempts."""
        return list_varying_factors(self.arms)


def make_row_key(key: AttemptKey) -> tuple[str, str, int]:
    """Return an attempt as rows name it."""
    return str(key.arm), key.route, key.seed


def collect_campaigns(
    folders: Sequence[Path],
    mixed: bool = False,
    *,
    pooled: bool = True,
    whole: bool = False,
    partners: bool = False,
    bar: EstimatedBar | None = None,
) -> CampaignCollection:
    """Read campaigns; carlite and CARLA are pooled only if `mixed` is true.

    Folders that hold the same attempt are compared: their arms get a further factor. Without
    `pooled` they get none, and who asks keeps them apart. With `whole`, all tables of every record
    are checked, not its result alone. Pair partners of broken records stay only with `partners`.

    Args:
        folders: of campaigns, each once.
        mixed: whether records of different simulators may be pooled.
        pooled: whether folders with the same attempts are compared with each other.
        whole: whether every table of every attempt is checked.
        partners: whether pair partners of broken records stay.
        bar: that shows how many results were read; None: nothing is shown.

    Raises:
        UserError: folders that cannot be read together.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError(f"{', '.join(map(str, folders))}: the same folder twice; give it once")
    # what there is: attempts with results, and routes by their geometry
    campaigns = tuple(CampaignRecords(folder) for folder in folders)
    finished = [campaign.find_attempts() for campaign in campaigns]
    ways = [read_route_ways(folder) for folder in folders]
    clusters = resolve_route_clusters(ways)
    factors = collect_factors(key.arm for attempts in finished for key in attempts)
    # a row for each result; broken records and their partners leave the table
    if bar is not None:
        bar.begin_stage("results", sum(map(len, finished)))
    on_result = bar.advance if bar is not None else ignore_result
    rows, problems = read_attempt_rows(
        campaigns, finished, clusters, whole=whole, on_result=on_result
    )
    rows = [add_factor_values(row, factors, campaigns) for row in rows]
    attempts = number_violations(pd.DataFrame(rows) if rows else make_empty_attempts())
    attempts, left_out = drop_broken_attempts(attempts, problems, partners=partners)
    # folders with the same attempts get a further factor
    labels = label_campaigns(campaigns, finished, clusters) if pooled else ()
    attempts, left_out = (
        add_campaign_labels(frame, labels, factors) for frame in (attempts, left_out)
    )
    refuse_mixed_simulators(attempts, mixed)
    # planned attempts without a result, and arms that show nothing
    missing = [
        row
        for index, campaign in enumerate(campaigns)
        for row in list_missing_attempts(
            index, campaign, finished[index], [way.name for way in ways[index]]
        )
    ]
    lacking = add_campaign_labels(pd.DataFrame(missing, columns=MISSING), labels)
    faults = find_arm_faults(attempts, together=pooled)
    attempts = add_oracle_columns(drop_faulty_arms(attempts, faults))
    lacking = drop_faulty_arms(lacking, faults)
    lines = (f"{WARNING_PREFIX} {line}" for line in broken.describe_left_out(left_out))
    # what a reader of any table must know, warnings first
    notes = (*lines, *describe_arm_problems(attempts, faults))
    notes += (*list_collection_notes(campaigns, attempts, lacking, ways=ways, left_out=left_out),)
    return CampaignCollection(
        campaigns=campaigns,
        attempts=attempts,
        missing=lacking,
        notes=tuple(sorted(notes, key=lambda note: not note.startswith(WARNING_PREFIX))),
        faults=faults,
        left_out=left_out,
        labels=labels,
    )


def ignore_result() -> None:
    """Show nothing."""


def read_attempt_rows(
    campaigns: Sequence[CampaignRecords],
    finished: Sequence[Mapping[AttemptKey, Path]],
    clusters: Mapping[tuple[int, str], str],
    *,
    whole: bool,
    on_result: Callable[[], None],
) -> tuple[list[dict[str, Any]], list[BrokenRecord]]:
    """Return a row for each result that can be read, and the broken records."""
    rows: list[dict[str, Any]] = []
    problems = []
    for index, campaign in enumerate(campaigns):
        for key, place in sorted(finished[index].items()):
            cluster = clusters.get((index, key.route), f"{UNKNOWN_TOWN}/{key.route}")
            row, reason = read_record(campaign, key, whole=whole)
            if row is not None:
                number = int(place.name.removeprefix("try"))
                rows.append({**row, "source": index, "cluster": cluster, "try": number})
            if reason:
                problems.append(
                    BrokenRecord(campaign=index, cluster=cluster, key=key, reason=reason)
                )
            on_result()
    return rows, problems


def drop_broken_attempts(
    attempts: pd.DataFrame, problems: Sequence[BrokenRecord], *, partners: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the attempts that remain, and the table of those that are left out."""
    keys = {(item.campaign, *make_row_key(item.key)) for item in problems}
    names = zip(*(attempts[name] for name in ("source", *ATTEMPT_KEY)), strict=True)
    bad = pd.Series([name in keys for name in names], dtype=bool).to_numpy()
    alike = broken.match_broken_places(attempts, problems) & ~bad & (not partners)
    return (
        attempts[~bad & ~alike].reset_index(drop=True),
        broken.build_left_out_table(problems, attempts[alike]),
    )


def number_violations(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return attempts with the numbers of their violations, counted in each campaign."""
    violated = attempts["violated"].astype(int)
    numbers = violated.groupby(attempts["source"]).cumsum() * violated
    return attempts.assign(**{CASE: numbers.astype(int)})


def add_factor_values(
    row: Mapping[str, Any], factors: Sequence[str], campaigns: Sequence[CampaignRecords]
) -> dict[str, Any]:
    """Return an attempt's row with the values of its factors behind the name of its arm."""
    if taken := [name for name in factors if name in {*row, *RESERVED}]:
        folder = campaigns[row["source"]].folder
        raise UserError(f"{folder}: factor {taken[0]}: the name is reserved for a column")
    arm = Arm.parse_name(row["arm"])
    places = {name: row[name] for name in ("source", "cluster", "try")}
    values = {name: check_text(arm[name]) for name in factors}
    return {**places, "arm": row["arm"], **values, **row}


def make_empty_attempts() -> pd.DataFrame:
    """Return the table of a campaign without any result."""
    texts = ("cluster", "arm", *CORE, "route", "simulator", "violation", "violation_with", "fusion")
    words = {name: pd.Series(dtype=str) for name in (*texts, *MESSAGE_TEXTS, METRIC_UNITS)}
    truths = ("violated", "collided", "collided_with_road_user", "ego_stationary", *MESSAGE_FLAGS)
    flags = {name: pd.Series(dtype=bool) for name in truths}
    whole = {name: pd.Series(dtype=int) for name in ("source", "seed", "try", *MESSAGE_COUNTS)}
    other: tuple[str, ...] = ("driving_score", "completion", "route_length")
    other += ("violation_time", "duration")
    other += ("ap", "ap_ego_alone", "ap_end_10s", "ap_ego_alone_end_10s")
    counts = tuple(f"{name}_{span}" for span in SPANS for name in COUNTED)
    hazards = {
        name: pd.Series(dtype=type(value)) for name, value in make_hazard_columns([]).items()
    }
    words |= {**hazards, REACHED: pd.Series(dtype=str), ALONG: pd.Series(dtype=str)}
    other += (*counts, *SURROGATE_COLUMNS)
    return pd.DataFrame(words | flags | whole | {n: pd.Series(dtype=float) for n in other})


def resolve_route_clusters(ways: Sequence[Sequence[RouteWay]]) -> dict[tuple[int, str], str]:
    """Return the geometry of every campaign's every route."""
    flat = [(index, way) for index, campaign_ways in enumerate(ways) for way in campaign_ways]
    names = resolve_geometries([way for _, way in flat])
    return {(index, way.name): name for (index, way), name in zip(flat, names, strict=True)}


def refuse_duplicate_attempts(attempts: pd.DataFrame, folders: Sequence[Path]) -> None:
    """Refuse folders that hold the same attempt twice.

    Where a folder has no routes its town is not known, and might be any.
    """
    place = attempts["cluster"].str.partition("/")[0] if len(attempts) else attempts["cluster"]
    twice = attempts.assign(town=place).duplicated(["town", *ATTEMPT_KEY])
    twice |= (place == UNKNOWN_TOWN) & attempts.duplicated(ATTEMPT_KEY, keep=False)
    if twice.any():
        key = parse_attempt_key(*attempts.loc[twice, ATTEMPT_KEY].iloc[0])
        raise UserError(
            f"{', '.join(map(str, folders))}: {key} is in more than one folder; give one"
        )


def refuse_mixed_simulators(attempts: pd.DataFrame, mixed: bool) -> None:
    """Refuse to pool records of different simulators unless allowed."""
    kinds = sorted({name.partition(" ")[0] for name in attempts["simulator"]})
    if len(kinds) > 1 and not mixed:
        raise UserError(
            f"records of {' and '.join(kinds)}: what they measure differs; analyse them one by one,"
            " or pool them with --mix-simulators"
        )


def get_campaign_settings(campaign: CampaignRecords) -> Mapping[str, Any]:
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
    checked: dict[str, Any] = settings
    return checked


def list_missing_attempts(
    index: int,
    campaign: CampaignRecords,
    finished: Mapping[AttemptKey, Path],
    routes: Sequence[str],
) -> Iterator[dict[str, object]]:
    """Yield the planned attempts without result, of all arms that were tried."""
    # the last line of the ledger counts
    last = {ledger_key(line): line for line in iter_ledger_lines(campaign.folder)}
    arms = sorted({key.arm for key in (*finished, *last)})
    seeds = get_campaign_settings(campaign)["seeds"]
    planned = {AttemptKey(arm, route, seed) for arm in arms for route in routes for seed in seeds}
    # of sampled routes, only those that were sampled were planned
    if DECIDED_BY in campaign.header:
        planned = set()
    for key in sorted((planned | set(last)) - set(finished)):
        line = last.get(key, {"failure": "not tried yet", "message": ""})
        yield {
            "arm": escape_surrogates(str(key.arm)),
            "route": escape_surrogates(key.route),
            "seed": key.seed,
            "source": index,
            "ending": escape_surrogates(line["failure"] or "done, but its records are missing"),
            "message": escape_surrogates(line["message"]),
        }


def list_collection_notes(
    campaigns: Sequence[CampaignRecords],
    attempts: pd.DataFrame,
    missing: pd.DataFrame,
    *,
    ways: Sequence[Sequence[RouteWay]],
    left_out: pd.DataFrame,
) -> Iterator[str]:
    """Yield notes for readers of any table."""
    # what could not be read, or was not run
    yield from describe_hazards_not_run(attempts)
    yield from describe_campaigns(campaigns)
    for campaign, campaign_ways in zip(campaigns, ways, strict=True):
        if not campaign_ways:
            yield f"{campaign.folder}: no routes folder; each route name counts as one geometry"
    if packed := [campaign.folder for campaign in campaigns if campaign.packed]:
        several = f"{len(packed)} of {len(campaigns)} folders"
        yield f"{packed[0] if len(packed) == 1 else several}: {UNPACKED}"
    if not len(attempts):
        yield NO_RESULT
    # what is missing
    if len(missing):
        endings = Counter(map(str, missing["ending"]))
        counts = ", ".join(f"{count} {ending}" for ending, count in endings.most_common())
        planned = len(missing) + len(attempts) + len(left_out)
        verb = "has" if len(missing) == 1 else "have"
        yield f"{len(missing)} of {planned} attempts {verb} no result: {counts}"
    tried = {arm.system for arm in (*list_arms(missing), *list_arms(left_out))}
    tried |= set(attempts["system"])
    for campaign in campaigns:
        for name in sorted(
            set(map(str, get_campaign_settings(campaign)["system"])) - tried - {"checkpoint"}
        ):
            yield f"{campaign.folder}: system {name} has no attempt"
    # what weakens the numbers
    routes = attempts["cluster"].nunique()
    if 1 < routes < FEWEST_RESAMPLED_ROUTES:
        yield f"{routes} routes: {FEW_ROUTES}"
    again = int((attempts["try"] > 1).sum())
    if again:
        yield f"{again} results are from a second or later try"
    digests = {str(campaign.header.get("digest")) for campaign in campaigns}
    if len(digests) > 1:
        yield (
            f"settings differ between the folders: {', '.join(list_differing_settings(campaigns))}"
        )
    struck = int(attempts["ego_stationary"].sum())
    if struck:
        yield f"{struck} violations are of a stationary ego"


def list_differing_settings(campaigns: Sequence[CampaignRecords]) -> list[str]:
    """Return which settings, by their groups, are not the same in all folders."""
    settings = [get_campaign_settings(campaign) for campaign in campaigns]
    names = dict.fromkeys(
        name for group in settings for name in group if name not in IRRELEVANT_SETTINGS
    )
    unlike = [name for name in names if any(e.get(name) != settings[0].get(name) for e in settings)]
    return unlike or ["none that the folders record"]
