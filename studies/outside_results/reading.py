"""Results files, folders of them, and campaigns as sets of driven routes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.safe_reading import STUDY_RECORD, read_json_within
from harness.records.keys import AttemptKey
from harness.records.ledger import iter_ledger_lines
from harness.records.names import unescape_file_name
from harness.records.reading import CampaignRecords
from studies.outside_results.driven_route import DrivenRoute, parse_driven_route
from studies.outside_results.incidents import OFF_ROAD
from studies.outside_results.our_records import read_counted_records

CAMPAIGN_FILE = "campaign.yaml"
OURS = "crucible"
EGO_FOLDER = "ego_vehicle_"
"""How V2Xverse names the folder of an ego's results, before its number."""
MOST_FILES = 10_000
ROUTE_FOLDER = re.compile(r"(?:r(?=\d+_repeat))?(?P<route>.+)_repeat(?P<repetition>\d{1,6})")
BENCH2DRIVE_ROUTES = 220
"""Routes that Bench2Drive divides by, whatever a file holds (`tools/merge_route_json.py`)."""
READING_PROBLEMS = (LookupError, TypeError, ValueError, AttributeError, RecursionError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSet:
    """What one system drove.

    Attributes:
        name: for tables.
        form: of the file: leaderboard-1.0, leaderboard-2.0, bench2drive, v2xverse or crucible.
        drives: in the order of the file.
        planned: routes that were to be driven; 0 where the file does not say.
        stated: totals that the file itself has.
        folder: of the campaign; None for results of others.
        arm: of the campaign; empty for results of others.
    """

    name: str
    form: str
    drives: tuple[DrivenRoute, ...]
    planned: int = 0
    stated: Mapping[str, float] = field(default_factory=dict)
    folder: Path | None = None
    arm: str = ""


def read_all_sets(paths: Sequence[Path]) -> list[ResultSet]:
    """Return the result sets of all files and folders, under different names.

    Raises:
        UserError: one is not there, is given twice, or has no results.
    """
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: file or folder not found")
    given = Counter(path.resolve() for path in paths)
    for path in paths:
        if given[path.resolve()] > 1:
            raise UserError(f"{path}: given twice; name each file or folder once")
    return name_sets_apart([(path, one) for path in paths for one in read_result_sets(path)])


def is_campaign(path: Path) -> bool:
    """Return whether a path is a campaign's folder."""
    return (path / CAMPAIGN_FILE).exists()


def read_result_sets(path: Path) -> list[ResultSet]:
    """Return the result sets of a file or folder: one, or one for each arm of a campaign.

    Args:
        path: a results file; a folder of results files; a campaign's folder.

    Raises:
        UserError: there are no results.
    """
    if is_campaign(path):
        return read_campaign_sets(path)
    if path.is_dir():
        return [read_folder_set(path)]
    return [read_file_set(path, unescape_file_name(path.stem))]


def read_file_set(path: Path, name: str) -> ResultSet:
    """Return the drives of one results file."""
    try:
        content = read_json_within(path, STUDY_RECORD, follow=True)
        return parse_result_set(content, name)
    # a file that cannot be opened is named by the command line
    except FileNotFoundError:
        raise
    except READING_PROBLEMS as problem:
        why = describe_problem(problem)
        raise UserError(f"{path}: not a results file of a leaderboard: {why}") from None


def describe_problem(problem: Exception) -> str:
    """Return what is wrong with a file or a record, in words."""
    match problem:
        case KeyError():
            return f"no {problem.args[0]}"
        case json.JSONDecodeError():
            empty = not problem.doc.strip()
            return "the file is empty" if empty else f"line {problem.lineno}: not JSON"
        case UnicodeDecodeError():
            return "not text"
    return str(problem) or type(problem).__name__


def parse_result_set(content: Mapping[str, Any], name: str) -> ResultSet:
    """Return the drives of a results file's content.

    Raises:
        KeyError, TypeError, ValueError: this is no such content.
    """
    checkpoint = content["_checkpoint"] if isinstance(content, dict) else None
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint["records"], list):
        raise ValueError("_checkpoint with a list of records is needed")
    numbered = enumerate(checkpoint["records"], start=1)
    drives = tuple(parse_numbered_record(number, record) for number, record in numbered)
    if "driving score" in content or "eval num" in content:
        stated = {
            "score": float(content["driving score"]),
            "success": 100 * float(content["success rate"]),
            "drives": float(content["eval num"]),
        }
        return ResultSet(
            name=name, form="bench2drive", drives=drives, planned=BENCH2DRIVE_ROUTES, stated=stated
        )
    overall = checkpoint.get("global_record") or {}
    if not isinstance(overall, dict):
        raise ValueError("global_record is no table")
    # 2.0 has means and deviations, and kinds of infraction that 1.0 lacks
    scores = overall.get("scores_mean") or overall.get("scores") or {}
    kinds = set().union(*(drive.infractions for drive in drives)) if drives else set()
    second = "scores_mean" in overall or "min_speed_infractions" in kinds
    return ResultSet(
        name=name,
        form="leaderboard-2.0" if second else "leaderboard-1.0",
        drives=drives,
        planned=parse_planned_count(checkpoint.get("progress")),
        stated={"score": float(scores["score_composed"])} if scores else {},
    )


