"""What came out of a route: the leaderboard's record, and how the processes ended."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.carlite.errors import UserError

MINIMUM_SPEED = "min_speed_infractions"
MINIMUM_SPEED_FACTOR = 0.7
"""Penalty at no speed: `PENALTY_PERC_DICT` in the leaderboard's `statistics_manager.py`."""
PERCENTAGE = re.compile(r"(\d+(?:\.\d+)?) ?%")


@dataclass(frozen=True, kw_only=True)
class RouteResult:
    """The outcome of one route."""

    route: str
    town: str
    scenarios: tuple[str, ...]
    program: str
    revision: str
    """Of carlite."""
    outcome: str
    """The leaderboard's status; "time limit", or "no record" if there is none."""
    completion: float | None = None
    """Per cent of the route."""
    score: float | None = None
    """Driving score with minimum-speed penalties."""
    score_without_speed: float | None = None
    """Driving score as Bench2Drive counts."""
    infractions: tuple[tuple[str, int], ...] = ()
    simulated_s: float | None = None
    processor_s: float
    """Of server and planner together."""


def compute_minimum_speed_factor(messages: list[str]) -> float:
    """Return the product of minimum-speed penalties.

    Leaderboard 2: each factor is 1 - (1 - 0.7) (1 - p / 100) with the percentage p of the traffic's
    mean speed (`set_score_penalty` in `statistics_manager.py`). Bench2Drive's copy leaves the
    factors out.
    """
    factor = 1.0
    for message in messages:
        percentage = PERCENTAGE.search(message)
        if percentage is None:
            raise UserError(f"minimum-speed infraction without a percentage: {message!r}")
        factor *= 1.0 - (1.0 - MINIMUM_SPEED_FACTOR) * (1.0 - float(percentage[1]) / 100.0)
    return factor


def read_leaderboard_record(path: Path, route: str) -> dict[str, Any] | None:
    """Return what a checkpoint file of the leaderboard says of a route; None if nothing yet."""
    try:
        text = path.read_text()
    except OSError:
        return None
    if not text.strip():
        return None
    try:
        records = json.loads(text)["_checkpoint"]["records"]
        matching = [
            record for record in records if record["route_id"].startswith(f"RouteScenario_{route}_")
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: no checkpoint of the leaderboard: {error!r}") from None
    return matching[-1] if matching else None


def describe_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a RouteResult that a record of the leaderboard has."""
    try:
        infractions = record["infractions"]
        score = float(record["scores"]["score_composed"])
        factor = compute_minimum_speed_factor(infractions.get(MINIMUM_SPEED, []))
        return {
            "outcome": str(record["status"]),
            "completion": float(record["scores"]["score_route"]),
            "score": score,
            "score_without_speed": score / factor,
            "infractions": tuple(
                (name, len(events)) for name, events in infractions.items() if events
            ),
            "simulated_s": float(record["meta"]["duration_game"]),
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"a record of the leaderboard lacks a field: {error!r}") from None


def write_route_result(folder: Path, result: RouteResult) -> None:
    """Write a result; a file is whole or absent."""
    path = folder / f"{result.route}.result.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(result), indent=1) + "\n")
    partial.replace(path)


def read_route_results(folder: Path) -> dict[str, RouteResult]:
    """Return the results in a folder by route."""
    results = {}
    for path in sorted(folder.glob("*.result.json")):
        try:
            fields = json.loads(path.read_text())
            fields["scenarios"] = tuple(fields["scenarios"])
            fields["infractions"] = tuple(
                (name, int(count)) for name, count in fields["infractions"]
            )
            result = RouteResult(**fields)
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: no result of a route: {error}") from None
        results[result.route] = result
    return results
