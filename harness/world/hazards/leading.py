"""Plans for a lorry ahead of the ego that swerves out before whoever stands or brakes ahead."""

from __future__ import annotations

import numpy as np

from harness.vocabulary import Floats
from harness.world.hazards.courses import Course, through
from harness.world.hazards.figures import size
from harness.world.hazards.meeting import Meeting, Mover, Plan
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


def plan(track: Track, station: float, car: Course, speed: float) -> Plan | None:
    """Return the lorry and the car, the car's tail coming to stand at the station."""
    side = beside(track, station)
    length = size(LORRY)[0]
    out = station - SHORT - length / 2
    begin, end = out - RUN, station + RUN_OUT
    if side is None or begin < length / 2 or end > track.route.length:
        return None
    line = swerving(track, np.arange(begin, end, 1.0), out - SWERVE, side)
    lorry = Mover(LORRY, through(line, speed, acceleration=PULLING_OFF))
    return Plan(Mover(CAR, car), Meeting(begin - length / 2, NOTICE), (), (lorry,))


def swerving(track: Track, stations: Floats, begin: float, side: float) -> Floats:
    """Return places along the route that move over to the next lane."""
    share = np.clip((stations - begin) / SWERVE, 0.0, 1.0)
    return track.points(stations, side * share * share * (3.0 - 2.0 * share))


def beside(track: Track, station: float) -> float | None:
    """Return the metres to the right of a lane into which the lorry may swerve."""
    here = track.waypoint(station)
    for side, lane in ((-1.0, here.get_left_lane()), (1.0, here.get_right_lane())):
        if lane is not None and lane.lane_type & DRIVEN and lane.lane_id * here.lane_id > 0:
            return float(side * (lane.lane_width + here.lane_width) / 2)
    return None