def parse_numbered_record(number: int, record: Any) -> DrivenRoute:
    """Return the drive of a record; an error names the record by its number, from 1 on."""
    try:
        return parse_driven_route(record)
    except (LookupError, TypeError, ValueError, AttributeError) as problem:
        raise ValueError(f"record {number}: {describe_problem(problem)}") from None


def parse_planned_count(progress: Any) -> int:
    """Return how many routes were to be driven, of `[driven, planned]`; 0 without such a list."""
    match progress:
        case None | []:
            return 0
        case [int(), int(planned)] if planned >= 0:
            return planned
    raise ValueError("progress is no list of two numbers")


def read_folder_set(folder: Path) -> ResultSet:
    """Return the drives of a folder: Bench2Drive's JSON files, or V2Xverse's folders of routes.

    V2Xverse and CoLMDriver write `ROUTE/ego_vehicle_N/results.json`; the file above it is empty.
    Their record of a route is often called `RouteScenario_0`, so that the folder names the route.
    """
    if files := find_ego_files(folder):
        return read_ego_folders(folder, files)
    files = [file for file in sorted(folder.glob("*.json")) if file.name != "merged.json"]
    if not files:
        merged = folder / "merged.json"
        if merged.is_file():
            return read_file_set(merged, folder.resolve().name)
        raise UserError(f"{folder}: neither a campaign nor a folder of results files")
    refuse_many(folder, files)
    sets = [read_file_set(file, file.stem) for file in files]
    return ResultSet(
        name=folder.resolve().name,
        form=sets[0].form,
        drives=tuple(drive for part in sets for drive in part.drives),
        planned=sum(part.planned for part in sets),
    )


def find_ego_files(folder: Path) -> list[Path]:
    """Return the results of egos in V2Xverse's folders of routes."""
    return sorted(folder.rglob(f"{EGO_FOLDER}*/results.json"))


def read_ego_folders(folder: Path, files: list[Path]) -> ResultSet:
    """Return the drives of V2Xverse's folders; a drive of several egos is one route for each."""
    refuse_many(folder, files)
    egos = Counter(file.parent.parent for file in files)
    alike = Counter(place.name for place in egos)
    drives = []
    for file in files:
        place = file.parent.parent
        # a route's folder alone names it, if no other folder has that name
        where = place.name if alike[place.name] == 1 else place.relative_to(folder).as_posix()
        route, repetition = parse_route_folder(where)
        if egos[place] > 1:
            route = f"{route}/{file.parent.name}"
        part = read_file_set(file, route)
        several = len({drive.route for drive in part.drives}) > 1
        for drive in part.drives:
            name = f"{route}/{drive.route}" if several else route
            # records of one route in one file are its repetitions
            number = repetition if len(part.drives) == 1 else drive.repetition
            drives.append(replace(drive, route=name, repetition=number))
    return ResultSet(
        name=folder.resolve().name, form="v2xverse", drives=tuple(drives), planned=len(files)
    )


