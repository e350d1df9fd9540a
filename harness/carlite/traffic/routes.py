"""Compiled: where a driver is on the network, where it goes next, and the path that follows."""

from __future__ import annotations

import numpy as np

from harness.carlite.angles import wrap_to_pi_in_kernel
from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled
from harness.carlite.traffic.drivers import ROUTE, SAMPLES, TrafficDriver
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.rng import sample_driver_uniform

AHEAD = 160.0
"""Metres of route that are decided ahead."""

LOST_ASIDE = 5.0
UNDERGROUND = 5.0
"""Metres below all lanes from which on a vehicle is parked, not driven."""

NO_PLAN, LINKS, TURNS = 0, 1, 2
"""Kinds of prescribed routes."""

SIDE_ACCELERATION = 2.2
"""Metres per second squared in a bend that passengers put up with."""

DODGE_LENGTH = 8.0
"""Metres over which a driver moves aside for something in the way, and back."""


@compiled
def place_driver(
    net: TrafficNetwork, me: TrafficDriver, x: float, y: float, z: float, yaw: float
) -> None:
    """Put a driver onto the nearest link that runs its way, unless it is far below.

    Args:
        net: links and their points.
        me: the driver.
        x: m.
        y: m.
        z: m.
        yaw: rad.
    """
    # the nearest point; other heights, headings and dead ends count as farther
    best, nearest = -1, np.inf
    for p in range(len(net.points)):
        dx, dy, dz = x - net.points[p].x, y - net.points[p].y, z - net.points[p].z
        flat = dx * dx + dy * dy
        if flat >= nearest:
            continue
        turned = abs(wrap_to_pi_in_kernel(yaw - net.points[p].yaw))
        cost = flat + 2.0 * max(abs(dz) - 1.0, 0.0) ** 2 + 12.0 * turned * turned
        if net.links[net.points[p].link].dead_end:
            cost += 4.0
        if cost < nearest:
            best, nearest = p, cost
    me.placed = best >= 0 and z > net.points[best].z - UNDERGROUND
    if not me.placed:
        return
    # a route of this one link, from here on
    link = net.points[best].link
    me.route[0], me.known, me.at = link, 1, 0
    me.station = (best - net.links[link].first) * net.links[link].step
    me.cleared = 1
    me.halted = False
    me.swerve_length = 0.0
    me.side = 0
    resume_route_plan(me)
    advance_driver(net, me, x, y)
    # back to the middle of the lane over 12 m
    start_swerve(me, me.lateral, 12.0)


@compiled
def start_swerve(me: TrafficDriver, lateral: float, length: float) -> None:
    """Let the path start `lateral` metres aside and blend into the lane over `length`.

    Args:
        me: the driver.
        lateral: m from the lane's middle.
        length: m along the lane.
    """
    me.swerve = lateral - me.lane_offset
    me.swerved = 0.0
    me.swerve_length = length


@compiled
def advance_driver(net: TrafficNetwork, me: TrafficDriver, x: float, y: float) -> None:
    """Follow the vehicle's centre along its route and forget what lies behind.

    Args:
        net: links and their points.
        me: the driver.
        x: m, of the vehicle's centre.
        y: m.
    """
    before = me.station
    passed = 0.0
    # project the centre onto the route; a step seldom crosses more than one link
    for _ in range(4):
        link = me.route[me.at]
        # the point of the link at the station so far
        last = net.links[link].count - 1
        t = min(max(me.station / net.links[link].step, 0.0), float(last))
        k = min(int(t), last - 1)
        p = net.links[link].first + k
        f = t - k
        yaw = net.points[p].yaw + f * (net.points[p + 1].yaw - net.points[p].yaw)
        cx = net.points[p].x + f * (net.points[p + 1].x - net.points[p].x)
        cy = net.points[p].y + f * (net.points[p + 1].y - net.points[p].y)
        # its station and lateral place are corrected by what is left
        dx, dy = x - cx, y - cy
        along = dx * np.cos(yaw) + dy * np.sin(yaw)
        me.lateral = dy * np.cos(yaw) - dx * np.sin(yaw)
        me.station = t * net.links[link].step + along
        # on to the next link
        if me.station > net.links[link].length and me.at + 1 < me.known:
            me.station -= net.links[link].length
            passed += net.links[link].length
            me.at += 1
            me.approach += 1
            me.stuck = 0
        elif abs(along) < 0.05:
            break
    # swerves and dodges go on by the way covered
    covered = max(me.station + passed - before, 0.0)
    me.swerved += covered
    me.dodge += (me.dodging - me.dodge) * min(covered / DODGE_LENGTH, 1.0)


