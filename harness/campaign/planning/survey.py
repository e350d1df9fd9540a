"""What a campaign folder holds by now: read from its records and its ledger, nothing is touched."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.campaign.folder.assignments import FOLDER as ROUTES
from harness.campaign.folder.assignments import list_assigned_routes
from harness.campaign.folder.campaign_folder import OURS, load_campaign_header
from harness.campaign.folder.summary import AttemptSummary, compute_mean_value, read_summaries
from harness.campaign.planning.plan import build_arms, check_seeds, pair_attempts
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import list_fleets
from harness.campaign.settings.trust import refuse_untrusted
from harness.campaign.settings.type_checks import find_type_mistakes
from harness.common.errors import UserError
from harness.common.locks import lock_file
from harness.records.arms import Arm
from harness.records.decided import DECIDE_FILE, DECIDED_BY
from harness.records.keys import AttemptKey
from harness.records.ledger import LEDGER, get_line_key, parse_ledger_line, read_written_lines
from harness.records.message_usage import find_arm_fault
from harness.records.reading import CampaignRecords
from harness.records.writing import EPISODES, FILMS

OF_A_SEARCH = ("search", "confirm", "shrink")
OF_TWINS = ("twins", "critical")
OF_DECIDE = (DECIDE_FILE, "generated")
KNOWN = (
    "campaign.yaml",
    LEDGER,
    EPISODES,
    ROUTES,
    "logs",
    "report",
    FILMS,
    *OF_TWINS,
    *OF_A_SEARCH,
    *OF_DECIDE,
)
"""What belongs into a campaign folder."""
ONLY_NAMED = ("system", "partners", "simulator", "executor", "export")
"""Groups of the settings whose classes a survey never builds."""
NEVER_WAITS = os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags for a lock that could be a link or a pipe."""
LAST_LINES = 5
"""Of a server's log, for each class of failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedMeans:
    """What some attempts came to, and how far seeds are apart."""

    attempts: int
    driving_score: float  # mean, 0 to 100
    collision_rate: float  # % of attempts
    time_to_goal: float | None  # mean s of the attempts that reached the goal, if any did
    driving_scores: dict[int, float]  # mean by seed
    collision_rates: dict[int, float]  # % by seed


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmProgress:
    """How far one arm is."""

    arm: Arm
    planned: int
    final: SeedMeans | None  # over all that is done
    first: SeedMeans | None  # over what was done at the first try
    without_messages: int = 0  # attempts in which the system was given none
    fault: str | None = None  # why the arm does not show what it is called after


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSummary:
    """All tries that failed for one reason.

    Attributes:
        failure: its class.
        tries: how many failed so.
        message: of the last one.
    """

    failure: str
    tries: int
    without_result: int  # attempts that failed so at last, and have no result yet
    last: str  # attempt
    message: str
    server: tuple[str, ...]  # last lines of its log


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSurvey:
    """How far a campaign is.

    Attributes:
        at_work: whether a runner has locked the folder.
        planned: attempts.
        done: attempts with a result.
    """

    folder: Path
    study: str
    simulator: str
    at_work: bool
    planned: int
    done: int
    arms: tuple[ArmProgress, ...]
    tries: dict[int, int]  # attempts by how often they were tried
    failures: tuple[FailureSummary, ...]
    missing: dict[str, str]  # attempts without result, and how the last try ended
    troubles: tuple[str, ...]  # broken or foreign files in the folder


def survey_campaign(folder: Path, trust: bool = False) -> CampaignSurvey:
    """Read a campaign folder; broken parts are listed, and the rest is read.

    Args:
        folder: of the campaign, running or finished.
        trust: build classes that are not declared safe.

    Returns:
        What is done, missing and broken.
    """
    campaign = CampaignRecords(folder)
    header = load_campaign_header(folder / "campaign.yaml")
    # results in the folders, tries in the ledger, attempts of the plan
    there = campaign.find_attempts()
    tries, troubles = read_ledger_lines(folder)
    seen = sorted({*there, *tries})
    planned, unknown = list_planned_attempts(folder, header, seen, trust)
    summaries, broken = read_summaries(campaign, [key for key in planned if key in there])
    # what does not fit together; each is a line
    troubles += unknown
    troubles += [
        f"{problem}; remove its folder, and it is driven again" for problem in broken.values()
    ]
    troubles += find_foreign_files(folder)
    if unplanned := set(there).difference(planned):
        troubles.append(f"{len(unplanned)} results were never planned: {min(unplanned)}, ...")
    # how the last try of each ended
    missing = {
        str(key): describe_last_ending(tries.get(key)) for key in planned if key not in there
    }
    at_first = {key for key in there if there[key].name == "try1"}
    return CampaignSurvey(
        folder=folder,
        study=get_study_name(folder, header["settings"]),
        simulator=str(header.get("simulator")),
        at_work=is_campaign_running(folder),
        planned=len(planned),
        done=len(planned) - len(missing),
        arms=tuple(
            summarize_arms(planned, summaries, at_first, compared=not has_single_attempts(header))
        ),
        tries=dict(sorted(Counter(map(len, tries.values())).items())),
        failures=tuple(group_failures(tries, set(there))),
        missing=missing,
        troubles=tuple(troubles),
    )


def get_study_name(folder: Path, settings: CampaignSettings) -> str:
    """Return what a campaign's study is called."""
    study = settings.get("study")
    if not isinstance(study, dict):
        raise UserError(f"{folder / 'campaign.yaml'}: not a campaign's settings (study is {study})")
    return str(study.get("name"))