def parse_route_folder(name: str) -> tuple[str, int]:
    """Return route and repetition of a folder of V2Xverse: `r12_repeat1` is 12, once more."""
    match = ROUTE_FOLDER.fullmatch(name)
    if match is None:
        return name, 0
    return match["route"], int(match["repetition"])


def refuse_many(folder: Path, files: list[Path]) -> None:
    """Refuse a folder of more files than results have."""
    if len(files) > MOST_FILES:
        raise UserError(f"{folder}: {len(files)} results files; at most {MOST_FILES} are read")


def read_campaign_sets(folder: Path) -> list[ResultSet]:
    """Return a result set for each arm of a campaign; seeds are repetitions.

    A drive of several egos is one route for each, as in V2Xverse's folders.
    """
    campaign = CampaignRecords(folder)
    arms: dict[str, list[DrivenRoute]] = {}
    for key in sorted(campaign.find_attempts()):
        try:
            records = read_counted_records(campaign, key)
            for number, record in enumerate(records):
                name = f"{key.route}/{EGO_FOLDER}{number}" if len(records) > 1 else key.route
                record["route_id"] = f"{name}_rep{key.seed}"
                # no leaderboard has a kind for leaving the road
                left = [kind for kind in record["crucible"]["infractions"] if kind == OFF_ROAD]
                record["infractions"] = {**record["infractions"], OFF_ROAD: left}
        except (KeyError, TypeError, ValueError) as problem:
            why = describe_problem(problem)
            raise UserError(f"{folder}: {key}: result.json is not whole: {why}") from None
        arms.setdefault(str(key.arm), []).extend(map(parse_driven_route, records))
    if not arms:
        raise UserError(f"{folder}: no finished attempt")
    # `.` has no name of its own
    name = folder.resolve().name
    return [
        ResultSet(
            name=f"{name}:{arm}",
            form=OURS,
            drives=tuple(drives),
            folder=folder,
            arm=arm,
        )
        for arm, drives in arms.items()
    ]


def list_unfinished(paths: Sequence[Path]) -> list[str]:
    """Return a line for each arm of campaigns with attempts that were tried and have no result."""
    notes = []
    for path in filter(is_campaign, paths):
        tried = {AttemptKey.from_record(line) for line in iter_ledger_lines(path)}
        counts = Counter(str(key.arm) for key in tried - set(CampaignRecords(path).find_attempts()))
        notes += [
            f"{path}: {arm}: attempts without result, which are not counted: {count}"
            for arm, count in sorted(counts.items())
        ]
    return notes


def list_unread_files(paths: Sequence[Path]) -> list[str]:
    """Return a line for each folder of V2Xverse with JSON files of its own, which are not read."""
    notes = []
    for path in paths:
        if path.is_dir() and not is_campaign(path) and find_ego_files(path):
            files = [file.name for file in sorted(path.glob("*.json")) if file.stat().st_size]
            if files:
                names = ", ".join(files)
                notes.append(f"{path}: not read next to V2Xverse's folders of routes: {names}")
    return notes


def name_sets_apart(read: Sequence[tuple[Path, ResultSet]]) -> list[ResultSet]:
    """Return result sets with different names.

    Equal ones have names of the folders around them in front, as many as make them differ, such as
    `late/results`.

    Args:
        read: each set with the file or folder that it is of.
    """
    names = [one.name for _, one in read]
    # one folder more at a time, for those that are still alike
    around = [list(path.resolve().parent.parts[1:]) for path, _ in read]
    while alike := {name for name, count in Counter(names).items() if count > 1}:
        places = [at for at, name in enumerate(names) if name in alike and around[at]]
        if not places:
            break
        for at in places:
            names[at] = f"{around[at].pop()}/{names[at]}"
    return [replace(one, name=name) for name, (_, one) in zip(names, read, strict=True)]