@compiled
def drop_passed_links(net: TrafficNetwork, me: TrafficDriver, half_length: float) -> None:
    """Drop the links that the rear bumper has left.

    Args:
        net: links and their points.
        me: the driver.
        half_length: of the vehicle, m.
    """
    # the rear may still be some links behind the middle
    rear = me.station - half_length - 1.0
    keep = me.at
    while keep > 0 and rear < 0.0:
        keep -= 1
        rear += net.links[me.route[keep]].length
    if keep > 0:
        for k in range(keep, me.known):
            me.route[k - keep] = me.route[k]
        me.known -= keep
        me.at -= keep
        me.cleared = max(me.cleared - keep, 0)


@compiled
def extend_route(net: TrafficNetwork, me: TrafficDriver) -> None:
    """Decide on links until enough of the route is known."""
    # metres of route that are known beyond the vehicle
    ahead = -me.station
    for k in range(me.at, me.known):
        ahead += net.links[me.route[k]].length
    while ahead < AHEAD and me.known < ROUTE:
        link = _choose_next_link(net, me, me.route[me.known - 1])
        if link < 0:
            break
        me.route[me.known] = link
        me.known += 1
        ahead += net.links[link].length
    me.horizon = ahead


@compiled
def _choose_next_link(net: TrafficNetwork, me: TrafficDriver, link: int) -> int:
    """Pick the way on after `link`: as prescribed, else at random, dead ends last."""
    first, count = net.links[link].next_first, net.links[link].next_count
    if count == 0:
        return -1
    # the next of the prescribed links, if it follows this one
    if me.plan_kind == LINKS and me.plan_at + 1 < me.plan_count and me.plan[me.plan_at] == link:
        for k in range(first, first + count):
            if net.onward[k] == me.plan[me.plan_at + 1]:
                me.plan_at += 1
                return int(net.onward[k])
    # the next of the prescribed turns, where there is a choice
    if me.plan_kind == TURNS and count > 1 and me.plan_at < me.plan_count:
        me.plan_at += 1
        return _find_turning_link(net, first, count, me.plan[me.plan_at - 1])
    return _sample_next_link(net, me, first, count)


@compiled
def _sample_next_link(net: TrafficNetwork, me: TrafficDriver, first: int, count: int) -> int:
    # equal chances among links that lead on
    alive = 0
    for k in range(first, first + count):
        alive += not net.links[net.onward[k]].dead_end
    pick = int(sample_driver_uniform(me) * (alive if alive else count))
    for k in range(first, first + count):
        if alive and net.links[net.onward[k]].dead_end:
            continue
        if pick == 0:
            return int(net.onward[k])
        pick -= 1
    return int(net.onward[first])


@compiled
def resume_route_plan(me: TrafficDriver) -> None:
    """Take up a prescribed route where it comes through the driver's link, if it does."""
    if me.plan_kind != LINKS:
        return
    for k in range(me.plan_count):
        if me.plan[k] == me.route[me.at]:
            me.plan_at = k
            return


