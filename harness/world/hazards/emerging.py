"""Plans for somebody who comes out from behind what stands at the kerb."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from harness.world.hazards.courses import Course, through
from harness.world.hazards.figures import size
from harness.world.hazards.meeting import Mover, Plan, Standing, meet
from harness.world.hazards.sightline import Sightline
from harness.world.hazards.track import Track

CourseFrom: TypeAlias = Callable[[float, float], Course | None]
"""From a station, and the metres right of the route at which the mover's middle begins."""

ROWS = (
    ("vehicle.mercedes.sprinter",),
    ("vehicle.mercedes.sprinter", "vehicle.mercedes.sprinter"),
    ("vehicle.carlamotors.carlacola",),
    ("vehicle.carlamotors.carlacola", "vehicle.carlamotors.carlacola"),
)
"""What hides somebody, from the front backwards."""
SHIFTS = (0.0, 2.0, -2.0, 4.0, -4.0, 6.0, -6.0)
"""Metres along the route by which it may stand beside where it was asked for."""
LEEWAY, BETWEEN = 0.2, 0.8
"""Metres between the lane and what stands beside it, and in a row."""
NARROWEST = 3.0
"""Metres from the lane's edge at which somebody must at least begin."""


def plans(
    track: Track, station: float, blueprint: str, depth: float, course: CourseFrom
) -> Iterator[Plan]:
    """Yield plans, well hidden ones first, those that begin far from the road before the others."""
    rest: list[Plan] = []
    for shift in SHIFTS:
        at = station + shift
        if not 20.0 < at < track.route.length - 5.0 or not track.beside_kerb(at):
            continue
        for row in ROWS:
            standing = parked(track, at - size(blueprint)[1] / 2 - 0.5, row)
            for deep in np.arange(depth, NARROWEST - 0.01, -0.6) if standing else ():
                start = track.half_width(at) + float(deep) + size(blueprint)[0] / 2
                plan = plan_of(track, at, standing, blueprint, course(at, start))
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


def parked(track: Track, front: float, row: tuple[str, ...]) -> tuple[Standing, ...]:
    """Return a row parked at the kerb backwards from a station, none where there is no kerb."""
    standing = []
    for each in row:
        long, wide, _ = size(each)
        middle = front - long / 2
        front -= long + BETWEEN
        if not track.beside_kerb(middle) or track.in_junction(middle):
            return ()
        kerb = track.half_width(middle) + LEEWAY + wide / 2
        standing.append(Standing(each, track.pose(middle, kerb)))
    return tuple(standing)


def plan_of(
    track: Track, at: float, standing: tuple[Standing, ...], blueprint: str, course: Course | None
) -> Plan | None:
    """Return how somebody on a course would meet the ego, None where they would not meet."""
    if course is None:
        return None
    mover = Mover(blueprint, course)
    meeting = meet(track, mover, at)
    if meeting is None:
        return None
    gap, hidden = Sightline(track, mover, meeting).past(standing)
    return Plan(mover, meeting, standing, (), gap, hidden)
