"""Compiled: who may enter a junction.

A driver stops before a junction until it is cleared for all of its way through. It is cleared when
light and sign allow it, no vehicle it must give way to is near, vehicles already cleared for a
conflicting way will be gone in time, and there is room to leave the junction again. Within the
junction the driver cleared earlier has precedence, so waiting never goes round in a circle.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.compiled import allocating, compiled
from harness.carlite.traffic.approaches import Approaches, PrioritySign
from harness.carlite.traffic.board import (
    STOP_SHORT,
    JunctionBoard,
    enter_cleared_driver,
    fill_board,
)
from harness.carlite.traffic.conflicts import ConflictZones
from harness.carlite.traffic.drivers import (
    LIGHT,
    PRIORITY,
    QUEUE,
    ROOM,
    SIGN,
    Drivers,
    TrafficDriver,
)
from harness.carlite.traffic.lights import TrafficLightState
from harness.carlite.traffic.moment import TrafficStep, ignores_signal
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.obstacles import Bodies
from harness.carlite.traffic.precedence import (
    PATIENCE,
    find_yield_reason,
    get_approach_rank,
    measure_stop_distance,
)

RED, YELLOW = TrafficLightState.RED.value, TrafficLightState.YELLOW.value
STOP = PrioritySign.STOP.value


@allocating
def clear_junctions(
    net: TrafficNetwork,
    conf: ConflictZones,
    app: Approaches,
    d: Drivers,
    b: Bodies,
    board: JunctionBoard,
    now: TrafficStep,
) -> None:
    """Decide for every driver how far it is cleared, and where it has to stop."""
    fill_board(net, app, d, b, board, now)
    # who asks to enter a junction, in the order of its right
    key = np.full(len(d), np.inf)
    for i in range(len(d)):
        d[i].waits_for = 0
        if board.who[i].entry < 0:
            d[i].reason = 0
        else:
            key[i] = _compute_request_rank(net, app, d, board, i)
    # a stable sort: equal ranks keep the order of the fleet
    order = np.argsort(key, kind="mergesort")
    # the first in rank is decided first: what it is granted binds the others
    for place in range(len(order)):
        i = order[place]
        if board.who[i].entry < 0:
            continue
        reason = _find_wait_reason(net, conf, app, d, board, now, i)
        d[i].reason = reason
        if reason == 0:
            _clear_driver(net, d, board, i)
            d[i].ticket, d[i].since_cleared = now.step * 1024 + place, 0.0
    # where all of them have to stop
    for i in range(len(d)):
        d[i].stop = measure_stop_distance(net, conf, d, board, now, i)


@compiled
def _compute_request_rank(
    net: TrafficNetwork, app: Approaches, d: Drivers, board: JunctionBoard, i: int
) -> float:
    """Main roads before side roads, then first come, first served."""
    standing = (
        get_approach_rank(app, d[i].route[board.who[i].entry - 1]) if board.who[i].entry > 0 else 2
    )
    if board.who[i].speed < 0.5 and board.who[i].to_line < 3.0:
        return -1000.0 * standing - min(d[i].standing, 500.0)
    return -1000.0 * standing + board.who[i].to_line / max(board.who[i].speed, 1.0)


@compiled
def _find_wait_reason(
    net: TrafficNetwork,
    conf: ConflictZones,
    app: Approaches,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
) -> int:
    """Return the `WaitReason` why driver `i` may not enter, 0 if it may."""
    entry, room, speed = board.who[i].entry, board.who[i].to_line, board.who[i].speed
    approach = d[i].route[entry - 1] if entry > 0 else -1
    # too far from the line to ask
    if room > speed * speed / 4.0 + speed + 10.0:
        return QUEUE
    # lights and signs, those before it in the lane, then everyone else
    held = _find_signal_reason(net, app, d, board, now, i, approach) if approach >= 0 else 0
    if held != 0:
        return held
    if _is_queued(net, d, board, i):
        return QUEUE
    # let go to end a standoff: room and right of way do not matter
    if d[i].let_go > 0.0:
        return 0
    if not _has_room_to_leave(net, d, board, now, i):
        return ROOM
    return find_yield_reason(net, conf, app, d, board, now, i)


@compiled
def _find_signal_reason(
    net: TrafficNetwork,
    app: Approaches,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
    approach: int,
) -> int:
    """Return why a light or a stop sign holds driver `i`, 0 if none does.

    At yellow those who cannot stop any more go on, and those who have waited to turn left.
    """
    me, room, speed = d[i], board.who[i].to_line, board.who[i].speed
    light = app[approach].light
    # a light; who is over the line already has passed it
    if light >= 0:
        if room <= -1.5 or ignores_signal(now, me, light, me.ignore_lights):
            return 0
        waited = room < 1.0 and me.standing > 1.5 and now.shown[light] < 1.0
        turning = waited and net.links[me.route[board.who[i].entry]].turn < -0.5
        passes = speed * speed > 2.0 * 5.0 * max(room + STOP_SHORT, 0.1)
        stops = now.lights[light] == YELLOW and not (passes or turning)
        return LIGHT if now.lights[light] == RED or stops else 0
    # a stop sign: it is enough to have stood once
    me.halted = me.halted or (room < 3.0 and speed < 0.2)
    must_halt = app[approach].sign == STOP and not me.halted
    return SIGN if must_halt and not ignores_signal(now, me, approach, me.ignore_signs) else 0


@compiled
def _is_queued(net: TrafficNetwork, d: Drivers, board: JunctionBoard, i: int) -> bool:
    """Whether a vehicle ahead on the same approach waits for the same clearance."""
    before = d[i].route[board.who[i].entry - 1]
    for j in range(len(d)):
        rival = j != i and board.who[j].entry > 0 and d[j].route[board.who[j].entry - 1] == before
        if rival and board.who[j].to_line < board.who[i].to_line - 1.0:
            d[i].waits_for = d[j].actor
            return True
    return False


@compiled
def _has_room_to_leave(
    net: TrafficNetwork, d: Drivers, board: JunctionBoard, now: TrafficStep, i: int
) -> bool:
    """Whether the vehicle would fit behind those that stand beyond the junction."""
    leave = board.who[i].leave
    # metres from the front to the end of the junction, and metres needed beyond it
    through = board.who[i].to_line + STOP_SHORT
    for k in range(board.who[i].entry, leave):
        through += net.links[d[i].route[k]].length
    need = 2.0 * board.who[i].half + 1.5
    # something slow right ahead is where this one would have to stop
    slow = d[i].gap_speed < 2.5 and board.who[i].to_line < d[i].gap < through + need
    if slow and _is_kept_out(d[i], now.dt):
        d[i].waits_for = d[i].blocker
        return False
    if leave >= d[i].known:
        return True
    # room on the link beyond: up to the last slow vehicle, less those on their way to it
    target = d[i].route[leave]
    room, queued, last = np.inf, 0.0, 0
    for j in range(len(d)):
        if j == i or not d[j].placed:
            continue
        here = d[j].route[d[j].at]
        if _has_older_claim(d, board, i, j, target):
            d[i].waits_for = d[j].actor
            return False
        if here == target and board.who[j].speed < 2.5:
            if d[j].station - board.who[j].half < room:
                room, last = d[j].station - board.who[j].half, d[j].actor
        elif here != target and _is_cleared_to_link(d, j, target):
            queued += 2.0 * board.who[j].half + 2.5
    if room - queued > need:
        return True
    d[i].waits_for = last
    return False


@compiled
def _is_kept_out(me: TrafficDriver, dt: float) -> bool:
    """Whether a driver stays out for what is slow ahead: for walkers no longer than `PATIENCE`.

    Walkers go on, and others come. CARLA's Traffic Manager (`MotionPlanStage::SafeAfterJunction`)
    stays out for what is beyond the junction, and brakes for those who are in it.
    """
    if not me.on_foot:
        return True
    me.kept_out += dt if me.standing > 0.0 else 0.0
    return me.kept_out < PATIENCE


@compiled
def _has_older_claim(d: Drivers, board: JunctionBoard, i: int, j: int, target: int) -> bool:
    """Whether `j` has waited much longer for room on the same link: small cars do not jump in."""
    leave = board.who[j].leave
    if board.who[j].entry < 0 or d[j].reason < PRIORITY or leave >= d[j].known:
        return False
    return d[j].route[leave] == target and d[j].standing > d[i].standing + 10.0


@compiled
def _is_cleared_to_link(d: Drivers, j: int, target: int) -> bool:
    """Whether driver `j` is cleared through a junction to a link but not there yet."""
    return target in d[j].route[d[j].at + 1 : d[j].cleared]


@compiled
def _clear_driver(net: TrafficNetwork, d: Drivers, board: JunctionBoard, i: int) -> None:
    """Clear driver `i` and let those who ask after it see that."""
    d[i].cleared, d[i].kept_out = board.who[i].leave, 0.0
    # metres from where each link of the junction begins to the driver
    rel = d[i].station
    for k in range(d[i].at, board.who[i].entry):
        rel -= net.links[d[i].route[k]].length
    for k in range(board.who[i].entry, board.who[i].leave):
        link = d[i].route[k]
        if net.links[link].junction >= 0:
            enter_cleared_driver(board, link, i, rel)
        rel -= net.links[link].length
    board.who[i].entry = -1
    board.who[i].to_line = np.inf
