"""What becomes of a hazard, as records have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness.world.hazards.parameters import Value

Status = Literal["waiting", "running", "over", "not_run"]
Cause = Literal["", "no_place", "ended_before", "passed", "not_planned"]
"""Why a hazard was not run: no room for it, the drive ended before it was due, the ego passed
before it was due, or no hazard stands for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncounterReport:
    """Where a mover and the ego were to meet, and how late the ego alone could see it."""

    conflict_station: float  # m; where the ego's front would touch the mover
    reveal: float  # s, by geometry, from when an ego alone could first see the mover
    reveal_measured: float | None  # s, by the ego's own LiDAR; None: it never returned the mover
    parameters: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardReport:
    """What became of a hazard."""

    kind: str
    source: str
    station: float
    status: Status
    started_at: float | None
    reason: str
    cause: Cause = ""
    encounter: EncounterReport | None = None
