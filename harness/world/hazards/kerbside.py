"""Hazards at the kerb: a pedestrian, a cyclist or a car emerges from between parked vehicles."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from harness.world.hazards.courses import MoverCourse, make_course
from harness.world.hazards.emerging import (
    GAP,
    HIDES,
    EmergingMeetings,
    EmergingMover,
    iter_emerging_plans,
    make_straight_courses,
)
from harness.world.hazards.encounter import PHASE, TIMING, Encounter
from harness.world.hazards.meeting import EncounterPlan
from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.track import Track

PEDESTRIAN, BICYCLE = "walker.pedestrian.*", "vehicle.bh.crossbike"
NOTICE_ON_FOOT, NOTICE = 1.8, 2.2
"""Seconds for which a pedestrian, and a cyclist, move before the meeting: an ego that watches them
sees within 0.8 and 1.5 s that they start, and then brakes."""


def make_depth_parameter(default: float, low: float, high: float) -> NumberParameter:
    """Return the declaration of how far off the road a mover starts."""
    meaning = "from the lane's edge to the mover at the start"
    return NumberParameter(default=default, low=low, high=high, unit="m", meaning=meaning)


class EmergingEncounter(Encounter):
    """What those who emerge from between parked vehicles share."""

    @abstractmethod
    def describe_mover(self, track: Track) -> EmergingMover:
        """Return who emerges, and how."""

    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield places at the kerb, where lanes lie between, or past a turn."""
        who = self.describe_mover(track)
        return iter_emerging_plans(track, self.spec.station, who, EmergingMeetings(track, who))


class OccludedPedestrian(EmergingEncounter):
    """Walks or runs straight across the road from between parked vehicles."""

    safe_from_file = True
    kind = "occluded_pedestrian"
    drives_on = False
    notice = NOTICE_ON_FOOT
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": NumberParameter(
            default=3.4, low=1.0, high=4.0, unit="m/s", meaning="of walking or running across"
        ),
        "depth": make_depth_parameter(3.0, 0.4, 6.0),
        "gap": GAP,
        "hides": HIDES,
        **TIMING,
    }

    def describe_mover(self, track: Track) -> EmergingMover:
        """Return who emerges, and how."""
        return EmergingMover(
            blueprint=PEDESTRIAN,
            depth=self.number("depth"),
            gap=self.number("gap"),
            hides=self.word("hides"),
            course=make_straight_courses(track, self.number("speed"), PEDESTRIAN),
        )


class OccludedCyclist(EmergingEncounter):
    """Rides straight across the road from between parked vehicles."""

    safe_from_file = True
    kind = "occluded_cyclist"
    drives_on = False
    notice = NOTICE
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": NumberParameter(
            default=4.0, low=2.0, high=6.0, unit="m/s", meaning="of riding across"
        ),
        "depth": make_depth_parameter(3.0, 0.4, 6.0),
        "gap": GAP,
        "hides": HIDES,
        **TIMING,
    }

    def describe_mover(self, track: Track) -> EmergingMover:
        """Return who emerges, and how."""
        return EmergingMover(
            blueprint=BICYCLE,
            depth=self.number("depth"),
            gap=self.number("gap"),
            hides=self.word("hides"),
            course=make_straight_courses(track, self.number("speed"), BICYCLE),
        )


ALONGSIDE, ALONG = 9.0, 22.0
"""Metres in which the car moves over into the lane, and that it then drives before it becomes
traffic."""
SLOW, SLOWLY = 2.5, 5.0
"""Its speed, m/s, once it is there, for how many metres."""
ACTOR = "vehicle.citroen.c3"


class CutIn(EmergingEncounter):
    """A parked car pulls out of a row into the lane and gathers speed slowly."""

    safe_from_file = True
    kind = "cut_in"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": NumberParameter(
            default=4.2, low=3.0, high=6.0, unit="m/s", meaning="until it is in the lane"
        ),
        "depth": make_depth_parameter(0.5, 0.3, 0.8),
        "gap": NumberParameter(
            default=1.0, low=0.5, high=6.0, unit="m", meaning="from what hides the car to the car"
        ),
        "hides": HIDES,
        **TIMING,
        "phase": replace(PHASE, default=-1.0),
    }

    def describe_mover(self, track: Track) -> EmergingMover:
        """Return who emerges, and how."""
        speed = self.number("speed")

        def course(station: float, start: float) -> MoverCourse | None:
            return make_pull_out_course(track, station, start, speed)

        return EmergingMover(
            blueprint=ACTOR,
            depth=self.number("depth"),
            gap=self.number("gap"),
            hides=self.word("hides"),
            course=course,
            parked=True,
        )


def make_pull_out_course(
    track: Track, station: float, start: float, speed: float
) -> MoverCourse | None:
    """Return the way from the kerb into the lane and along it.

    Args:
        track: the ego's route.
        station: metres along it, where the car stands.
        start: metres right of the route.
        speed: m/s until it is in the lane.
    """
    end = station + ALONGSIDE + ALONG
    if end > track.route.length - 1.0:
        return None
    stations = np.arange(station, end, 0.5)
    # a smooth step from the kerb to the lane's centre
    share = np.clip((stations - station) / ALONGSIDE, 0.0, 1.0)
    right = start * (1.0 - share * share * (3.0 - 2.0 * share))
    # slow once it is in the lane, then it gathers speed
    speeds = np.full(len(stations), 7.0)
    speeds[right > 0.5] = speed
    speeds[(right <= 0.5) & (stations < station + ALONGSIDE + SLOWLY)] = SLOW
    return make_course(track.compute_points(stations, right), speeds, acceleration=2.0)
