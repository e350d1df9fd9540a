"""What becomes of a hazard, as records have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness.world.hazards.parameters import Value

Status = Literal["waiting", "running", "over", "not_run"]
Cause = Literal["", "no_place", "ended_before", "disturbed", "not_planned"]
"""Why a hazard was not run: no room for it, the drive ended before it was due, another road user
was in the mover's way before it met the ego, or no hazard stands for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncounterReport:
    """Where a mover and the ego were to meet, and how late the ego alone could see it."""

    conflict_station: float  # m; where the ego's front would touch the mover
    reveal: float  # s, by geometry, from when an ego alone could first see the mover
    reveal_measured: float | None  # s, by the ego's own LiDAR; None: it never returned the mover
    commit_station: float  # m; where the ego is when the mover commits, as planned
    phase: float  # s by which the mover is late
    commit_frame: int | None  # of the simulator; None: it has not committed
    commit_speed: float | None  # m/s, of the ego when it committed
    parameters: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardReport:
    """What became of a hazard.

    Attributes:
        kind: a name of the catalogue.
        source: `hazards`, or the Leaderboard type that it stands for.
        station: metres along the route.
        started_at: seconds, of the simulator; None if it has not started.
        reason: how it ended, for people.
    """

    kind: str
    source: str
    station: float
    status: Status
    started_at: float | None
    reason: str
    cause: Cause = ""
    encounter: EncounterReport | None = None
