"""Until when a stop is possible: what stopping distances say of critical ages.

From a speed v, with p seconds between planning steps and the driver's hardest braking b, the ego
stops within v p + v² / (2 b) metres: a planning step at that speed, then braking. At v that
distance takes p + v / (2 b) seconds. So much before the conflict the ego must know of the mover,
and messages of age a show what was a seconds ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.attempt import make_result_error, read_checked_table
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types import ego_body

HARDEST_BRAKING = 7.0
"""m/s²; the driver's `hardest_braking`."""
STANDING = 0.5
"""m/s with which a slower ego is counted, as in `reveal_measured`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardMeeting:
    """A mover of a hazard in one drive."""

    kind: str
    reveal: float  # s, measured: at the speed of that moment, from then to the conflict
    by_geometry: float  # s, the reveal time as placed
    speed: float  # m/s, of the ego at the reveal
    period: float  # s between planning steps
    warning: float  # s, at that speed, from where the ego is as the mover starts to the conflict

    @property
    def needed(self) -> float:
        """The stopping distance over the speed, s: so long before the conflict it must brake."""
        return compute_stopping_time(self.speed, self.period)

    @property
    def bound(self) -> float:
        """The largest age, s, of messages that come in time for a stop; negative: none does.

        A message shows that the mover moves if it was captured after the start at the earliest.
        """
        return self.warning - self.needed


def compute_stopping_time(speed: float, period: float, braking: float = HARDEST_BRAKING) -> float:
    """Return the stopping distance over the speed: reaction of a planning step, then braking."""
    return period + speed / (2 * braking)


def find_hazard_meeting(
    twins: CampaignRecords, key: AttemptKey, period: float
) -> HazardMeeting | None:
    """Return the hazard's mover that the ego's own LiDAR returned, if there was one.

    Of several that which the violation was nearest to, without one the most sudden.
    """
    result = twins.read_result(key)["crucible"]
    frames = read_checked_table(twins, "frames", key)
    # (planning steps,) each: s, m, m/s
    time, station, speed = (
        frames[name].to_numpy(np.float64) for name in ("time", "station", "speed")
    )
    # the hazard: nearest to the violation, else the most sudden
    try:
        met = [hazard for hazard in result["hazards"] if is_encounter_measured(hazard)]
        if not met or not len(time):
            return None
        violation = result["violation"]
        if violation is None:
            hazard = min(met, key=lambda one: float(one["encounter"]["reveal_measured"]))
        else:
            last = station[np.searchsorted(time, float(violation["time"]), "right") - 1]
            hazard = min(met, key=lambda one: abs(get_conflict_station(one) - last))
        encounter = hazard["encounter"]
        reveal, placed = float(encounter["reveal_measured"]), float(encounter["reveal"])
        starts = float(hazard["started_at"])
        kind, conflict = str(hazard["kind"])[:80], get_conflict_station(hazard)
    except (KeyError, TypeError, ValueError) as problem:
        raise make_result_error(twins, key, problem) from None
    # m from the ego's front to the conflict, by planning step
    to_go = conflict - ego_body.LENGTH / 2 - station
    # the step whose time to the conflict is nearest to the measured reveal time
    at_reveal = int(np.argmin(np.abs(to_go / np.maximum(speed, STANDING) - reveal)))
    pace = max(float(speed[at_reveal]), STANDING)
    # how far it was when the hazard's mover started
    there = float(np.interp(starts, time, to_go))
    return HazardMeeting(
        kind=kind,
        reveal=reveal,
        by_geometry=placed,
        speed=pace,
        period=period,
        warning=there / pace,
    )


def is_encounter_measured(hazard: Mapping[str, Any]) -> bool:
    """Return whether a mover set off and was returned by the ego's own LiDAR."""
    encounter = hazard.get("encounter")
    known = encounter is not None and encounter.get("reveal_measured") is not None
    return known and hazard.get("started_at") is not None


def get_conflict_station(hazard: Mapping[str, Any]) -> float:
    """Return the station of the ego's front at the conflict."""
    return float(hazard["encounter"]["conflict_station"])