@compiled
def _find_turning_link(net: TrafficNetwork, first: int, count: int, wish: int) -> int:
    """The way that turns most to the left (wish 1), most to the right (2), else the least."""
    best, score = net.onward[first], np.inf
    for k in range(first, first + count):
        turn = net.links[net.onward[k]].turn
        cost = turn if wish == 1 else (-turn if wish == 2 else abs(turn))
        if cost < score:
            best, score = net.onward[k], cost
    return int(best)


@compiled
def compute_lateral_target(me: TrafficDriver, ahead: float) -> float:
    """Metres right of the centre line that the path lies, `ahead` metres from here."""
    aside = me.lane_offset + me.dodge + (me.dodging - me.dodge) * min(ahead / DODGE_LENGTH, 1.0)
    if me.swerve_length <= 0.0:
        return aside
    t = min(max((me.swerved + ahead) / me.swerve_length, 0.0), 1.0)
    blend = t * t * t * (10.0 - 15.0 * t + 6.0 * t * t)
    return aside + me.swerve * (1.0 - blend)


@compiled
def sample_driver_path(net: TrafficNetwork, me: TrafficDriver, speed: float) -> None:
    """Sample the path ahead: where it runs, how it bends, and how fast it may be driven.

    Args:
        net: links and their points.
        me: the driver; its path is changed.
        speed: m/s.
    """
    # samples reach as far as the driver needs to stop, and a bit farther
    me.spacing = min(max((14.0 + speed + speed * speed / 5.0) / SAMPLES, 0.4), 2.5)
    share = 1.0 - me.slower / 100.0
    k = me.at
    link = net.links[me.route[k]]
    station = me.station
    cos, sin, turned = 1.0, 0.0, 0.0
    for n in range(SAMPLES):
        # the link that this sample is on
        while station > link.length and k + 1 < me.known:
            station -= link.length
            k += 1
            link = net.links[me.route[k]]
        # between which two of its points, and how far
        last = link.count - 1
        t = min(max(station / link.step, 0.0), float(last))
        j = min(int(t), last - 1)
        f = t - j
        p, q = net.points[link.first + j], net.points[link.first + j + 1]
        # the point, moved aside as the driver wants, and along beyond the end of what is known
        yaw = p.yaw + f * (q.yaw - p.yaw)
        if yaw != turned:
            cos, sin, turned = np.cos(yaw), np.sin(yaw), yaw
        aside = compute_lateral_target(me, n * me.spacing)
        beyond = station - t * link.step
        me.path_x[n] = p.x + f * (q.x - p.x) - aside * sin + beyond * cos
        me.path_y[n] = p.y + f * (q.y - p.y) + aside * cos + beyond * sin
        me.path_z[n] = p.z + f * (q.z - p.z)
        me.lane_yaw[n] = yaw
        # the speed that the bend and the limit allow, or that a client asks for
        bend = p.curvature + f * (q.curvature - p.curvature)
        me.path_curvature[n] = bend
        comfortable = np.sqrt(SIDE_ACCELERATION / max(abs(bend), 1e-4))
        wished = max(p.speed_limit * share, 0.0) if np.isnan(me.desired_speed) else me.desired_speed
        me.path_speed[n] = min(wished, comfortable)
        station += me.spacing


@compiled
def compute_path_yaw(me: TrafficDriver, n: int) -> float:
    """The direction of the path, from its points: blending in is a change of direction."""
    return compute_path_direction(me.path_x, me.path_y, me.lane_yaw, n)


@compiled
def compute_path_direction(x: Floats, y: Floats, lane_yaw: Floats, n: int) -> float:
    """The direction from a point to the next; that of the lane where they are one.

    Args:
        x: (SAMPLES,) m.
        y: (SAMPLES,) m.
        lane_yaw: (SAMPLES,) rad.
        n: number of the point.

    Returns:
        rad.
    """
    k = min(n, SAMPLES - 2)
    dx, dy = x[k + 1] - x[k], y[k + 1] - y[k]
    if dx * dx + dy * dy > 1e-4:
        return float(np.arctan2(dy, dx))
    return float(lane_yaw[k])