def describe_last_ending(tries: Sequence[dict[str, Any]] | None) -> str:
    """Return how an attempt without result ended when it was last tried."""
    if not tries:
        return "not tried yet"
    return tries[-1]["failure"] or "done, but its records are missing"


def list_planned_attempts(
    folder: Path, header: dict[str, Any], seen: Sequence[AttemptKey], trust: bool
) -> tuple[tuple[AttemptKey, ...], list[str]]:
    """Return the attempts that a folder was made for: its routes, with its seeds and arms.

    Where a system's class is not at hand, or seeds are invalid, they are those that were seen; also
    where the settings name a class that may not be built without trust. Twins, and evaluations of
    a search, are driven one by one: they are those that were seen, too. So are the pairs that
    `crucible decide` samples.
    """
    if has_single_attempts(header) or DECIDED_BY in header:
        return tuple(seen), []
    settings: CampaignSettings = header["settings"]
    troubles: list[str] = []
    arms = sorted({key.arm for key in seen})
    seeds: Sequence[int] = sorted({key.seed for key in seen})
    # seeds and arms need classes of the settings, which may be missing or not trusted
    try:
        seeds = check_seeds(settings)
        refuse_unnamed(settings)
        if not trust:
            built = {name: part for name, part in settings.items() if name not in ONLY_NAMED}
            refuse_untrusted(folder, built)
        arms, _ = build_arms(settings)
    except UserError as problem:
        troubles.append(f"{problem}; planned is what the folder shows")
    except (KeyError, TypeError, AttributeError) as problem:
        file = folder / "campaign.yaml"
        raise UserError(f"{file}: not a campaign's settings ({problem!r})") from None
    try:
        # routes are files of the folder
        routes = sorted(list_assigned_routes(folder), key=make_number_sort_key)
    except OSError:
        routes = []
        troubles.append(f"{folder / ROUTES}: cannot be read; the planned attempts are unknown")
    return pair_attempts(routes, seeds, arms), troubles


def has_single_attempts(header: Mapping[str, Any]) -> bool:
    """Return whether a folder holds twins or a search: attempts that no plan lists."""
    return "twins_of" in header or "search" in header


def refuse_unnamed(settings: CampaignSettings) -> None:
    """Refuse names of factors that are no words: no attempt is called so."""
    groups = {
        "system": settings["system"],
        "cooperation": settings["cooperation"],
        "interference": settings["interference"],
        "intervention": settings.get("intervention", {}),
        "driver": settings.get("driver", {}),
        "link": settings.get("link", {}),
        "message_format": settings.get("message_format", {}),
        "attack": settings.get("attack", {}),
        "defence": settings.get("defence", {}),
        "compensate": settings.get("compensate", {}),
        "brakes": settings.get("brakes", {}),
        "compute": settings.get("compute", {}),
        "partners": list_fleets(settings),
    }
    for group, named in groups.items():
        for mistake in find_type_mistakes(named, dict[str, Any], group):
            raise UserError(f"configuration: {mistake}")


def make_number_sort_key(name: str) -> tuple[int, str]:
    """Return what sorts names as people do: 9 before 10."""
    return (len(name), name) if name.isdecimal() else (1 << 30, name)


