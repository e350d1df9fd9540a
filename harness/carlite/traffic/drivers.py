"""What each driver wants, knows and does: one array element per vehicle the manager drives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeAlias

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.traffic.records import Rows, record_dtype

ROUTE = 32
"""Links a driver looks ahead, at most."""

SAMPLES = 64
"""Points of the path ahead."""


class Reason(IntEnum):
    """Why a driver may not enter the junction ahead."""

    NONE = 0
    LIGHT = 1
    SIGN = 2
    QUEUE = 3
    PRIORITY = 4
    CROSSING = 5
    ROOM = 6


LIGHT, SIGN, QUEUE = Reason.LIGHT.value, Reason.SIGN.value, Reason.QUEUE.value
PRIORITY, CROSSING, ROOM = Reason.PRIORITY.value, Reason.CROSSING.value, Reason.ROOM.value


@dataclass
class Wishes:
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


class Driver(Protocol):
    """One driver.

    Wishes:
        slower, desired_speed (m/s, NaN for none), lane_offset, distance, ignore_lights, … as in
        `Wishes`. rank: how desperately a lane change is wanted is in `wanted_change`.

    Place:
        body: its vehicle among the bodies of this step. placed: whether the rest of this block means anything.
        route: links behind the rear bumper's to far ahead. known: how many of them. at: the one
        with the centre. station: the centre's on that link. lateral: metres right of its centre
        line. x, y: the centre's position at the last step.
        plan, plan_count, plan_at: links or turns a client prescribed; plan_kind 0 none, 1 links,
        2 turns.

    Manoeuvres:
        swerve: lateral offset from which the path blends back, swerved: metres since its start,
        swerve_length: metres it takes. side: -1 or 1 while changing lanes, for the blinkers.
        rested: seconds since the last lane change. urge: seconds spent behind a slow leader.
        wanted_change: -1, 0, 1 as forced or planned.

    Junctions:
        cleared: the driver may enter `route[: cleared]`. ticket: rank by the step at which it was cleared,
        since_cleared: seconds since.
        halted: whether it has stood at the stop sign ahead. approach: count of approaches so far.

    Plan of the present step:
        path_x, path_y, path_z, path_yaw, path_curvature, path_speed: points ahead, `spacing` apart.
        horizon: metres of route known ahead.
        gap, gap_speed, blocker: room to the nearest thing in the way, its speed along the path,
        its actor id (0 none). stop: metres the centre may still travel to the next stop, inf if none.
        reason: why it may not go, a `Reason`.
        standing: seconds it has stood. squeezed: seconds it has been stuck behind `blocker`.
        acceleration: asked for, effort: the correction learnt on top. last_speed: a step ago.
        signal: -1, 0, 1 for the blinker. random: the driver's own stream of numbers.
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
    path_yaw: Floats
    path_curvature: Floats
    path_speed: Floats
    spacing: float
    horizon: float
    gap: float
    gap_speed: float
    blocker: int
    stop: float
    reason: int
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


Drivers: TypeAlias = Rows[Driver]
DRIVER = record_dtype(
    Driver,
    route=ROUTE,
    plan=PLAN,
    path_x=SAMPLES,
    path_y=SAMPLES,
    path_z=SAMPLES,
    path_yaw=SAMPLES,
    path_curvature=SAMPLES,
    path_speed=SAMPLES,
)
