"""Campaigns as results files of others: Leaderboards, Bench2Drive, V2Xverse, CoLMDriver."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.records.leaderboard import build_leaderboard_results
from harness.records.names import escape_file_name
from harness.records.reading import CampaignRecords
from studies.outside_results.bench2drive import is_success
from studies.outside_results.driven_route import parse_driven_route
from studies.outside_results.our_records import read_counted_records
from studies.outside_results.reading import BENCH2DRIVE_ROUTES, EGO_FOLDER

WRITTEN_FORMS = ("leaderboard-1.0", "leaderboard-2.0", "bench2drive", "v2xverse", "colmdriver")
COLMDRIVER_FOLDER = "v2x_final"
"""The folder of routes below which CoLMDriver's `visualization/result_analysis.py` looks."""
LATER_KINDS = ("min_speed_infractions", "yield_emergency_vehicle_infractions", "scenario_timeouts")
"""Kinds of infraction of Leaderboard 2.0; our drives have none of them."""
Record = dict[str, Any]


def write_outside_results(campaign: CampaignRecords, form: str, folder: Path) -> list[Path]:
    """Write each arm of a campaign in a form of others; return the files.

    The forms of V2Xverse and CoLMDriver have a file for each driven ego: V2Xverse in a folder for
    each repetition of a route, CoLMDriver with all repetitions as records of one file. The other
    forms have one ego, the first.

    Args:
        campaign: with finished attempts.
        form: one of `WRITTEN_FORMS`.
        folder: for the files; equal names are replaced.

    Raises:
        UserError: nothing has finished.
    """
    arms: dict[str, list[list[Record]]] = {}  # records of an attempt's egos, by arm
    for key in sorted(campaign.find_attempts()):
        name = f"RouteScenario_{key.route}_rep{key.seed}"
        egos = [{**one, "route_id": name} for one in read_counted_records(campaign, key)]
        arms.setdefault(str(key.arm), []).append(egos)
    if not arms:
        raise UserError(f"{campaign.folder}: no finished attempt")
    written = []
    for arm, attempts in arms.items():
        stem = escape_file_name(arm)
        if form in ("v2xverse", "colmdriver"):
            files = list_ego_files(attempts, form)
            written += [
                write_record_file(records, folder / stem / name) for name, records in files.items()
            ]
            continue
        results = [egos[0] for egos in attempts]
        file = folder / f"{stem}.json"
        if form == "leaderboard-1.0":
            write_record_file(results, file)
        else:
            content = make_later_content(results, form)
            write_whole(file, json.dumps(content, indent=1) + "\n")
        written.append(file)
    return written


def list_ego_files(attempts: Sequence[Sequence[Record]], form: str) -> dict[Path, list[Record]]:
    """Return the records of each file of an ego, by its place below an arm's folder.

    Args:
        attempts: the records of each attempt's egos, the first one first.
        form: v2xverse or colmdriver.
    """
    files: dict[Path, list[Record]] = {}
    for egos in attempts:
        for number, record in enumerate(egos):
            place = name_route_folder(record, form) / f"{EGO_FOLDER}{number}" / "results.json"
            files.setdefault(place, []).append(record)
    return files


def name_route_folder(result: Record, form: str) -> Path:
    """Return the folder of a route: `r12_repeat1` or `v2x_final/r1_town05_ins_c`.

    V2Xverse puts an `r` before the number of a route; names stay as they are.
    """
    route, _, seed = str(result["route_id"]).removeprefix("RouteScenario_").rpartition("_rep")
    name = escape_file_name(route)
    if form == "colmdriver":
        return Path(COLMDRIVER_FOLDER) / name
    return Path(f"{'r' * route.isdecimal()}{name}_repeat{seed}")


def write_record_file(results: Sequence[Record], file: Path) -> Path:
    """Write a results file of Leaderboard 1.0; return it."""
    seconds = [float(result["meta"].get("duration_system", 0.0)) for result in results]
    content = build_leaderboard_results(results, seconds, len(results))
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, json.dumps(content, indent=1) + "\n")
    return file


def make_later_content(results: Sequence[Record], form: str) -> Record:
    """Return a results file of Leaderboard 2.0, or Bench2Drive's merged one."""
    records = [make_later_record(index, result) for index, result in enumerate(results)]
    scores = [record["scores"]["score_composed"] for record in records]
    if form == "bench2drive":
        # the index is taken away and the routes are sorted backwards, as merging does it
        for record in records:
            del record["index"]
        successes = sum(is_success(parse_driven_route(record)) for record in records)
        return {
            "_checkpoint": {
                "records": sorted(records, key=lambda record: str(record["route_id"]), reverse=True)
            },
            "driving score": sum(scores) / BENCH2DRIVE_ROUTES,
            "success rate": successes / BENCH2DRIVE_ROUTES,
            "eval num": len(records),
        }
    means = {
        name: sum(record["scores"][name] for record in records) / len(records)
        for name in ("score_composed", "score_route", "score_penalty")
    }
    return {
        "_checkpoint": {
            "global_record": {"index": -1, "route_id": -1, "scores_mean": means},
            "progress": [len(records), len(records)],
            "records": records,
        },
        "entry_status": "Finished",
        "eligible": True,
        "sensors": [],
        "values": [],
        "labels": [],
    }


def make_later_record(index: int, result: Record) -> Record:
    """Return a record with the kinds of infraction and the fields that 2.0 has."""
    infractions = {**result["infractions"], **{kind: [] for kind in LATER_KINDS}}
    return {
        "index": index,
        "route_id": result["route_id"],
        "scenario_name": "",
        "status": result["status"],
        "num_infractions": sum(map(len, infractions.values())),
        "infractions": infractions,
        "scores": result["scores"],
        "meta": result["meta"],
        "town_name": str(result["crucible"].get("town", "")),
    }
