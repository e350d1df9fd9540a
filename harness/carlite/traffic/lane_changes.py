"""Compiled: changing lanes where the markings, the traffic and the road ahead allow it."""

from __future__ import annotations

import numpy as np

from harness.carlite.angles import wrap_to_pi_in_kernel
from harness.carlite.compiled import compiled
from harness.carlite.traffic.drivers import Drivers, TrafficDriver
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.obstacles import STOREY, Bodies
from harness.carlite.traffic.rng import sample_driver_uniform
from harness.carlite.traffic.routes import LINKS, resume_route_plan, start_swerve

MIN_ROOM = 35.0
"""Metres of link that must be left: no driver changes lanes in front of a junction by choice."""

ENDING = 150.0
"""Metres before the end of a lane at which a driver looks for a gap in the next lane."""

REST = 6.0
"""Seconds between two changes of lane by choice."""


@compiled
def change_lanes(net: TrafficNetwork, me: TrafficDriver, d: Drivers, b: Bodies, dt: float) -> None:
    """Start a lane change if one is wanted and possible."""
    slot = me.body
    speed = np.hypot(b[slot].vx, b[slot].vy)
    me.rested += dt
    # a change that is over
    if me.side != 0 and me.swerved >= me.swerve_length:
        me.side = 0
    # asked for by a client or the route, or because the lane ends, else by choice
    bidden = me.wanted_change if me.wanted_change != 0 else _find_planned_side(net, me)
    if bidden == 0:
        bidden = _find_way_out(net, me)
    forced = bidden != 0
    wish = bidden if forced else _choose_wished_side(me, speed, dt)
    if wish == 0 or me.at != 0 or me.side != 0:
        return
    target = _find_neighbour_point(net, me, wish, forced)
    if target < 0 or not _is_lane_free(net, me, d, b, target, speed, forced):
        return
    _switch_lane(net, me, b, target, wish, speed)


@compiled
def _choose_wished_side(me: TrafficDriver, speed: float, dt: float) -> int:
    """Where the driver would like to go by choice: -1 left, 1 right, 0 stay."""
    wanted = me.path_speed[0]
    # how long a slower vehicle has been ahead
    slow_leader = me.gap < 12.0 + 1.5 * speed and me.gap_speed < 0.7 * wanted
    me.urge = me.urge + dt if slow_leader and me.reason == 0 else 0.0
    if me.rested < REST or speed < 2.0:
        return 0
    if me.auto_change and me.urge > 2.0:
        return -1 if sample_driver_uniform(me) < 0.5 else 1
    # at random, by the shares that the client has set
    percent = sample_driver_uniform(me) * 100.0
    if percent < me.random_left * dt:
        return -1
    rightwards = (me.random_right + me.keep_right) * dt
    return 1 if percent > 100.0 - rightwards else 0


@compiled
def _find_planned_side(net: TrafficNetwork, me: TrafficDriver) -> int:
    """The side to which a prescribed route leaves the driver's link, 0 if it does not."""
    link = net.links[me.route[me.at]]
    if me.plan_kind != LINKS or link.junction >= 0:
        return 0
    # the point of the link where the driver is, and its neighbours
    k = int(min(max(me.station / link.step, 0.0), link.count - 1.0))
    point = net.points[link.first + k]
    for step in range(me.plan_count - 1):
        if me.plan[step] != me.route[me.at]:
            continue
        for side, neighbour in ((-1, point.left), (1, point.right)):
            if neighbour >= 0 and net.points[neighbour].link == me.plan[step + 1]:
                return side
    return 0


@compiled
def _find_way_out(net: TrafficNetwork, me: TrafficDriver) -> int:
    """The side with a lane that goes on, where the driver's lane is about to end; else 0."""
    link = net.links[me.route[me.at]]
    if not link.dead_end or link.junction >= 0 or link.length - me.station > ENDING:
        return 0
    k = int(min(max(me.station / link.step, 0.0), link.count - 1.0))
    point = net.points[link.first + k]
    for side, neighbour in ((-1, point.left), (1, point.right)):
        if neighbour >= 0 and not net.links[net.points[neighbour].link].dead_end:
            return side
    return 0


