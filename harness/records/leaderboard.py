"""Results of one system under one condition as a `results.json` of CARLA's Leaderboard 1.0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.common.errors import UserError

SCORES = {
    "score_composed": "Avg. driving score",
    "score_route": "Avg. route completion",
    "score_penalty": "Avg. infraction penalty",
}
INFRACTIONS = {
    "collisions_pedestrian": "Collisions with pedestrians",
    "collisions_vehicle": "Collisions with vehicles",
    "collisions_layout": "Collisions with layout",
    "red_light": "Red lights infractions",
    "stop_infraction": "Stop sign infractions",
    "outside_route_lanes": "Off-road infractions",
    "route_dev": "Route deviations",
    "route_timeout": "Route timeouts",
    "vehicle_blocked": "Agent blocked",
}
LEAST_KM = 0.001
"""Kilometres that a standstill counts as, so that infractions per kilometre stay finite."""


def build_leaderboard_results(
    results: Sequence[dict[str, Any]], seconds: Sequence[float], planned: int
) -> dict[str, Any]:
    """Return what the tools read: results, the wall-clock each took, attempts planned in all.

    Means are over the results there are; missing ones show in the progress and the entry's status,
    and are not counted as zero.

    Args:
        results: contents of `result.json`, in the order of the attempts.
        seconds: wall-clock of each, in the same order.
        planned: attempts in all, finished or not.

    Returns:
        The contents of a `results.json`.

    Raises:
        UserError: there is no result.
    """
    if not results:
        raise UserError("no finished attempt; a results.json needs one")
    # one record for each attempt, without what Crucible adds
    records = [
        _make_leaderboard_record(index, result, took)
        for index, (result, took) in enumerate(zip(results, seconds, strict=True))
    ]
    # means over the records, and the same as a row of a table
    overall = _summarize_records(records)
    numbers = [
        *(overall["scores"][name] for name in SCORES),
        *(overall["infractions"][name] for name in INFRACTIONS),
    ]
    return {
        "_checkpoint": {
            "global_record": overall,
            "progress": [len(records), planned],
            "records": records,
        },
        "entry_status": _get_entry_status(records, planned),
        "eligible": len(records) == planned,
        "labels": [*SCORES.values(), *INFRACTIONS.values()],
        "values": [f"{number:.3f}" for number in numbers],
        "sensors": [],
    }


def _make_leaderboard_record(index: int, result: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return a result without our part, as 1.0 knows it."""
    shared = {name: value for name, value in result.items() if name != "crucible"}
    return {
        **shared,
        "index": index,
        "meta": {**result["meta"], "duration_system": seconds},
    }


def _summarize_records(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return mean scores, infractions per kilometre driven, and what was not completed."""
    driven = max(sum(_get_kilometres(record) for record in records), LEAST_KM)
    failed = [record for record in records if record["status"] != "Completed"]
    return {
        "route_id": -1,
        "index": -1,
        "status": "Failed" if failed else "Completed",
        "scores": {
            name: sum(record["scores"][name] for record in records) / len(records)
            for name in SCORES
        },
        "infractions": {
            name: sum(len(record["infractions"][name]) for record in records) / driven
            for name in INFRACTIONS
        },
        "meta": {"exceptions": [[e["route_id"], e["index"], e["status"]] for e in failed]},
    }


def _get_kilometres(record: dict[str, Any]) -> float:
    share: float = record["scores"]["score_route"] / 100
    length: float = record["meta"]["route_length"]
    return share * length / 1000


def _get_entry_status(records: Sequence[dict[str, Any]], planned: int) -> str:
    if len(records) < planned:
        return "Finished with missing data"
    if any("Agent" in record["status"] for record in records):
        return "Finished with agent errors"
    return "Finished"
