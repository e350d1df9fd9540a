"""Plans for a road user who emerges from behind parked vehicles.

The start is off the road on the right, hidden by what is parked at the kerb or stands in the lane
between. In a junction the crossing is on the road that the ego turns into, just past the junction;
where the route ends too early for that, nothing hides the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from harness.world.hazards.courses import Course, through
from harness.world.hazards.junctions import junction_rows
from harness.world.hazards.meeting import EncounterPlan, Mover, Sightline, StaticActor, meet
from harness.world.hazards.sizes import size
from harness.world.hazards.track import DRIVEN, Track

CourseFrom: TypeAlias = Callable[[float, float], Course | None]
"""From a station, and the metres right of the route at which the mover's middle begins."""

ROWS = (
    ("vehicle.mercedes.sprinter",),
    ("vehicle.mercedes.sprinter", "vehicle.mercedes.sprinter"),
    ("vehicle.carlamotors.carlacola",),
    ("vehicle.carlamotors.carlacola", "vehicle.carlamotors.carlacola"),
)
"""What hides the mover, from the front backwards."""
SHIFTS = (0.0, 2.0, -2.0, 4.0, -4.0, 6.0, -6.0)
"""Metres along the route by which it may be shifted from the requested station."""
LEEWAY, BETWEEN = 0.2, 0.8
"""Metres between the lane and a parked vehicle, and between vehicles of a row."""
NARROWEST = 3.0
"""Metres from the lane's edge at which the mover must start at least."""


def plans_at_kerb(
    track: Track, station: float, *, blueprint: str, depth: float, course: CourseFrom
) -> Iterator[EncounterPlan]:
    """Yield plans, well hidden ones first, those that begin far from the road before the others."""
    rest: list[EncounterPlan] = []
    for shift in SHIFTS:
        at = station + shift
        if not 20.0 < at < track.route.length - 5.0 or not track.at_kerb(at):
            continue
        for row in ROWS:
            standing = parked(track, at - size(blueprint)[1] / 2 - 0.5, row)
            for deep in np.arange(depth, NARROWEST - 0.01, -0.6) if standing else ():
                start = track.half_width(at) + float(deep) + size(blueprint)[0] / 2
                plan = plan_from(
                    track, at, standing=standing, blueprint=blueprint, course=course(at, start)
                )
                if plan is not None and plan.sudden:
                    yield plan
                elif plan is not None:
                    rest.append(plan)
    yield from sorted(rest, key=lambda plan: -plan.hidden)


def straight_across(track: Track, speed: float) -> CourseFrom:
    """Return what makes courses straight across the whole road."""

    def course(station: float, start: float) -> Course:
        across = track.carriageway_left(station) + 1.5
        ways = track.points(np.full(2, station), np.array([start, -across]))
        return through(ways, speed, acceleration=4.0)

    return course


def parked(track: Track, front: float, row: tuple[str, ...]) -> tuple[StaticActor, ...]:
    """Return a row parked at the kerb backwards from a station, none where there is no kerb."""
    standing = []
    for blueprint in row:
        long, wide, _ = size(blueprint)
        middle = front - long / 2
        front -= long + BETWEEN
        if not track.at_kerb(middle) or track.in_junction(middle):
            return ()
        kerb = track.half_width(middle) + LEEWAY + wide / 2
        standing.append(StaticActor(blueprint, track.pose(middle, kerb)))
    return tuple(standing)


def plan_from(
    track: Track,
    at: float,
    *,
    standing: tuple[StaticActor, ...],
    blueprint: str,
    course: Course | None,
) -> EncounterPlan | None:
    """Return the plan of a mover on a course, None if it would not meet the ego."""
    if course is None:
        return None
    mover = Mover(blueprint, course)
    meeting = meet(track, mover, at)
    if meeting is None:
        return None
    gap, hidden = Sightline(track, mover, meeting).past(standing)
    return EncounterPlan(
        mover=mover, meeting=meeting, standing=standing, screens=(), gap_at_sight=gap, hidden=hidden
    )


PAST = np.arange(0.5, 12.1, 1.5)
"""Metres between the junction and the rear of what hides the start."""
OPEN = (3.0, 1.0, -1.0, -3.0, -5.0)
"""Metres past the junction at which the road is crossed where nothing hides the start."""
SHALLOWER = 1.2
"""Metres by which starts nearer to the road differ."""
TAIL = 2.0
"""Metres that the route goes on at least past the crossing."""


def plans_past_turn(
    track: Track, station: float, *, blueprint: str, depth: float, course: CourseFrom
) -> Iterator[EncounterPlan]:
    """Yield plans at a station, or past the junction there: sudden ones, hidden ones, open ones."""
    rows = junction_rows(track, station) if track.in_junction(station) else None
    edge = None if rows is None else float(track.route.station[rows[1]])
    rest: list[EncounterPlan] = []
    for deep in np.arange(depth, NARROWEST - 0.01, -SHALLOWER):
        for shift in SHIFTS if edge is None else PAST:
            plans = list(
                _behind_rows(
                    track,
                    station,
                    edge=edge,
                    shift=float(shift),
                    blueprint=blueprint,
                    deep=deep,
                    course=course,
                )
            )
            sudden = [plan for plan in plans if plan.sudden]
            yield from sudden[:1]
            rest += [] if sudden else plans
    yield from sorted(rest, key=lambda plan: -plan.hidden)
    if edge is not None:
        for past in OPEN:
            for deep in np.arange(depth, NARROWEST - 0.01, -SHALLOWER):
                open_plan = _from_afar(
                    track,
                    edge + past,
                    standing=(),
                    blueprint=blueprint,
                    deep=float(deep),
                    course=course,
                )
                if open_plan is not None:
                    yield open_plan


def _behind_rows(
    track: Track,
    station: float,
    *,
    edge: float | None,
    shift: float,
    blueprint: str,
    deep: float,
    course: CourseFrom,
) -> Iterator[EncounterPlan]:
    """Yield a plan for each row that could hide the start there."""
    for row in ROWS:
        long = sum(size(blueprint)[0] + LEEWAY for blueprint in row)
        front = (station if edge is None else edge + long) + shift
        standing = hiding(track, front, row)
        at = front + size(blueprint)[1] / 2 + 0.5
        if standing:
            plan = _from_afar(
                track, at, standing=standing, blueprint=blueprint, deep=float(deep), course=course
            )
            if plan is not None:
                yield plan


def hiding(track: Track, front: float, row: tuple[str, ...]) -> tuple[StaticActor, ...]:
    """Return what stands at the kerb, or in the next lane to the right where there is one."""
    if track.at_kerb(front):
        return parked(track, front, row)
    standing = []
    for blueprint in row:
        middle = front - size(blueprint)[0] / 2
        front -= size(blueprint)[0] + LEEWAY
        right_lane = track.waypoint(middle).get_right_lane()
        if right_lane is None or not right_lane.lane_type & DRIVEN or track.in_junction(middle):
            return ()
        right = track.half_width(middle) + right_lane.lane_width / 2
        standing.append(StaticActor(blueprint, track.pose(middle, right)))
    return tuple(standing)


def _from_afar(
    track: Track,
    at: float,
    *,
    standing: tuple[StaticActor, ...],
    blueprint: str,
    deep: float,
    course: CourseFrom,
) -> EncounterPlan | None:
    """Return the plan of a start so many metres off the road at a station."""
    if not 20.0 < at < track.route.length - TAIL:
        return None
    start = track.carriageway_right(at) + deep + size(blueprint)[0] / 2
    return plan_from(track, at, standing=standing, blueprint=blueprint, course=course(at, start))
