"""Hazards ahead: a lorry swerves out before a car that stands or brakes hard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from harness.types.vocabulary import Floats
from harness.world.hazards.courses import MoverCourse, make_course
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.meeting import EncounterPlan, MovingActor, PlannedMeeting
from harness.world.hazards.nominal import CRUISE
from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.sight import SightApproach
from harness.world.hazards.sizes import get_blueprint_size
from harness.world.hazards.timing import MoverTiming, make_notice_timing
from harness.world.hazards.track import DRIVEN, Track

LORRY, CAR = "vehicle.carlamotors.carlacola", "vehicle.citroen.c3"
RUN = 32.0
"""Metres that the lorry drives ahead of the ego."""
SWERVE, SHORT = 13.0, 3.5
"""Metres in which it changes lanes, and that it is short of the car when it has."""
NOTICE = 4.0
"""Seconds of undisturbed driving from the standing lorry at which it drives off."""
RUN_OUT = 18.0
PULLING_OFF = 3.0
"""Acceleration, m/s²."""
AFTER = 2.0
"""Seconds by which an ego that follows the lorry is behind it."""
SPEED = NumberParameter(default=7.5, low=4.0, high=8.0, unit="m/s", meaning="of the lorry")


class LorryEncounter(Encounter):
    """What hazards behind a lorry share: the ego follows it, and meets the car at its tail."""

    def sample_timing(self, track: Track, plan: EncounterPlan) -> MoverTiming:
        """Return that the lorry drives off when the ego is near."""
        meets_after = self.compute_conflict_seconds(track, plan)
        return make_notice_timing(
            track, plan, seconds=NOTICE, speed=CRUISE, meets_after=meets_after
        )

    def compute_conflict_seconds(self, track: Track, plan: EncounterPlan) -> float:
        """Return the seconds from the lorry's start to when an ego behind it is at the car."""
        (lorry,) = plan.screens
        start, _ = track.project_points(lorry.course.xyz[0, :2])
        return lorry.course.compute_seconds(self.spec.station - float(start)) + AFTER

    def get_conflict_station(self, plan: EncounterPlan) -> float:
        """Return where the car's tail is when it stands."""
        return self.spec.station

    def is_mover_hidden(self, track: Track, plan: EncounterPlan) -> bool:
        """Return that the lorry hides the car."""
        return bool(plan.screens)

    def compute_reveal_time(self, track: Track, plan: EncounterPlan) -> float:
        """Return the seconds from when an ego behind the lorry could first see the car."""
        (lorry,) = plan.screens
        seconds = self.compute_conflict_seconds(track, plan)
        conflict = PlannedMeeting(station=self.spec.station, seconds=seconds, over=seconds)
        return SightApproach(track, plan.mover, conflict, leader=lorry).compute_reveal((lorry,))


def make_swerve_plan(
    track: Track, station: float, car: MoverCourse, speed: float
) -> EncounterPlan | None:
    """Return the lorry and the car, the car's tail coming to stand at the station.

    Args:
        track: the ego's route.
        station: metres along it, where the car's tail comes to stand.
        car: the car's course.
        speed: of the lorry, m/s.

    Returns:
        None where there is no lane to swerve into, or the route is too short.
    """
    # the stretch that the lorry drives
    side = find_adjacent_lane(track, station)
    length = get_blueprint_size(LORRY)[0]
    out = station - SHORT - length / 2
    begin, end = out - RUN, station + RUN_OUT
    if side is None or begin < length / 2 or end > track.route.length:
        return None
    # the lorry changes lanes just before it reaches the car
    line = compute_swerve_line(track, np.arange(begin, end, 1.0), out - SWERVE, side)
    lorry = MovingActor(LORRY, make_course(line, speed, acceleration=PULLING_OFF))
    return EncounterPlan(
        mover=MovingActor(CAR, car),
        meeting=PlannedMeeting(station=begin - length / 2, seconds=NOTICE, over=0.0),
        standing=(),
        screens=(lorry,),
    )


def compute_swerve_line(track: Track, stations: Floats, begin: float, side: float) -> Floats:
    """Return places along the route that move over to the next lane."""
    share = np.clip((stations - begin) / SWERVE, 0.0, 1.0)
    return track.compute_points(stations, side * share * share * (3.0 - 2.0 * share))


def find_adjacent_lane(track: Track, station: float) -> float | None:
    """Return the metres to the right of a lane into which the lorry may swerve."""
    here = track.get_waypoint(station)
    for side, lane in ((-1.0, here.get_left_lane()), (1.0, here.get_right_lane())):
        if lane is not None and lane.lane_type & DRIVEN and lane.lane_id * here.lane_id > 0:
            return float(side * (lane.lane_width + here.lane_width) / 2)
    return None


AHEAD = 4.0
"""Metres between the lorry's nose and the car's tail while they drive."""


class HardBraking(LorryEncounter):
    """Both pull off as the ego comes near, so that it follows a lorry with a car before it."""

    safe_from_file = True
    kind = "hard_braking"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": SPEED,
        "braking": NumberParameter(
            default=8.0, low=4.0, high=9.0, unit="m/s²", meaning="of the car"
        ),
        "standing": NumberParameter(
            default=6.0, low=0.0, high=60.0, unit="s", meaning="of the car"
        ),
    }

    def plans(self, track: Track) -> Iterator[EncounterPlan]:
        """Yield the one way it can stand."""
        station, speed = self.spec.station, self.number("speed")
        tail, lorry = get_blueprint_size(CAR)[0] / 2, get_blueprint_size(LORRY)[0]
        stop = station + tail
        begin = station - SHORT - RUN + AHEAD + tail
        end = station + RUN_OUT
        side = find_adjacent_lane(track, station)
        if side is None or begin < lorry or end > track.route.length:
            return
        line = compute_swerve_line(track, np.arange(begin, end, 1.0), stop, side)
        car = make_course(
            line, speed, acceleration=PULLING_OFF,
            braking=self.number("braking"), pause_at=stop - begin, pause=self.number("standing"),
        )  # fmt: skip
        plan = make_swerve_plan(track, station, car, speed)
        if plan is not None:
            yield plan


class StoppedVehicle(LorryEncounter):
    """The car changes lanes after a while, so that the ego is not blocked for good."""

    safe_from_file = True
    kind = "stopped_vehicle"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": SPEED,
        "standing": NumberParameter(
            default=16.0, low=0.0, high=60.0, unit="s", meaning="from when the lorry drives off"
        ),
    }

    def plans(self, track: Track) -> Iterator[EncounterPlan]:
        """Yield the one way it can stand."""
        station = self.spec.station
        begin, end = station + get_blueprint_size(CAR)[0] / 2, station + RUN_OUT
        side = find_adjacent_lane(track, station)
        if side is None or end > track.route.length:
            return
        car = make_course(
            compute_swerve_line(track, np.arange(begin, end, 1.0), begin, side), 7.0,
            pause_at=0.0, pause=self.number("standing"),
        )  # fmt: skip
        plan = make_swerve_plan(track, station, car, self.number("speed"))
        if plan is not None:
            yield plan
