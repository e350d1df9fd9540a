"""Made-up results files, from the public descriptions of their forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.records.schema import TABLES, VERSION
from harness.records.writing import EpisodeWriter
from tests.keys import key_of
from tests.records.samples import columns

FIRST_KINDS = (
    *("collisions_layout", "collisions_pedestrian", "collisions_vehicle", "outside_route_lanes"),
    *("red_light", "route_dev", "route_timeout", "stop_infraction", "vehicle_blocked"),
)
SECOND_KINDS = (
    *FIRST_KINDS,
    *("min_speed_infractions", "scenario_timeouts", "yield_emergency_vehicle_infractions"),
)


def make_record(
    route: str,
    *,
    completion: float = 100.0,
    penalty: float = 1.0,
    status: str = "Completed",
    infractions: Mapping[str, Sequence[str]] | None = None,
    kinds: Sequence[str] = FIRST_KINDS,
) -> dict[str, Any]:
    """Return a record of a route, in the form of a leaderboard."""
    return {
        "index": 0,
        "route_id": route,
        "status": status,
        "infractions": {kind: list((infractions or {}).get(kind, [])) for kind in kinds},
        "scores": {
            "score_route": completion,
            "score_penalty": penalty,
            "score_composed": completion * penalty,
        },
        "meta": {"route_length": 120.0, "duration_game": 30.0, "duration_system": 60.0},
    }


def make_first_file(records: Sequence[Mapping[str, Any]], planned: int) -> dict[str, Any]:
    """Return a results file of Leaderboard 1.0."""
    mean = sum(record["scores"]["score_composed"] for record in records) / max(len(records), 1)
    return {
        "_checkpoint": {
            "global_record": {"route_id": -1, "scores": {"score_composed": mean}},
            "progress": [len(records), planned],
            "records": list(records),
        },
        "entry_status": "Finished",
        "values": [],
        "labels": [],
    }


def make_merged_file(records: Sequence[Mapping[str, Any]], drives: int) -> dict[str, Any]:
    """Return Bench2Drive's merged results file."""
    return {
        "_checkpoint": {"records": list(records)},
        "driving score": sum(record["scores"]["score_composed"] for record in records) / 220,
        "success rate": sum(record["status"] == "Completed" for record in records) / 220,
        "eval num": drives,
    }


def write_json(file: Path, content: Any) -> Path:
    """Write a file and its folders; return it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    return file


OURS = {
    "0": (0.4, 0.6, ("collision_vehicle",), 0.0),
    "1": (1.0, 1.0, (), 0.0),
    "2": (1.0, 0.7 * 0.9, ("red_light", "off_road"), 0.1),
}


def write_our_campaign(folder: Path) -> Path:
    """Write a campaign of three routes: completion, penalty, counted infractions, share outside."""
    kinds = {"collision_vehicle": "collisions_vehicle", "red_light": "red_light"}
    folder.mkdir(parents=True)
    (folder / "campaign.yaml").write_text(json.dumps({"schema": VERSION, "settings": {}}))
    for route, (completion, penalty, infractions, outside) in OURS.items():
        key = key_of("late", "none", route, 1)
        messages = {kinds[kind]: ["did"] for kind in infractions if kind in kinds}
        # one after the end does not count
        messages["stop_infraction"] = ["later"]
        record = make_record(
            f"RouteScenario_{route}_rep1",
            completion=100 * completion,
            penalty=penalty,
            infractions=messages,
        )
        record["crucible"] = {
            "schema": VERSION,
            "attempt": key.to_record(),
            "infractions": list(infractions),
            "outside_share": outside,
            "completion": completion,
        }
        with EpisodeWriter(folder, key, 1) as writer:
            for table in TABLES:
                writer.write_table(table, columns(table, 3))
            writer.write_json("result", record)
            writer.write_json("timing", {"seconds": {"total": 1.5}})
            writer.commit_records()
    return folder
