"""Compiled: who stands, walks or drives into the corridor of a driver's path.

Vehicles and walkers are obstacles, props are none: CARLA's Traffic Manager keeps track of those
two kinds of actors alone (`ALSM`), and its `CollisionStage` brakes for no other. Walkers count
whether or not they take part in collisions: a client's crowd switches that off for all of its own.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Bools, Bytes, Floats, Ints
from harness.carlite.compiled import allocating, compiled
from harness.carlite.traffic.drivers import SAMPLES, Drivers, TrafficDriver
from harness.carlite.traffic.moment import TrafficStep, ignores_actor
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.overhang import (
    estimate_most_aside,
    is_path_within,
    note_course,
    predict_overhang,
)
from harness.carlite.traffic.records import RecordRows, make_record_dtype
from harness.carlite.traffic.routes import DODGE_LENGTH, compute_path_yaw

VEHICLE, WALKER = int(ActorKind.VEHICLE), int(ActorKind.WALKER)
MARGIN = 0.3
"""Metres kept clear at the sides of the vehicle."""

STOREY = 2.7
"""What is this much above or below the path is on another road."""

DODGE = 0.5
"""Metres that a driver gives way sideways within its lane."""

DODGE_ONCOMING = 0.8
"""Likewise for what comes the other way, where lanes are narrow and bends tight."""

SQUEEZE = 4.0
"""Seconds after which a driver that is stuck passes others with next to no room."""

SQUEEZED = 10.0
"""What its seconds then count as: they run down at half speed, so it gets past at a stretch."""

VERGE = 0.2
"""Metres kept clear of scenery by who makes way."""

FORESIGHT = 3.0
"""Seconds over which the motion of walkers and of strangers is extrapolated."""


class RoadBody(Protocol):
    """One thing on or near the road: its pose, its motion and its box, without mirrors.

    `driver` is the index of its driver, -1 for strangers.
    """

    id: int
    kind: int
    driver: int
    x: float
    y: float
    z: float
    yaw: float
    pitch: float
    vx: float
    vy: float
    half_length: float
    half_width: float
    centre_x: float
    centre_y: float


Bodies: TypeAlias = RecordRows[RoadBody]
BODY = make_record_dtype(RoadBody)


def collect_bodies(table: ActorTable, drivers: Drivers, slots: Ints) -> Bodies:
    """Collect what drivers must mind, and note for each which is its vehicle, in `slots`."""
    return _collect_body_rows(
        drivers, slots, table.id, table.kind, table.solid, table.dead, table.position,
        table.rotation, table.velocity, table.extent, table.mirrors, table.box_centre, table.lamps,
    )  # fmt: skip


@allocating
def _collect_body_rows(
    d: Drivers,
    slots: Ints,
    ids: Ints,
    kind: Bytes,
    solid: Bools,
    dead: Bools,
    position: Floats,
    rotation: Floats,
    velocity: Floats,
    extent: Floats,
    mirrors: Floats,
    box_centre: Floats,
    lamps: Ints,
) -> Bodies:
    # (slots,): the driver of each slot, -1 without one
    driver = np.full(len(ids), -1)
    for i in range(len(d)):
        driver[slots[i]] = i
        d[i].lit = lamps[slots[i]]
    # one row for each road user, in the order of slots; not for who lies under a vehicle
    rows = np.zeros(len(ids), BODY)
    count = 0
    for slot in range(len(ids)):
        if kind[slot] == WALKER:
            minded = solid[slot] or not dead[slot]
        else:
            minded = solid[slot] and kind[slot] == VEHICLE
        if not minded and driver[slot] < 0:
            continue
        body = rows[count]
        body.id, body.kind, body.driver = ids[slot], kind[slot], driver[slot]
        body.x, body.y, body.z = position[slot]
        body.yaw, body.pitch = rotation[slot, 1], rotation[slot, 0]
        body.vx, body.vy = velocity[slot, 0], velocity[slot, 1]
        body.half_length, body.half_width = extent[slot, 0], extent[slot, 1] - mirrors[slot]
        body.centre_x, body.centre_y = box_centre[slot, 0], box_centre[slot, 1]
        if driver[slot] >= 0:
            d[driver[slot]].body = count
        count += 1
    return rows[:count]


@compiled
def find_corridor_gap(net: TrafficNetwork, me: TrafficDriver, b: Bodies, now: TrafficStep) -> None:
    """Find the nearest thing in the corridor; the gap runs from bumper to box."""
    # forget what was found in the last step
    slot = me.body
    speed = np.hypot(b[slot].vx, b[slot].vy)
    reach = me.spacing * (SAMPLES - 1)
    me.gap, me.gap_speed, me.blocker, me.askew = np.inf, 0.0, 0, False
    x, y = b[slot].x, b[slot].y
    kept, dodged, me.dodging, me.dodged = me.dodging, me.dodged, 0.0, 0
    noted, aside = False, np.inf
    for other in range(len(b)):
        if other == slot:
            continue
        # too far to be in the corridor, wherever it leads
        dx, dy = b[other].x - x, b[other].y - y
        size = b[other].half_length + b[other].half_width
        limit = reach + size + 12.0
        if dx * dx + dy * dy > limit * limit:
            continue
        # who is driven by no driver may turn anywhere: the driver's course is kept for it
        stranger = b[other].driver < 0
        if stranger and not noted:
            note_course(me, b[slot].yaw)
            noted, aside = True, estimate_most_aside(me, b[slot].half_length)
        # a client may let a driver ignore a share of the others
        share = me.ignore_walkers if b[other].kind == WALKER else me.ignore_vehicles
        if ignores_actor(now, me, b[other].id, share):
            continue
        # where it is now
        gap, pace, apart = np.inf, 0.0, stranger and _is_apart(me, b, other, aside)
        if not apart:
            gap, pace = _measure_corridor_room(
                me, b, other, 0.0, _choose_side_margin(me, b[other], b[slot])
            )
        # a vehicle in the way may be passed within the lane; one that was is passed to the end
        if gap < np.inf and b[other].kind == VEHICLE:
            _make_way(net, me, b, other, max(gap, 0.0), kept)
        elif b[other].id == dodged and me.dodged == 0 and _is_passing(b, slot, other):
            me.dodging, me.dodged = kept, dodged
        # where it will be, if it goes on as it does
        if gap == np.inf and stranger and not apart:
            gap, pace = _predict_corridor_entry(me, b, other, speed)
        # the one that has to be braked for first is kept
        if gap < np.inf and gap + _estimate_braking_room(pace) < me.gap + _estimate_braking_room(
            me.gap_speed
        ):
            me.gap, me.gap_speed, me.blocker = gap, pace, b[other].id
            me.askew = np.cos(b[other].yaw - b[slot].yaw) < 0.85
            me.on_foot = b[other].kind == WALKER


@compiled
def _is_apart(me: TrafficDriver, b: Bodies, other: int, aside: float) -> bool:
    """Whether a stranger stays clear of the corridor as long as its motion is extrapolated.

    That is so where the whole path is farther away than it can come, or the driver swing out.
    """
    reach = b[me.body].half_width + MARGIN + aside
    reach += b[other].half_length + b[other].half_width
    reach += np.hypot(b[other].centre_x, b[other].centre_y)
    reach += FORESIGHT * np.hypot(b[other].vx, b[other].vy)
    return not is_path_within(me, b[other].x, b[other].y, reach)


@compiled
def _make_way(
    net: TrafficNetwork, me: TrafficDriver, b: Bodies, other: int, gap: float, kept: float
) -> None:
    """Keep a little aside where that is enough to pass what stands or comes the other way."""
    # the path where the other is
    n = min(int((gap + b[me.body].half_length) / me.spacing), SAMPLES - 1)
    yaw = compute_path_yaw(me, n)
    tx, ty = np.cos(yaw), np.sin(yaw)
    pace = b[other].vx * tx + b[other].vy * ty
    along = np.cos(b[other].yaw - yaw)
    # only what stands, or comes towards this one
    if abs(pace) > 0.3 and along > -0.8:
        return
    # how much farther aside this one has to be to pass it
    dx, dy = b[other].x - me.path_x[n], b[other].y - me.path_y[n]
    aside = dy * tx - dx * ty
    half = b[other].half_width * abs(along)
    half += b[other].half_length * np.sqrt(max(1.0 - along * along, 0.0))
    margin = _choose_side_margin(me, b[other], b[me.body]) if me.squeezed > SQUEEZE else MARGIN
    needed = half + b[me.body].half_width + margin - abs(aside)
    if aside * me.path_curvature[n] < 0.0:
        needed += _compute_corner_swing(me, n, b[me.body].half_length)
    # as far as the lane and the verge have room
    most = DODGE_ONCOMING if along < -0.8 else DODGE
    if 0.0 < needed < most:
        shift = needed if aside < 0.0 else -0.5 * needed
        there = me.dodge + (kept - me.dodge) * min(n * me.spacing / DODGE_LENGTH, 1.0)
        room = _measure_room_aside(net, me, b[me.body], gap)
        me.dodging = max(min(there + shift, most, room), -most)
        me.dodged = b[other].id


@compiled
def _measure_room_aside(
    net: TrafficNetwork, me: TrafficDriver, body: RoadBody, gap: float
) -> float:
    """Metres that a driver may keep to the right from here to past a gap, for the scenery."""
    least = np.inf
    ahead = -me.station - body.half_length
    # link by link, from the vehicle's rear to a little past the gap
    for k in range(me.at, me.known):
        link = net.links[me.route[k]]
        start = max(int(-ahead / link.step), 0)
        end = int((gap + 2.0 * body.half_length + 4.0 - ahead) / link.step)
        for point in range(start, min(end, link.count)):
            p = net.points[link.first + point]
            # in a bend to the left the rear swings out to the right
            swing = body.half_length**2 * max(-p.curvature, 0.0) * 0.5
            least = min(least, p.room - swing)
        ahead += link.length
    return max(least - body.half_width - VERGE, 0.0)


@compiled
def _is_passing(b: Bodies, slot: int, other: int) -> bool:
    """Whether a driver has not yet passed what it made way for."""
    dx, dy = b[other].x - b[slot].x, b[other].y - b[slot].y
    ahead = dx * np.cos(b[slot].yaw) + dy * np.sin(b[slot].yaw)
    return bool(ahead > -b[slot].half_length - b[other].half_length)


@compiled
def _compute_corner_swing(me: TrafficDriver, n: int, half_length: float) -> float:
    """Metres by which the corners of a vehicle that follows its path swing out of a bend."""
    return float(half_length * half_length * abs(me.path_curvature[n]) * 0.5)


@compiled
def _choose_side_margin(me: TrafficDriver, other: RoadBody, body: RoadBody) -> float:
    """Room to leave at another's side: little where both drive the same line, less when stuck."""
    if other.kind != VEHICLE:
        return MARGIN
    if me.squeezed > SQUEEZE and other.driver >= 0:
        return 0.02
    if me.squeezed > SQUEEZE and abs(other.vx) + abs(other.vy) < 0.1:
        return 0.1
    return 0.15 if abs(np.sin(other.yaw - body.yaw)) < 0.3 else MARGIN


