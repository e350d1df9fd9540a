"""What a study of offline failures and violations asks: routes, systems, operators, scenes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import JSON_RECORD, read_json_within

OPERATORS = (
    *("latency", "delay_200", "pose_error", "global_loss", "channel_loss", "rain", "snow", "fog"),
    *("insert", "insert_far", "delete", "scale", "rotate", "translate", "composed_3"),
    *("stray_off_road_100", "stray_off_road_1000", "stray_off_road_all_1000"),
)
"""Those of CooTest, V2XGen and MultiTest, and Zhou and Sun's MR1, that drives' records allow."""
CONDITIONS = ("none", "latency")
PLAN_FILE = "plan.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRoute:
    """A route, which is a block of the study."""

    group: str  # of `conf/routes`
    route: str  # its id in the group's file

    @property
    def name(self) -> str:
        """Return a name that no other route of the study has."""
        return f"{self.group}-{self.route}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflinePlan:
    """What makes a study: equal plans resume each other."""

    routes: tuple[BlockRoute, ...]
    systems: tuple[str, ...]
    operators: tuple[str, ...]
    scenes: int  # of each route, at most
    seed: int
    settings: tuple[str, ...] = ()  # further settings of all campaigns

    def write_or_compare(self, folder: Path) -> None:
        """Write the plan into a new folder; refuse a folder of another plan.

        More or fewer routes are the same study: a route's block does not depend on the others.
        """
        record = json.loads(json.dumps(asdict(self)))
        del record["routes"]
        file = folder / PLAN_FILE
        if file.exists():
            known = read_plan_record(file)
            if changed := sorted(name for name in record if known.get(name) != record[name]):
                raise UserError(
                    f"{folder}: has other {', '.join(changed)}; name another folder, or give the"
                    " same again"
                )
            return
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_plan_record(file: Path) -> dict[str, Any]:
    """Return what a study's folder says of its plan."""
    try:
        record = read_json_within(file, JSON_RECORD)
    except (OSError, ValueError, RecursionError) as problem:
        raise UserError(f"{file}: not the plan of a study ({problem})") from None
    if not isinstance(record, dict):
        raise UserError(f"{file}: not the plan of a study")
    return record


def read_written_plan(folder: Path) -> OfflinePlan:
    """Return the plan of a study's folder, without its routes.

    Raises:
        UserError: the folder has no plan.
    """
    file = folder / PLAN_FILE
    if not file.exists():
        raise UserError(f"{folder}: no {PLAN_FILE}: not the folder of `crucible offline`")
    record = read_plan_record(file)
    try:
        names = {
            name: tuple(map(str, record[name])) for name in ("systems", "operators", "settings")
        }
        return OfflinePlan(
            routes=(), **names, scenes=int(record["scenes"]), seed=int(record["seed"])
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise UserError(f"{file}: not the plan of a study ({problem!r})") from None


def take_routes_in_turn(
    groups: Sequence[tuple[str, Sequence[str]]], count: int
) -> tuple[BlockRoute, ...]:
    """Return the first routes of all groups, one of each in turn.

    Args:
        groups: name and route ids of each.
        count: of routes, at most.
    """
    longest = max((len(ids) for _, ids in groups), default=0)
    turns = [
        BlockRoute(group=name, route=ids[number])
        for number in range(longest)
        for name, ids in groups
        if number < len(ids)
    ]
    return tuple(turns[:count])
