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

    def expect_meeting_time(self, ego: EgoState, commitment: MoverCommitment | None) -> float:
        """Return the moment at which the ego and the mover are expected to meet: "the meeting".

        Once the mover has committed, it is the moment at which the mover is in the ego's way by
        its timetable: nothing that the ego does from then on changes it. Before, it is the moment
        at which an ego that nothing hinders would arrive from where it is, at the speed that it
        has, but for the mover's phase. So it comes from geometry and timetable; how the drive
        ends is not in it.

        Args:
            ego: as it is now.
            commitment: of the mover; None before it has committed.

        Returns:
            Seconds of the simulator; in the past once they should have met.
        """
        if commitment is not None:
            return commitment.starts + self.seconds
        left = self.nominal.compute_seconds_between(ego.station, ego.speed, self.arrival)
        return ego.time + max(left + self.phase, self.seconds)


@dataclass(frozen=True, eq=False, kw_only=True)
class NoticeTiming(MoverTiming):
    """For what stands in the ego's lane in plain sight: it sets off when the ego is near.

    Attributes:
        meets_after: seconds from when it sets off to when the ego is to be at the conflict.
    """

    meets_after: float

    def make_commitment(self, ego: EgoState) -> MoverCommitment:
        """Return that it sets off now."""
        return build_commitment(ego, 0.0)

    def expect_meeting_time(self, ego: EgoState, commitment: MoverCommitment | None) -> float:
        """Return the moment at which they meet: a fixed time after the mover sets off."""
        if commitment is not None:
            return commitment.starts + self.meets_after
        left = self.nominal.compute_seconds_between(ego.station, ego.speed, self.station)
        return ego.time + left + self.meets_after


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
    track: Track,
    plan: EncounterPlan,
    *,
    seconds: float,
    speed: float,
    meets_after: float | None = None,
) -> NoticeTiming:
    """Return the timing of a plan that starts so many seconds before a steady ego is there.

    Args:
        track: the ego's route.
        plan: where mover and ego would meet.
        seconds: between the start and the ego's arrival.
        speed: of the steady ego, m/s.
        meets_after: seconds between the start and the conflict; None: the same.
    """
    arrival = plan.meeting.station - ego_body.LENGTH / 2
    return NoticeTiming(
        nominal=NominalDrive(track.route),
        station=arrival - speed * seconds,
        arrival=arrival,
        seconds=seconds,
        phase=0.0,
        meets_after=seconds if meets_after is None else meets_after,
    )
