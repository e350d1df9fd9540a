"""One drive of a route, as results files of CARLA's leaderboards have it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

RouteEnd = Literal["completed", "failed", "timed out", "crashed"]
ROUTE_NAME = re.compile(r"(?:RouteScenario_)?(?P<route>.+?)(?:_rep(?P<repetition>\d+))?")
COMPLETED = ("Completed", "Perfect")
CRASHES = ("crash", "couldn't be set up", "sensors were invalid", "started")
"""Parts of a status, in small letters: the program failed, not the driver."""
TIME_OUTS = ("timed out", "tickruntime")
"""Parts of a status; Bench2Drive stops a drive after 4000 ticks and calls that TickRuntime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenRoute:
    """One record of a results file.

    Attributes:
        route: name of the route, without repetition.
        repetition: of the route, from 0.
        scenario: kind of scenario, empty where the file names none.
        status: in the file's words.
        completion: 0 to 1.
        penalty: 0 to 1, as written.
        score: 0 to 100, as written.
        infractions: messages by kind.
        length: m; NaN where the file has none.
        seconds: simulated; NaN where the file has none.
        saved: the folder of the drive's logs, of Bench2Drive; empty where the file names none.
    """

    route: str
    repetition: int
    scenario: str
    status: str
    completion: float
    penalty: float
    score: float
    infractions: Mapping[str, tuple[str, ...]]
    length: float
    seconds: float
    saved: str = ""

    @property
    def end(self) -> RouteEnd:
        """Return how the drive ended."""
        if self.status in COMPLETED:
            return "completed"
        words = self.status.lower()
        if any(part in words for part in CRASHES):
            return "crashed"
        if any(part in words for part in TIME_OUTS) or self.infractions.get("route_timeout"):
            return "timed out"
        return "failed"


def parse_driven_route(record: Mapping[str, Any]) -> DrivenRoute:
    """Return a record of `_checkpoint.records`.

    Raises:
        KeyError, TypeError, ValueError: this is no such record.
    """
    if not isinstance(record, Mapping):
        raise TypeError("is no table")
    named = ROUTE_NAME.fullmatch(str(record["route_id"]))
    if named is None:
        raise ValueError("route_id is empty")
    scores, meta = record["scores"], record.get("meta") or {}
    scenario = str(record.get("scenario_name") or "")
    return DrivenRoute(
        route=named["route"],
        repetition=int(named["repetition"] or 0),
        scenario=re.sub(r"_\d+$", "", scenario),
        status=str(record["status"]),
        completion=read_number(scores["score_route"], most=100.0) / 100,
        penalty=read_number(scores["score_penalty"], most=1.0),
        score=read_number(scores["score_composed"], most=100.0),
        infractions=parse_infractions(record["infractions"]),
        length=read_amount(meta, "route_length"),
        seconds=read_amount(meta, "duration_game"),
        saved=str(record.get("save_name") or ""),
    )


def parse_infractions(kinds: Any) -> dict[str, tuple[str, ...]]:
    """Return the messages of each kind of infraction; a number or null counts as none."""
    if not isinstance(kinds, Mapping):
        raise TypeError("infractions is no table")
    for kind, messages in kinds.items():
        if isinstance(messages, str | Mapping):
            raise TypeError(f"infractions.{kind} is no list of messages")
    return {
        str(kind): tuple(map(str, messages))
        for kind, messages in kinds.items()
        if isinstance(messages, list)
    }


def read_amount(meta: Mapping[str, Any], name: str) -> float:
    """Return a number from 0 on; NaN where a record has none."""
    amount = float(meta.get(name, math.nan))
    if amount < 0:
        raise ValueError(f"meta.{name} = {amount:g}: is below 0")
    return amount


def read_number(value: Any, *, most: float) -> float:
    """Return a number from 0 to `most`; ValueError for others."""
    number = float(value)
    if not 0 <= number <= most * (1 + 1e-6):
        raise ValueError(f"{number} is not within 0 and {most:g}")
    return min(number, most)
