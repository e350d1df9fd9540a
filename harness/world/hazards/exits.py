"""Plans for a road user who crosses where the ego's lane is not at the kerb, or after a turn.

The crossing road user starts off the road on the right, hidden by what is parked at the kerb or
stands in the lane between. In a junction the crossing is on the road that the ego turns into, just
past the junction; where the route ends too early for that, nothing hides the start.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.world.hazards.emerging import (
    LEEWAY,
    NARROWEST,
    ROWS,
    SHIFTS,
    CourseFrom,
    parked,
    plan_of,
)
from harness.world.hazards.figures import size
from harness.world.hazards.meeting import Plan, Standing
from harness.world.hazards.track import DRIVEN, Track
from harness.world.hazards.ways import junction_rows

PAST = np.arange(0.5, 12.1, 1.5)
"""Metres between the junction and the rear of what hides the start."""
OPEN = (3.0, 1.0, -1.0, -3.0, -5.0)
"""Metres past the junction at which the road is crossed where nothing hides the start."""
SHALLOWER = 1.2
"""Metres by which starts nearer to the road differ."""
TAIL = 2.0
"""Metres that the route goes on at least past the crossing."""


def plans(
    track: Track, station: float, blueprint: str, depth: float, course: CourseFrom
) -> Iterator[Plan]:
    """Yield plans at a station, or past the junction there: sudden ones, hidden ones, open ones."""
    rows = junction_rows(track, station) if track.in_junction(station) else None
    edge = None if rows is None else float(track.route.station[rows[1]])
    rest: list[Plan] = []
    for deep in np.arange(depth, NARROWEST - 0.01, -SHALLOWER):
        for shift in SHIFTS if edge is None else PAST:
            found = list(_behind_rows(track, station, edge, float(shift), blueprint, deep, course))
            sudden = [plan for plan in found if plan.sudden]
            yield from sudden[:1]
            rest += [] if sudden else found
    yield from sorted(rest, key=lambda plan: -plan.hidden)
    if edge is not None:
        for past in OPEN:
            for deep in np.arange(depth, NARROWEST - 0.01, -SHALLOWER):
                open_plan = _from_afar(track, edge + past, (), blueprint, float(deep), course)
                if open_plan is not None:
                    yield open_plan


def _behind_rows(
    track: Track,
    station: float,
    edge: float | None,
    shift: float,
    blueprint: str,
    deep: float,
    course: CourseFrom,
) -> Iterator[Plan]:
    """Yield a plan for each row that could hide the start there."""
    for row in ROWS:
        long = sum(size(each)[0] + LEEWAY for each in row)
        front = (station if edge is None else edge + long) + shift
        standing = hiding(track, front, row)
        at = front + size(blueprint)[1] / 2 + 0.5
        if standing:
            plan = _from_afar(track, at, standing, blueprint, float(deep), course)
            if plan is not None:
                yield plan


def hiding(track: Track, front: float, row: tuple[str, ...]) -> tuple[Standing, ...]:
    """Return what stands at the kerb, or in the next lane to the right where there is one."""
    if track.beside_kerb(front):
        return parked(track, front, row)
    standing = []
    for blueprint in row:
        middle = front - size(blueprint)[0] / 2
        front -= size(blueprint)[0] + LEEWAY
        beside = track.waypoint(middle).get_right_lane()
        if beside is None or not beside.lane_type & DRIVEN or track.in_junction(middle):
            return ()
        right = track.half_width(middle) + beside.lane_width / 2
        standing.append(Standing(blueprint, track.pose(middle, right)))
    return tuple(standing)


def _from_afar(
    track: Track,
    at: float,
    standing: tuple[Standing, ...],
    blueprint: str,
    deep: float,
    course: CourseFrom,
) -> Plan | None:
    """Return the plan of a start so many metres beside the road at a station."""
    if not 20.0 < at < track.route.length - TAIL:
        return None
    start = track.carriageway_right(at) + deep + size(blueprint)[0] / 2
    return plan_of(track, at, standing, blueprint, course(at, start))
