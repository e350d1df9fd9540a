"""Made-up results files, from the public descriptions of their forms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
