"""Compiled: who may enter a junction.

A driver stops before a junction until it is cleared for all of its way through. It is cleared when
light and sign allow it, no vehicle it must give way to is near, vehicles already cleared for a
conflicting way will be gone in time, and there is room to leave the junction again. Within the
junction the driver cleared earlier has precedence, so waiting never goes round in a circle.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.compiled import allocating, compiled
from harness.carlite.traffic.approaches import Approaches, Sign
from harness.carlite.traffic.board import STOP_SHORT, Board, fill_board, hold
from harness.carlite.traffic.conflicts import Conflicts
from harness.carlite.traffic.drivers import LIGHT, PRIORITY, QUEUE, ROOM, SIGN, Drivers
from harness.carlite.traffic.lights import State
from harness.carlite.traffic.moment import Moment, runs
from harness.carlite.traffic.network import Network
from harness.carlite.traffic.obstacles import Bodies
from harness.carlite.traffic.precedence import in_the_way, rank, stop_distance

RED, YELLOW = State.RED.value, State.YELLOW.value
STOP = Sign.STOP.value


@allocating
def clear_junctions(
    net: Network,
    conf: Conflicts,
    app: Approaches,
    d: Drivers,
    b: Bodies,
    board: Board,
    now: Moment,
) -> None:
    """Decide for every driver how far it is cleared, and where it has to stop."""
    fill_board(net, app, d, b, board, now)
    key = np.full(len(d), np.inf)
    for i in range(len(d)):
        d[i].waits_for = 0
        if board.who[i].entry < 0:
            d[i].reason = 0
        else:
            key[i] = _turn_to_ask(net, app, d, board, i)
    order = np.argsort(key, kind="mergesort")
    for place in range(len(order)):
        i = order[place]
        if board.who[i].entry < 0:
            continue
        reason = _objection(net, conf, app, d, board, now, i)
        d[i].reason = reason
        if reason == 0:
            _clear(net, d, board, i)
            d[i].ticket, d[i].since_cleared = now.step * 1024 + place, 0.0
    for i in range(len(d)):
        d[i].stop = stop_distance(net, conf, d, board, now, i)


@compiled
def _turn_to_ask(net: Network, app: Approaches, d: Drivers, board: Board, i: int) -> float:
    """Main roads before side roads, then first come, first served."""
    standing = rank(app, d[i].route[board.who[i].entry - 1]) if board.who[i].entry > 0 else 2
    if board.who[i].speed < 0.5 and board.who[i].to_line < 3.0:
        return -1000.0 * standing - min(d[i].standing, 500.0)
    return -1000.0 * standing + board.who[i].to_line / max(board.who[i].speed, 1.0)


@compiled
def _objection(
    net: Network,
    conf: Conflicts,
    app: Approaches,
    d: Drivers,
    board: Board,
    now: Moment,
    i: int,
) -> int:
    """Return the `Reason` why driver `i` may not enter, 0 if it may."""
    entry, room, speed = board.who[i].entry, board.who[i].to_line, board.who[i].speed
    approach = d[i].route[entry - 1] if entry > 0 else -1
    if room > speed * speed / 4.0 + speed + 10.0:
        return QUEUE
    held = _held_by_mark(net, app, d, board, now, i, approach) if approach >= 0 else 0
    if held != 0:
        return held
    if _queued(net, d, board, i):
        return QUEUE
    if d[i].let_go > 0.0:
        return 0
    if not _room_to_leave(net, d, board, i):
        return ROOM
    return in_the_way(net, conf, app, d, board, now, i)


@compiled
def _held_by_mark(
    net: Network,
    app: Approaches,
    d: Drivers,
    board: Board,
    now: Moment,
    i: int,
    approach: int,
) -> int:
    """Return why a light or a stop sign holds driver `i`, 0 if none does.

    At yellow those who cannot stop any more go on, and those who have waited to turn left.
    """
    me, room, speed = d[i], board.who[i].to_line, board.who[i].speed
    light = app[approach].light
    if light >= 0:
        if room <= -1.5 or runs(now, me, light, me.ignore_lights):
            return 0
        waited = room < 1.0 and me.standing > 1.5 and now.shown[light] < 1.0
        turning = waited and net.links[me.route[board.who[i].entry]].turn < -0.5
        passes = speed * speed > 2.0 * 5.0 * max(room + STOP_SHORT, 0.1)
        stops = now.lights[light] == YELLOW and not (passes or turning)
        return LIGHT if now.lights[light] == RED or stops else 0
    me.halted = me.halted or (room < 3.0 and speed < 0.2)
    must_halt = app[approach].sign == STOP and not me.halted
    return SIGN if must_halt and not runs(now, me, approach, me.ignore_signs) else 0


@compiled
def _queued(net: Network, d: Drivers, board: Board, i: int) -> bool:
    """Whether a vehicle ahead on the same approach waits for the same clearance."""
    before = d[i].route[board.who[i].entry - 1]
    for j in range(len(d)):
        rival = j != i and board.who[j].entry > 0 and d[j].route[board.who[j].entry - 1] == before
        if rival and board.who[j].to_line < board.who[i].to_line - 1.0:
            d[i].waits_for = d[j].actor
            return True
    return False


@compiled
def _room_to_leave(net: Network, d: Drivers, board: Board, i: int) -> bool:
    """Whether the vehicle would fit behind those that stand beyond the junction."""
    leave = board.who[i].leave
    through = board.who[i].to_line + STOP_SHORT
    for k in range(board.who[i].entry, leave):
        through += net.links[d[i].route[k]].length
    need = 2.0 * board.who[i].half + 1.5
    if d[i].gap_speed < 2.5 and d[i].gap < through + need and d[i].gap > board.who[i].to_line:
        d[i].waits_for = d[i].blocker
        return False
    if leave >= d[i].known:
        return True
    target = d[i].route[leave]
    room, queued, last = np.inf, 0.0, 0
    for j in range(len(d)):
        if j == i or not d[j].placed:
            continue
        here = d[j].route[d[j].at]
        if _waits_longer_for(d, board, i, j, target):
            d[i].waits_for = d[j].actor
            return False
        if here == target and board.who[j].speed < 2.5:
            if d[j].station - board.who[j].half < room:
                room, last = d[j].station - board.who[j].half, d[j].actor
        elif here != target and _bound_for(d, j, target):
            queued += 2.0 * board.who[j].half + 2.5
    if room - queued > need:
        return True
    d[i].waits_for = last
    return False


@compiled
def _waits_longer_for(d: Drivers, board: Board, i: int, j: int, target: int) -> bool:
    """Whether `j` has waited much longer for room on the same link: small cars do not jump in."""
    leave = board.who[j].leave
    if board.who[j].entry < 0 or d[j].reason < PRIORITY or leave >= d[j].known:
        return False
    return d[j].route[leave] == target and d[j].standing > d[i].standing + 10.0


@compiled
def _bound_for(d: Drivers, j: int, target: int) -> bool:
    """Whether driver `j` is cleared through a junction to a link but not there yet."""
    return target in d[j].route[d[j].at + 1 : d[j].cleared]


@compiled
def _clear(net: Network, d: Drivers, board: Board, i: int) -> None:
    """Clear driver `i` and let those who ask after it see that."""
    d[i].cleared = board.who[i].leave
    rel = d[i].station
    for k in range(d[i].at, board.who[i].entry):
        rel -= net.links[d[i].route[k]].length
    for k in range(board.who[i].entry, board.who[i].leave):
        link = d[i].route[k]
        if net.links[link].junction >= 0:
            hold(board, link, i, rel)
        rel -= net.links[link].length
    board.who[i].entry = -1
    board.who[i].to_line = np.inf
