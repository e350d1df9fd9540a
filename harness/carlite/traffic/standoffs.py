"""Compiled: drivers that wait for each other in a circle.

CARLA's Traffic Manager destroys what stands for long. Here one of the circle goes: the one that
others' precedence alone holds, else the last one that was cleared for its way, of those who have
room behind, goes back a little, stands aside for a while and lets the others pass. So it does,
once, before a vehicle that the manager does not drive, and after setting off in vain.

What else was tried: decision 0054.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Ints
from harness.carlite.compiled import allocating, compiled
from harness.carlite.traffic.drivers import LIGHT, SIGN, Drivers, TrafficDriver
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.obstacles import STOREY, VEHICLE, Bodies
from harness.carlite.traffic.routes import start_swerve

LOOK_EVERY = 20
"""Steps between two looks for circles."""

STANDOFF, LONG_STANDOFF = 5.0, 8.0
"""Seconds of standing after which drivers count as waiting for each other, or for a stranger."""

IN_VAIN = 4.0
"""Seconds of setting off in vain after which a driver reverses: something that it does not look out
for is in the way, as a piece of scenery."""

RETURN = 8.0
"""Metres over which it comes back to the middle of its lane."""

CIRCLE = 8
"""Drivers in a circle, at most."""

NOSE = 4.0
"""Metres within which something is what a driver stands before."""

BACK, BACK_ROOM = 5.0, 1.0
"""Metres that are reversed, and that are kept clear behind."""

BEHIND = 8.0
"""Metres behind a vehicle that are looked at."""

CLEAR = 0.3
"""Metres kept clear at the sides while reversing."""

LET_GO = 6.0
"""Seconds in which others' precedence does not hold a driver."""

ASIDE = 4.0
"""Seconds that a driver lets others pass after reversing."""


@compiled
def break_standoffs(net: TrafficNetwork, d: Drivers, b: Bodies, step: int) -> None:
    """Let one driver of each circle reverse."""
    if step % LOOK_EVERY != 0:
        return
    for i in range(len(d)):
        if not d[i].placed:
            continue
        # one that reverses: no farther than there is room behind
        if d[i].backing > 0.0:
            d[i].backing = min(
                d[i].backing, max(measure_room_behind(b, d[i].body) - BACK_ROOM, 0.0)
            )
        # one that wants to go and does not move
        elif d[i].pushing > IN_VAIN:
            _start_reversing(d[i], b)
            d[i].pushing, d[i].aside, d[i].dodge, d[i].dodging = 0.0, 0.0, 0.0, 0.0
            d[i].stuck += 1
            start_swerve(d[i], d[i].lateral, RETURN)
        elif d[i].standing < STANDOFF:
            continue
        # one that waits for a body without a driver
        elif _is_waiting_for_stranger(net, d, b, i):
            if d[i].backed_for != d[i].blocker and _start_reversing(d[i], b):
                d[i].backed_for = d[i].blocker
        else:
            _break_circle(d, b, i)


@allocating
def _break_circle(d: Drivers, b: Bodies, i: int) -> None:
    """Follow the drivers waited for; if that leads back to the first, let one of them go."""
    # the circle, if there is one
    members = np.empty(CIRCLE, np.int64)
    count, k = 0, i
    while count < CIRCLE:
        members[count] = k
        count += 1
        k = _find_awaited_driver(d, k)
        if k < i or d[k].standing < STANDOFF or d[k].backing > 0.0:
            return  # the first of the circle in the fleet breaks it
        if k == i:
            break
    if k != i:
        return
    # let one go, or else let the youngest claim reverse, or the next youngest
    if _release_one_driver(d, members[:count]):
        return
    for _ in range(count):
        youngest, ticket = -1, -1
        for place in range(count):
            j = members[place]
            if j >= 0 and _is_blocked_ahead(d[j]) and d[j].ticket > ticket:
                youngest, ticket = place, d[j].ticket
        if youngest < 0 or _start_reversing(d[members[youngest]], b):
            return
        members[youngest] = -1


@compiled
def _release_one_driver(d: Drivers, members: Ints) -> bool:
    """Let the one go that waits for another's precedence alone, the way before it being free."""
    longest = -1
    for j in members:
        held = d[j].stop < NOSE and d[j].gap > d[j].stop + NOSE and d[j].reason not in (LIGHT, SIGN)
        if held and (longest < 0 or d[j].standing > d[longest].standing):
            longest = j
    if longest >= 0:
        d[longest].let_go = LET_GO
    return longest >= 0


@compiled
def _find_awaited_driver(d: Drivers, i: int) -> int:
    """Return the driver for which another stands, -1 if it is none."""
    actor = d[i].blocker if _is_blocked_ahead(d[i]) else d[i].waits_for
    for j in range(len(d)):
        if d[j].actor == actor and actor != 0:
            return j
    return -1


@compiled
def _is_blocked_ahead(me: TrafficDriver) -> bool:
    """Whether what is ahead keeps a driver, and not a line."""
    return bool(me.gap < NOSE and me.gap < me.stop + me.distance)


@compiled
def _is_waiting_for_stranger(net: TrafficNetwork, d: Drivers, b: Bodies, i: int) -> bool:
    """Whether a driver stands long in a junction before a vehicle that faces another way."""
    if net.links[d[i].route[d[i].at]].junction < 0 or d[i].standing < LONG_STANDOFF:
        return False
    if not (d[i].askew and _is_blocked_ahead(d[i])):
        return False
    for other in range(len(b)):
        if b[other].id == d[i].blocker:
            return bool(b[other].kind == VEHICLE and b[other].driver < 0)
    return False


@compiled
def _start_reversing(me: TrafficDriver, b: Bodies) -> bool:
    """Let a driver reverse if there is room."""
    room = measure_room_behind(b, me.body) - BACK_ROOM
    if room < BACK_ROOM:
        return False
    me.backing, me.aside = min(room, BACK), ASIDE
    return True


@compiled
def measure_room_behind(b: Bodies, slot: int) -> float:
    """Metres that a vehicle may reverse straight before it meets anyone, up to `BEHIND`."""
    room = BEHIND
    c, s = np.cos(b[slot].yaw), np.sin(b[slot].yaw)
    for other in range(len(b)):
        dx, dy = b[other].x - b[slot].x, b[other].y - b[slot].y
        # near enough, and on the same storey
        size = b[other].half_length + b[other].half_width
        if other == slot or max(abs(dx), abs(dy)) > BEHIND + b[slot].half_length + size:
            continue
        if abs(b[other].z - b[slot].z) > STOREY:
            continue
        # half sizes of the other, along and across this vehicle
        turned = b[other].yaw - b[slot].yaw
        along, across = abs(np.cos(turned)), abs(np.sin(turned))
        long = along * b[other].half_length + across * b[other].half_width
        wide = across * b[other].half_length + along * b[other].half_width
        back, aside = -dx * c - dy * s, abs(dy * c - dx * s)
        if back > 0.0 and aside < wide + b[slot].half_width + CLEAR:
            room = min(room, back - long - b[slot].half_length)
    return max(room, 0.0)
