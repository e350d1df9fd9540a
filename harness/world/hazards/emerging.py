"""Plans for a road user who emerges from between parked vehicles.

The start is off the road on the right, hidden by a row that is parked at the kerb or stands in the
lane between. In a junction the crossing is on the road that the ego turns into, just past the
junction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.types.vocabulary import Floats
from harness.world.hazards.courses import MoverCourse, make_course
from harness.world.hazards.junctions import find_junction_rows
from harness.world.hazards.meeting import (
    EncounterPlan,
    MovingActor,
    PlannedMeeting,
    StaticActor,
    compute_mover_meeting,
)
from harness.world.hazards.parameters import ChoiceParameter, NumberParameter
from harness.world.hazards.sizes import get_blueprint_size, get_pull_away_acceleration
from harness.world.hazards.track import DRIVEN, Track

CourseFrom: TypeAlias = Callable[[float, float], MoverCourse | None]
"""From a station, and the metres right of the route at which the mover's middle begins."""

VAN, LORRY = "vehicle.mercedes.sprinter", "vehicle.carlamotors.carlacola"
LONG_LORRY = "vehicle.carlamotors.european_hgv"
ROWS: Mapping[str, tuple[str, ...]] = {
    "two_vans": (VAN,) * 2,
    "van": (VAN,),
    "two_lorries": (LORRY,) * 2,
    "lorry": (LORRY,),
    "two_long_lorries": (LONG_LORRY,) * 2,
    "long_lorry": (LONG_LORRY,),
    "five_vans": (VAN,) * 5,
    "five_lorries": (LORRY,) * 5,
    "nothing": (),
}
"""What hides the mover, from the front backwards."""
ANY = "any"
"""Stands for the first of the others for which there is room."""
HIDES = ChoiceParameter(
    default=ANY,
    options=(ANY, *ROWS),
    meaning="what stands between the ego and the start; any: the first that has room",
)
GAP = NumberParameter(
    default=0.5, low=0.3, high=17.0, unit="m", meaning="from what hides the mover to the mover"
)
SHIFTS = np.array([0.0, 2.0, -2.0, 4.0, -4.0, 6.0, -6.0])
"""Metres along the route by which it may be shifted from the requested station."""
PAST = np.arange(0.5, 12.1, 1.5)
"""Metres between a junction and the rear of what hides the start."""
OPEN = np.array([3.0, 1.0, -1.0, -3.0, -5.0])
"""Metres past the junction at which the road is crossed where nothing hides the start."""
LEEWAY, BETWEEN = 0.2, 0.8
"""Metres between the lane and a parked vehicle, and between vehicles of a row."""
LOW = 0.8
"""Metres above the ground at which a row's stretch of kerb is looked along."""
NEAREST, TAIL = 20.0, 2.0
"""Metres of route at least before and after the place."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EmergingMover:
    """Who emerges, from how far off the road, past what, and on which course."""

    blueprint: str
    depth: float  # m from the lane's edge
    gap: float  # m
    hides: str  # a name of ROWS, or ANY
    course: CourseFrom
    parked: bool = False  # along the kerb as the row is, else facing the road

    @property
    def half(self) -> tuple[float, float]:
        """Half of what its body takes along the road and across, m."""
        length, width, _ = get_blueprint_size(self.blueprint)
        return (length / 2, width / 2) if self.parked else (width / 2, length / 2)


class EmergingMeetings:
    """How a mover would meet the ego, worked out once for each place where it may emerge."""

    def __init__(self, track: Track, who: EmergingMover) -> None:
        self._track, self._who = track, who
        self._known: dict[float, tuple[MovingActor, PlannedMeeting] | None] = {}

    def get_meeting(self, station: float) -> tuple[MovingActor, PlannedMeeting] | None:
        """Return the mover and the meeting, None where it cannot emerge."""
        if station not in self._known:
            self._known[station] = self._compute_meeting(station)
        return self._known[station]

    def _compute_meeting(self, station: float) -> tuple[MovingActor, PlannedMeeting] | None:
        track, who = self._track, self._who
        right = measure_road_edge(track, station) + who.depth + who.half[1]
        on_road = track.is_on_road(track.pose(station, right))
        course = None if on_road else who.course(station, right)
        if course is None:
            return None
        mover = MovingActor(who.blueprint, course)
        meeting = compute_mover_meeting(track, mover, station)
        return None if meeting is None else (mover, meeting)


def iter_emerging_plans(
    track: Track, station: float, who: EmergingMover, meetings: EmergingMeetings
) -> Iterator[EncounterPlan]:
    """Yield plans at a station or near it, or past the junction there; open ones last.

    Args:
        track: the ego's route.
        station: metres along it, where they would meet.
        who: who emerges, and past what.
        meetings: of this mover, computed once for each place.
    """
    along = who.half[0]
    # what hides it, in the order of preference
    for name in ROWS if who.hides == ANY else (who.hides,):
        row = ROWS[name]
        # past a junction: the row, the gap and the mover need this much road
        past = compute_row_length(row) + who.gap + along + PAST if row else OPEN
        for at in iter_emerging_stations(track, station, past=past):
            pair = meetings.get_meeting(at)
            standing = place_parked_row(track, at - along - who.gap, row)
            if (
                pair is not None
                and standing is not None
                and _is_clear_of_scenery(track, pair[0], standing)
            ):
                yield EncounterPlan(
                    mover=pair[0], meeting=pair[1], standing=standing, taken={"hides": name}
                )


def _is_clear_of_scenery(
    track: Track, mover: MovingActor, standing: tuple[StaticActor, ...]
) -> bool:
    """Return whether no scenery is known to stand along the row: spawning would fail there."""
    if track.scenery is None or not standing:
        return True
    start, rear = mover.course.start, standing[-1].pose
    ends = np.array([(pose.x, pose.y, pose.z + LOW) for pose in (start, rear)])
    return not track.scenery.is_hidden(*ends)


def iter_emerging_stations(track: Track, station: float, *, past: Floats) -> Iterator[float]:
    """Yield stations on the route: near one, or so many metres past its junction."""
    rows = find_junction_rows(track, station) if track.is_in_junction(station) else None
    offered = station + SHIFTS if rows is None else float(track.route.station[rows[1]]) + past
    for at in offered.tolist():
        if NEAREST < at < track.route.length - TAIL:
            yield at


def measure_road_edge(track: Track, station: float) -> float:
    """Return the metres from the route's centre to where the road ends on the right."""
    kerb = track.is_at_kerb(station)
    return track.get_half_width(station) if kerb else track.measure_carriageway_right(station)


