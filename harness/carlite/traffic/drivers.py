"""What each driver wants, knows and does: one array element per vehicle the manager drives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeAlias

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.traffic.records import RecordRows, make_record_dtype

ROUTE = 32
"""Links a driver looks ahead, at most."""

SAMPLES = 64
"""Points of the path ahead."""


class WaitReason(IntEnum):
    """Why a driver may not enter the junction ahead."""

    NONE = 0
    LIGHT = 1
    SIGN = 2
    QUEUE = 3
    PRIORITY = 4
    CROSSING = 5
    ROOM = 6


LIGHT, SIGN, QUEUE = WaitReason.LIGHT.value, WaitReason.SIGN.value, WaitReason.QUEUE.value
PRIORITY, CROSSING, ROOM = (
    WaitReason.PRIORITY.value,
    WaitReason.CROSSING.value,
    WaitReason.ROOM.value,
)


@dataclass(kw_only=True)
class DriverWishes:
    """What a client asked of one vehicle; percentages in 0 … 100, distances in metres.

    Attributes:
        slower: percent below the speed limit, None to follow the manager's global value.
        desired_speed: kilometres per hour in place of the limit, None for the limit.
        forced_change: -1 to the left, 1 to the right, 0 none; done as soon as there is room.
    """

    slower: float | None = None
    desired_speed: float | None = None
    lane_offset: float | None = None
    distance: float | None = None
    ignore_lights: float = 0.0
    ignore_signs: float = 0.0
    ignore_walkers: float = 0.0
    ignore_vehicles: float = 0.0
    auto_change: bool = True
    keep_right: float = 0.0
    random_left: float = 0.0
    random_right: float = 0.0
    lamps: bool = False
    forced_change: int = 0


PLAN = 512
"""Links or turns of a prescribed route, at most; what lies beyond is left to chance."""


class TrafficDriver(Protocol):
    """One driver.

    Wishes, see `DriverWishes`:
        slower … lamps: as there; desired_speed in m/s, NaN for none.
        wanted_change: a forced lane change, -1 left, 1 right, 0 none.

    Place:
        body: its vehicle among the bodies of this step. actor: the vehicle's id.
        placed: whether the rest means anything.
        route: links from the one under the rear bumper to far ahead; known: how many.
        at: the one with the vehicle's centre. station: of the centre on it.
        lateral: metres right of its centre line. x, y: the centre at the last step.
        approach: links passed so far.
        plan, plan_count, plan_at: a prescribed route and how far it is used up;
        plan_kind: what it is made of.

    Manoeuvres:
        swerve: metres aside from which the path blends back into the lane, over swerve_length
        metres; swerved: metres since its start. side: -1 or 1 while changing lanes.
        dodge: metres aside for the sake of what is in the way; dodging: what they change to;
        dodged: the actor for whose sake, 0 none.
        rested: seconds since the last lane change. urge: seconds spent behind a slow leader.

    Junctions:
        cleared: the driver may enter `route[: cleared]`. ticket: its rank among all clearances;
        since_cleared: seconds since. halted: whether it has stood at the stop sign ahead.
        reason: why it may not enter the next junction, a `WaitReason`; waits_for: the actor that it
        lets go first there, or farther on in the junction that it is in, 0 none;
        kept_out: seconds that it has stood before the next junction for walkers.

    The present step:
        path_x, path_y, path_z, path_curvature, path_speed: points ahead, `spacing` metres apart.
        lane_yaw: direction of the lane there. path_overhang: metres to the right of each by which
        the front bumper passes it; most_overhang: the most to either side. They follow from the
        course, a path as it was when a stranger was about: course_x, course_y, course_lane_yaw,
        course_spacing, course_yaw of the vehicle, course_direction between its points;
        overhang_due: whether that has not been looked at since.
        horizon: metres of route known ahead.
        gap: room to the nearest thing in the way; gap_speed: its speed along the path;
        blocker: its actor id, 0 none; askew: whether it faces another way;
        on_foot: whether it is a walker.
        stop: metres to where the front bumper must stand.
        pushing: seconds that it has tried to set off in vain; stuck: how often it has given that up
        on this link; backing: metres still to reverse;
        backed_for: the stranger for which it last did; aside: seconds to stand afterwards;
        let_go: seconds in which others' precedence does not hold it, as they wait for it.
        standing: seconds it has stood. squeezed: seconds stuck before something askew.
        acceleration: asked for; effort: the correction integrated on top; last_speed: a step ago.
        throttle, steer, brake, lit: the controls and lamps. signal: -1, 0, 1 for the blinker.
        random: the state of the driver's own stream of numbers.
    """

    body: int
    actor: int
    slower: float
    desired_speed: float
    lane_offset: float
    distance: float
    ignore_lights: float
    ignore_signs: float
    ignore_walkers: float
    ignore_vehicles: float
    auto_change: bool
    keep_right: float
    random_left: float
    random_right: float
    lamps: bool
    wanted_change: int
    placed: bool
    route: Int32s
    known: int
    at: int
    station: float
    lateral: float
    x: float
    y: float
    plan: Int32s
    plan_kind: int
    plan_count: int
    plan_at: int
    swerve: float
    swerved: float
    swerve_length: float
    side: int
    dodge: float
    dodging: float
    dodged: int
    rested: float
    urge: float
    cleared: int
    ticket: int
    since_cleared: float
    halted: bool
    approach: int
    path_x: Floats
    path_y: Floats
    path_z: Floats
    lane_yaw: Floats
    path_curvature: Floats
    path_speed: Floats
    path_overhang: Floats
    course_x: Floats
    course_y: Floats
    course_lane_yaw: Floats
    course_direction: Floats
    course_spacing: float
    course_yaw: float
    overhang_due: bool
    most_overhang: float
    spacing: float
    horizon: float
    gap: float
    gap_speed: float
    blocker: int
    askew: bool
    on_foot: bool
    stop: float
    reason: int
    waits_for: int
    kept_out: float
    pushing: float
    stuck: int
    backing: float
    backed_for: int
    aside: float
    let_go: float
    standing: float
    acceleration: float
    squeezed: float
    last_speed: float
    signal: int
    effort: float
    throttle: float
    steer: float
    brake: float
    lit: int
    random: np.uint64


Drivers: TypeAlias = RecordRows[TrafficDriver]
DRIVER = make_record_dtype(
    TrafficDriver,
    route=ROUTE,
    plan=PLAN,
    path_x=SAMPLES,
    path_y=SAMPLES,
    path_z=SAMPLES,
    lane_yaw=SAMPLES,
    path_curvature=SAMPLES,
    path_speed=SAMPLES,
    path_overhang=SAMPLES,
    course_x=SAMPLES,
    course_y=SAMPLES,
    course_lane_yaw=SAMPLES,
    course_direction=SAMPLES,
)
