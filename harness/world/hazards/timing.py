"""When a mover sets off. It commits once, by the ego's station and speed, while it cannot be seen.

From then on nothing that the ego does changes when, where and how fast the mover goes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.types import ego_body
from harness.world.attempt_context import EgoState
from harness.world.hazards.meeting import EncounterPlan
from harness.world.hazards.nominal import NominalDrive
from harness.world.hazards.sight import find_first_sight
from harness.world.hazards.track import Track

RESERVE = 0.15
"""Seconds that the mover waits at least after it has committed, if the ego drives as expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoverCommitment:
    """When the mover committed, what it knew of the ego, and when it sets off."""

    frame: int
    time: float  # s
    ego_station: float  # m
    ego_speed: float  # m/s
    starts: float  # s, of the same clock as `time`


@dataclass(frozen=True, eq=False, kw_only=True)
class MoverTiming:
    """What the mover needs to know beforehand."""

    nominal: NominalDrive
    station: float  # of the ego, m, from which the mover is committed
    arrival: float  # of the ego, m, where its front is at the meeting
    seconds: float  # from the mover's start to the meeting
    phase: float  # seconds by which the mover is late

    def make_commitment(self, ego: EgoState) -> MoverCommitment:
        """Return when the mover sets off so as to arrive with the ego, but for its phase."""
        left = self.nominal.compute_seconds_between(ego.station, ego.speed, self.arrival)
        wait = max(left - self.seconds + self.phase, 0.0)
        return build_commitment(ego, wait)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoticeTiming(MoverTiming):
    """For what stands in the ego's lane in plain sight: it sets off when the ego is near."""

    def make_commitment(self, ego: EgoState) -> MoverCommitment:
        """Return that it sets off now."""
        return build_commitment(ego, 0.0)


def build_commitment(ego: EgoState, wait: float) -> MoverCommitment:
    """Return the commitment to set off after some seconds."""
    return MoverCommitment(
        frame=ego.frame,
        time=ego.time,
        ego_station=ego.station,
        ego_speed=ego.speed,
        starts=ego.time + wait,
    )


def make_mover_timing(
    track: Track, plan: EncounterPlan, *, phase: float, earliest: float
) -> MoverTiming:
    """Return the timing of a plan, `earliest` being the lowest phase that its spread allows.

    The mover commits as late as it can start in time, or a step before it could be seen.

    Args:
        track: the ego's route.
        plan: how they would meet.
        phase: seconds by which the mover is late.
        earliest: seconds.
    """
    nominal = NominalDrive(track.route)
    arrival = plan.meeting.station - ego_body.LENGTH / 2
    # at the latest so early that the mover can start even at the lowest phase
    before = plan.meeting.seconds - earliest + RESERVE
    latest = float(nominal.compute_earlier_stations(arrival, np.array(before)))
    return MoverTiming(
        nominal=nominal,
        station=find_first_sight(track, plan.mover, (*plan.standing, *plan.screens), until=latest),
        arrival=arrival,
        seconds=plan.meeting.seconds,
        phase=phase,
    )


def make_notice_timing(
    track: Track, plan: EncounterPlan, *, seconds: float, speed: float
) -> NoticeTiming:
    """Return the timing of a plan that starts so many seconds before a steady ego is there.

    Args:
        track: the ego's route.
        plan: where mover and ego would meet.
        seconds: between the start and the ego's arrival.
        speed: of the steady ego, m/s.
    """
    arrival = plan.meeting.station - ego_body.LENGTH / 2
    return NoticeTiming(
        nominal=NominalDrive(track.route),
        station=arrival - speed * seconds,
        arrival=arrival,
        seconds=seconds,
        phase=0.0,
    )