def make_straight_courses(track: Track, speed: float, blueprint: str) -> CourseFrom:
    """Return what makes courses straight across the whole road."""

    def course(station: float, start: float) -> MoverCourse:
        across = track.measure_carriageway_left(station) + 1.5
        ways = track.compute_points(np.full(2, station), np.array([start, -across]))
        return make_course(ways, speed, acceleration=get_pull_away_acceleration(blueprint))

    return course


def compute_row_length(row: tuple[str, ...]) -> float:
    """Return the metres that a row takes along the road."""
    return sum(get_blueprint_size(blueprint)[0] + BETWEEN for blueprint in row)


def place_parked_row(
    track: Track, front: float, row: tuple[str, ...]
) -> tuple[StaticActor, ...] | None:
    """Return a row backwards from a station, at the kerb or in the next lane to the right.

    None where it would stand in a junction, or partly in a lane.

    Args:
        track: the ego's route.
        front: metres along it, the front end of the row.
        row: blueprints, from the front backwards.
    """
    standing = []
    # at the kerb; else in the middle of the next lane to the right
    for blueprint in row:
        long, wide, _ = get_blueprint_size(blueprint)
        middle = front - long / 2
        front -= long + BETWEEN
        if middle < 0.0 or track.is_in_junction(middle):
            return None
        aside = track.get_half_width(middle) + LEEWAY + wide / 2
        if not track.is_at_kerb(middle):
            lane = track.get_waypoint(middle).get_right_lane()
            if lane is None or not lane.lane_type & DRIVEN:
                return None
            aside = track.get_half_width(middle) + lane.lane_width / 2
        standing.append(StaticActor(blueprint, track.pose(middle, aside)))
    return tuple(standing)