@compiled
def _estimate_braking_room(speed: float) -> float:
    """Room that a thing moving ahead at `speed` will still make."""
    return max(speed, 0.0) ** 2 / 8.0


@compiled
def _predict_corridor_entry(
    me: TrafficDriver, b: Bodies, other: int, speed: float
) -> tuple[float, float]:
    """Room until where a stranger is about to step or drive into the corridor.

    Only what will be there about when the driver is counts: it may pass well before or after.
    """
    if np.hypot(b[other].vx, b[other].vy) < 0.3:
        return np.inf, 0.0
    later = 0.3
    # moments 0.3 s apart: is it in the corridor then, and will the driver be there
    while later <= FORESIGHT:
        gap, pace = _measure_corridor_room(me, b, other, later, MARGIN)
        if gap < np.inf:
            arrival = max(gap, 0.0) / max(speed, 1.0)
            if arrival > later - 1.5:
                return max(gap, 0.0), pace
            return np.inf, 0.0
        later += 0.3
    return np.inf, 0.0


@compiled
def _measure_corridor_room(
    me: TrafficDriver, b: Bodies, other: int, later: float, margin: float
) -> tuple[float, float]:
    """Metres from the front bumper along the path to another's box `later` seconds from now.

    Marches along the path by the distance still free, so that most others cost a few steps. Where
    the nose swings out of turns is minded for strangers; drivers wait out of its way.
    """
    # the other's box: centre, axes and half sizes, `later` seconds from now
    yaw = b[other].yaw
    c, s = np.cos(yaw), np.sin(yaw)
    cx = b[other].x + b[other].vx * later
    cy = b[other].y + b[other].vy * later
    cx += c * b[other].centre_x - s * b[other].centre_y
    cy += s * b[other].centre_x + c * b[other].centre_y
    long, wide = b[other].half_length, b[other].half_width
    # the corridor along the path, as wide as the driver's body and a margin
    half = b[me.body].half_length
    corridor = b[me.body].half_width + margin
    spacing = me.spacing
    stranger = b[other].driver < 0
    if stranger and me.overhang_due:
        predict_overhang(me, half)
    # march: sample by sample near the box, in strides where it is far away
    n = int(max(half - corridor, 0.0) / spacing)
    while n < SAMPLES:
        dx, dy = me.path_x[n] - cx, me.path_y[n] - cy
        # distance from the path's sample to the box, in the box's frame
        u, v = c * dx + s * dy, c * dy - s * dx
        ou, ov = max(abs(u) - long, 0.0), max(abs(v) - wide, 0.0)
        away = np.sqrt(ou * ou + ov * ov)
        # how far the body reaches here at most, with what swings out
        turning = _compute_corner_swing(me, n, half)
        most = corridor + max(turning, me.most_overhang if stranger else 0.0)
        if away <= most:
            if me.overhang_due:
                predict_overhang(me, half)
            # near enough for a closer look: on which side the box is, and what swings out there
            direction = compute_path_yaw(me, n)
            tx, ty = np.cos(direction), np.sin(direction)
            nu, nv = -np.sign(u) * ou, -np.sign(v) * ov
            nx, ny = c * nu - s * nv, s * nu + c * nv
            ahead, aside = nx * tx + ny * ty, ny * tx - nx * ty
            outside = turning if aside * me.path_curvature[n] < 0.0 else 0.0
            # in the way: within what the body sweeps, ahead of it, and on the same storey
            swept = min(corridor + max(outside, me.path_overhang[n] * np.sign(aside)), most)
            level = abs(b[other].z - me.path_z[n]) < STOREY
            if away <= swept and ahead > -0.5 * corridor and level:
                gap = n * spacing + max(ahead, 0.0) - half
                pace = b[other].vx * tx + b[other].vy * ty
                return gap, pace
            n += 1
        else:
            n += max(1, int((away - most) / spacing))
    return np.inf, 0.0