@compiled
def _find_neighbour_point(net: TrafficNetwork, me: TrafficDriver, wish: int, forced: bool) -> int:
    """The point next to the vehicle to change to, -1 where there is none or it is not allowed."""
    link = me.route[me.at]
    if net.links[link].junction >= 0:
        return -1
    # enough of the link has to be left
    room = net.links[link].length - me.station
    least = MIN_ROOM
    if forced:
        least = 1.0 if net.links[link].dead_end else 12.0
    if room < least:
        return -1
    k = int(min(max(me.station / net.links[link].step, 0.0), net.links[link].count - 1.0))
    # a neighbour here and for two more looks ahead, wide enough, and no dead end
    for ahead in (0, 8, 16):
        p = net.links[link].first + min(k + ahead, net.links[link].count - 1)
        neighbour = net.points[p].left if wish < 0 else net.points[p].right
        if neighbour < 0 or net.links[net.points[neighbour].link].dead_end:
            return -1
        if not forced and net.points[neighbour].width < 2.5:
            return -1
    # road markings allow it
    p = net.links[link].first + k
    if not forced and not net.points[p].change & (1 if wish < 0 else 2):
        return -1
    return net.points[p].left if wish < 0 else net.points[p].right


@compiled
def _is_lane_free(
    net: TrafficNetwork,
    me: TrafficDriver,
    d: Drivers,
    b: Bodies,
    target: int,
    speed: float,
    forced: bool,
) -> bool:
    """Whether no vehicle on the neighbouring lane would have to brake hard."""
    slot = me.body
    # the frame of the neighbouring lane at the target
    yaw = net.points[target].yaw
    c, s = np.cos(yaw), np.sin(yaw)
    for other in range(len(b)):
        dx = b[other].x - net.points[target].x
        dy = b[other].y - net.points[target].y
        if other == slot or abs(dx) > 60.0 or abs(dy) > 60.0:
            continue
        # not on another storey; ramps are as steep as 15 %
        if abs(b[other].z - b[slot].z) > STOREY + 0.15 * (abs(dx) + abs(dy)):
            continue
        # on that lane, or bound for it
        along, aside = c * dx + s * dy, c * dy - s * dx
        half = b[other].half_width
        if abs(wrap_to_pi_in_kernel(b[other].yaw - yaw)) > 0.5:
            half = max(half, b[other].half_length)
        reach = half + 0.5 * net.points[target].width + 0.3
        if abs(aside) > reach and not _is_bound_for_link(
            d, b[other].driver, net.points[target].link
        ):
            continue
        # room for its speed and ours
        pace = b[other].vx * c + b[other].vy * s
        room = abs(along) - b[other].half_length - b[slot].half_length
        closing = speed - pace if along > 0.0 else pace - speed
        margin = 1.0 if forced else 2.5 + 0.5 * speed
        if room < margin + max(closing, 0.0) * (1.0 if forced else 2.5):
            return False
    return True


@compiled
def _switch_lane(
    net: TrafficNetwork, me: TrafficDriver, b: Bodies, target: int, wish: int, speed: float
) -> None:
    link = net.points[target].link
    slot = me.body
    dx = b[slot].x - net.points[target].x
    dy = b[slot].y - net.points[target].y
    c, s = np.cos(net.points[target].yaw), np.sin(net.points[target].yaw)
    # the route begins again on the neighbouring lane
    me.route[0], me.known, me.at, me.cleared = link, 1, 0, 1
    me.station = (target - net.links[link].first) * net.links[link].step + c * dx + s * dy
    me.lateral = c * dy - s * dx
    # the offset from its middle is driven off over this many metres
    start_swerve(me, me.lateral, max(6.0 * b[slot].half_length, 14.0, 3.2 * speed))
    me.side = wish
    me.rested = 0.0
    me.urge = 0.0
    me.wanted_change = 0
    resume_route_plan(me)


@compiled
def _is_bound_for_link(d: Drivers, j: int, link: int) -> bool:
    """Whether driver `j` is on a link or just changing to it."""
    return j >= 0 and d[j].placed and d[j].route[d[j].at] == link
