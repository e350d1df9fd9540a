"""A van blocks the lane while others come towards the ego; it drives on after a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

import carla
import numpy as np

from harness.world.hazards.courses import make_course
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.meeting import EncounterPlan, MovingActor, PlannedMeeting
from harness.world.hazards.nominal import CRUISE
from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.sizes import get_blueprint_size
from harness.world.hazards.timing import MoverTiming, make_notice_timing
from harness.world.hazards.track import DRIVEN, Track

VAN, CAR = "vehicle.mercedes.sprinter", "vehicle.citroen.c3"
NOTICE = 4.0
"""Seconds of undisturbed driving from the van at which the others drive off."""
RUN_OUT, FAR, APART = 25.0, 40.0, 14.0


class ManoeuvreOpposite(Encounter):
    """An ego that overtakes must yield to the two that come; one that waits gets past as well."""

    safe_from_file = True
    kind = "manoeuvre_opposite"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "standing": NumberParameter(
            default=20.0, low=0.0, high=60.0, unit="s", meaning="from when the ego comes near"
        ),
        "speed": NumberParameter(
            default=7.0, low=3.0, high=14.0, unit="m/s", meaning="of those who come"
        ),
    }

    def plans(self, track: Track) -> Iterator[EncounterPlan]:
        """Yield the van, with oncoming cars if a lane exists."""
        station = self.spec.station
        middle = station + get_blueprint_size(VAN)[0] / 2
        end = min(middle + RUN_OUT, track.route.length)
        if end < middle + 2.0:
            return
        # the van stands in the lane, and drives on after a while
        van = make_course(
            track.compute_points(np.arange(middle, end, 1.0)), 7.0,
            pause_at=0.0, pause=self.number("standing"),
        )  # fmt: skip
        # two cars on the opposite lane, where there is one
        coming = tuple(
            mover
            for distance in (FAR, FAR + APART)
            for mover in [_make_oncoming_car(track, station, distance, self.number("speed"))]
            if mover is not None
        )
        yield EncounterPlan(
            mover=MovingActor(VAN, van),
            meeting=PlannedMeeting(station=station, seconds=NOTICE, over=0.0),
            screens=coming,
        )

    def sample_timing(self, track: Track, plan: EncounterPlan) -> MoverTiming:
        """Return that the others drive off when the ego is near."""
        return make_notice_timing(track, plan, seconds=NOTICE, speed=CRUISE)


def _make_oncoming_car(
    track: Track, station: float, distance: float, speed: float
) -> MovingActor | None:
    """Return a car that comes towards the ego on the nearest lane that leads the other way."""
    # the first lane to the left that leads the other way
    here = track.get_waypoint(station)
    lane = here
    while lane is not None and lane.lane_id * here.lane_id > 0:
        lane = lane.get_left_lane()
    if lane is None or not lane.lane_type & DRIVEN:
        return None
    # (points, 3) its centre line, from where the car starts
    back = _walk_lane_steps(lane, round(distance), backwards=True)
    on = _walk_lane_steps(lane, 40, backwards=False)
    line = [*reversed(back), lane, *on]
    if len(back) < round(distance) or len(line) < 20:
        return None
    points = np.array([(p.x, p.y, p.z) for p in (waypoint.transform.location for waypoint in line)])
    return MovingActor(CAR, make_course(points, speed))


def _walk_lane_steps(lane: carla.Waypoint, count: int, *, backwards: bool) -> list[carla.Waypoint]:
    waypoints: list[carla.Waypoint] = []
    here = lane
    while len(waypoints) < count:
        ahead = here.previous(1.0) if backwards else here.next(1.0)
        if not ahead or ahead[0].is_junction:
            break
        here = ahead[0]
        waypoints.append(here)
    return waypoints