def read_ledger_lines(folder: Path) -> tuple[dict[AttemptKey, list[dict[str, Any]]], list[str]]:
    """Return the lines of every attempt, and a note on lines that cannot be read."""
    tries: dict[AttemptKey, list[dict[str, Any]]] = defaultdict(list)
    torn = count = 0
    for text in read_written_lines(folder):
        count += 1
        line = parse_ledger_line(text)
        if line is None:
            torn += 1
            continue
        key = get_line_key(line)
        tries[key].append(line)
    trouble = f"{folder / LEDGER}: {torn} of {count} lines cannot be read"
    return dict(tries), [trouble] if torn else []


def summarize_arms(
    planned: Sequence[AttemptKey],
    summaries: Mapping[AttemptKey, AttemptSummary],
    at_first: set[AttemptKey],
    compared: bool,
) -> Iterable[ArmProgress]:
    """Yield every arm; twins, driven one by one, are not compared as arms."""
    groups: dict[Arm, list[AttemptKey]] = defaultdict(list)
    for key in planned:
        groups[key.arm].append(key)
    for arm, keys in groups.items():
        final = {key: summaries[key] for key in keys if key in summaries}
        first = {key: attempt for key, attempt in final.items() if key in at_first}
        silent = sum(attempt.usage.without_messages for attempt in final.values())
        fault = find_arm_fault([attempt.usage for attempt in final.values()]) if compared else None
        yield ArmProgress(
            arm=arm,
            planned=len(keys),
            final=compute_seed_means(final),
            first=compute_seed_means(first),
            without_messages=silent,
            fault=fault,
        )


def compute_seed_means(summaries: Mapping[AttemptKey, AttemptSummary]) -> SeedMeans | None:
    """Return means over all, and over each seed."""
    if not summaries:
        return None
    by_seed: dict[int, list[AttemptSummary]] = defaultdict(list)
    for key, summary in summaries.items():
        by_seed[key.seed].append(summary)
    scores = {
        seed: compute_mean_value(attempt.driving_score for attempt in of_seed)
        for seed, of_seed in by_seed.items()
    }
    rates = {
        seed: 100 * compute_mean_value(attempt.collided for attempt in of_seed)
        for seed, of_seed in by_seed.items()
    }
    # an attempt that missed the goal has no time to it
    times = [one.time_to_goal for one in summaries.values() if not math.isnan(one.time_to_goal)]
    return SeedMeans(
        attempts=len(summaries),
        driving_score=compute_mean_value(summary.driving_score for summary in summaries.values()),
        collision_rate=100 * compute_mean_value(summary.collided for summary in summaries.values()),
        time_to_goal=compute_mean_value(times) if times else None,
        driving_scores=scores,
        collision_rates=rates,
    )


def group_failures(
    tries: Mapping[AttemptKey, Sequence[dict[str, Any]]], there: set[AttemptKey]
) -> Iterable[FailureSummary]:
    """Yield the classes of failure, the most frequent first."""
    groups: dict[str, list[tuple[AttemptKey, dict[str, Any]]]] = defaultdict(list)
    lost: Counter[str] = Counter()
    # a try that failed, and attempts whose last try failed
    for key, of_attempt in tries.items():
        for line in of_attempt:
            if line["failure"] is not None:
                groups[line["failure"]].append((key, line))
        if key not in there and of_attempt[-1]["failure"] is not None:
            lost[of_attempt[-1]["failure"]] += 1
    for failure, failed in sorted(groups.items(), key=lambda group: -len(group[1])):
        key, line = failed[-1]
        server = next((line["server"] for _, line in reversed(failed) if line["server"]), "")
        # the last lines that a server printed, of the last try that has any
        end = tuple(server.strip().splitlines()[-LAST_LINES:])
        yield FailureSummary(
            failure=failure,
            tries=len(failed),
            without_result=lost[failure],
            last=str(key),
            message=line["message"],
            server=end,
        )


def find_foreign_files(folder: Path) -> list[str]:
    """Describe files that do not belong to a campaign."""
    strange = sorted(
        name
        for name in os.listdir(folder)  # noqa: PTH208
        if name not in KNOWN and not OURS.fullmatch(name)
    )
    return [f"not of the campaign: {', '.join(map(repr, strange))}"] if strange else []


def is_campaign_running(folder: Path) -> bool:
    """Return whether a runner holds the folder's lock."""
    try:
        handle = os.open(folder / ".lock", os.O_RDONLY | os.O_CLOEXEC | NEVER_WAITS)
    except OSError:
        return False
    try:
        return not lock_file(handle, shared=True)
    except OSError:  # no file system for locks: no runner can run there
        return False
    finally:
        os.close(handle)
