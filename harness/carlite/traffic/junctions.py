"""Compiled: who may enter a junction.

A driver stops before a junction until it is cleared for all of its way through. It is cleared when
light and sign allow it, nobody it must give way to is near, whoever is already cleared for a
conflicting way will be gone in time, and there is room to leave the junction again. Within the
junction the driver cleared earlier has precedence, so waiting never goes round in a circle.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Ints
from harness.carlite.compiled import compiled
from harness.carlite.traffic.approaches import Approaches
from harness.carlite.traffic.chance import settled
from harness.carlite.traffic.conflicts import Conflicts
from harness.carlite.traffic.drivers import ROUTE, Drivers
from harness.carlite.traffic.network import Network
from harness.carlite.traffic.obstacles import Bodies
from harness.carlite.traffic.records import Rows, record_dtype
from harness.carlite.traffic.routes import angle

RED, YELLOW, GREEN = 0, 1, 2
STUB = 8.0
"""A link between two junctions shorter than this is no place to wait."""

GAP = 1.5
"""Seconds kept between two vehicles that cross."""

LONG, WIDE = 3.4, 1.5
"""Half length and half width beyond which a vehicle is big."""

PATIENCE = 15.0
"""Seconds of waiting after which those who have waited less give way."""

STOP_SHORT = 1.0
"""Metres between a vehicle that waits and the line."""


class Reason(IntEnum):
    """Why a driver may not enter the junction ahead."""

    NONE = 0
    LIGHT = 1
    SIGN = 2
    QUEUE = 3
    PRIORITY = 4
    CROSSING = 5
    ROOM = 6


class Asking(Protocol):
    """What one driver asks for in this step.

    Attributes:
        entry, leave: route indices [entry, leave) of the junction ahead that it is not cleared
            for; entry is -1 where there is none near.
        to_line: metres from the front bumper to the line.
        speed, half: of the vehicle. big: whether it needs more than its lane to turn.
    """

    entry: int
    leave: int
    to_line: float
    speed: float
    half: float
    big: bool


class Entry(Protocol):
    """A driver in the list of a link; `following` is the next entry, -1 at the end."""

    following: int
    driver: int
    where: float


class Heads(Protocol):
    """First entries of the two lists of a link, -1 where empty."""

    held: int
    coming: int


ASKING, ENTRY, HEADS = record_dtype(Asking), record_dtype(Entry), record_dtype(Heads)


class Board(NamedTuple):
    """Who is where, redrawn each step.

    Attributes:
        who: one per driver. heads: one per link.
        held: drivers cleared for a link, by their centre's station relative to its start.
        coming: drivers yet to be cleared, by metres from the front bumper to the link's start.
        used: entries taken in `held` and `coming`.
    """

    who: Rows[Asking]
    heads: Rows[Heads]
    held: Rows[Entry]
    coming: Rows[Entry]
    used: Ints


def board(drivers: int, links: int) -> Board:
    """Make room for a board."""
    size = drivers * ROUTE + 1
    return Board(
        np.zeros(drivers, ASKING),
        np.zeros(links, HEADS),
        np.zeros(size, ENTRY),
        np.zeros(size, ENTRY),
        np.zeros(2, np.int64),
    )


@compiled
def clear_junctions(
    net: Network,
    conf: Conflicts,
    app: Approaches,
    d: Drivers,
    b: Bodies,
    lights: Bytes,
    shown: Floats,
    step: int,
    board: Board,
    seed: np.uint64,
) -> None:
    """Decide for every driver how far it is cleared, and where it has to stop."""
    _draw_board(net, app, d, b, board, lights, seed)
    key = np.full(len(d), np.inf)
    for i in range(len(d)):
        if board.who[i].entry < 0:
            d[i].reason = 0
        else:
            key[i] = _turn_to_ask(net, app, d, board, i)
    order = np.argsort(key, kind="mergesort")
    for place in range(len(order)):
        i = order[place]
        if board.who[i].entry < 0:
            continue
        reason = _objection(net, conf, app, d, b, board, lights, shown, seed, i)
        d[i].reason = reason
        if reason == 0:
            _clear(net, d, board, i)
            d[i].ticket, d[i].since_cleared = step * 1024 + place, 0.0
    for i in range(len(d)):
        d[i].stop = _stop_distance(net, conf, d, board, i)


@compiled
def _draw_board(
    net: Network,
    app: Approaches,
    d: Drivers,
    b: Bodies,
    board: Board,
    lights: Bytes,
    seed: np.uint64,
) -> None:
    board.used[:] = 0
    for link in range(len(net.links)):
        board.heads[link].held = board.heads[link].coming = -1
    for i in range(len(d)):
        slot = d[i].body
        board.who[i].entry = -1
        board.who[i].to_line = np.inf
        board.who[i].speed = np.hypot(b[slot].vx, b[slot].vy)
        board.who[i].half = b[slot].half_length
        board.who[i].big = b[slot].half_length > LONG or b[slot].half_width > WIDE
        if not d[i].placed:
            continue
        _keep_clear_where_it_is(net, app, d, i)
        _revoke(net, app, d, board, lights, seed, i)
        _find_entry(net, app, d, board, i)
        rel = d[i].station
        for k in range(d[i].at - 1, -1, -1):
            rel += net.links[d[i].route[k]].length
        for k in range(d[i].cleared):
            link = d[i].route[k]
            if net.links[link].junction >= 0:
                _hold(board, link, i, rel)
            rel -= net.links[link].length
        if board.who[i].entry >= 0:
            ahead = -rel - board.who[i].half
            for k in range(board.who[i].entry, board.who[i].leave):
                link = d[i].route[k]
                _come(board, link, i, ahead)
                ahead += net.links[link].length


@compiled
def _hold(board: Board, link: int, i: int, where: float) -> None:
    entry = board.used[0]
    board.used[0] += 1
    board.held[entry].following, board.heads[link].held = board.heads[link].held, entry
    board.held[entry].driver, board.held[entry].where = i, where


@compiled
def _come(board: Board, link: int, i: int, where: float) -> None:
    entry = board.used[1]
    board.used[1] += 1
    board.coming[entry].following, board.heads[link].coming = board.heads[link].coming, entry
    board.coming[entry].driver, board.coming[entry].where = i, where


@compiled
def _run_end(net: Network, app: Approaches, d: Drivers, i: int, start: int) -> int:
    """Index of the first link after the junction that begins at `start`, stubs included."""
    k = start
    while k < d[i].known:
        link = d[i].route[k]
        if net.links[link].junction < 0:
            stub = net.links[link].length < STUB and app[link].light < 0
            if not (stub and k + 1 < d[i].known and net.links[d[i].route[k + 1]].junction >= 0):
                break
        k += 1
    return k


@compiled
def _keep_clear_where_it_is(net: Network, app: Approaches, d: Drivers, i: int) -> None:
    """Whoever is inside a junction is cleared to its end; open road needs no clearance."""
    if d[i].cleared <= d[i].at:
        d[i].cleared = d[i].at + 1
        if net.links[d[i].route[d[i].at]].junction >= 0:
            d[i].cleared = max(_run_end(net, app, d, i, d[i].at), d[i].at + 1)
    if net.links[d[i].route[d[i].at]].junction >= 0:
        d[i].halted = False
    while d[i].cleared < d[i].known and net.links[d[i].route[d[i].cleared]].junction < 0:
        d[i].cleared += 1


@compiled
def _to_line(net: Network, app: Approaches, d: Drivers, half: float, i: int, entry: int) -> float:
    """Metres from the front bumper to where to wait before route link `entry`."""
    ahead = -d[i].station
    for k in range(d[i].at, entry - 1):
        ahead += net.links[d[i].route[k]].length
    if entry > d[i].at:
        ahead += app[d[i].route[entry - 1]].line
    return ahead - half - STOP_SHORT


@compiled
def _revoke(
    net: Network,
    app: Approaches,
    d: Drivers,
    board: Board,
    lights: Bytes,
    seed: np.uint64,
    i: int,
) -> None:
    """Take a clearance back from who can still stop: its light has changed, or it does not go."""
    for k in range(d[i].at + 1, d[i].cleared):
        if net.links[d[i].route[k]].junction < 0 or net.links[d[i].route[k - 1]].junction >= 0:
            continue
        room = _to_line(net, app, d, board.who[i].half, i, k)
        speed = board.who[i].speed
        if room < -0.3 or speed * speed > 2.0 * 2.5 * max(room, 0.0) + 0.1:
            continue
        light = app[d[i].route[k - 1]].light
        closed = light >= 0 and lights[light] <= YELLOW and not _runs_light(d, i, light, seed)
        idle = d[i].standing > 1.0 and d[i].since_cleared > 3.0
        if closed or idle:
            d[i].cleared = k
            return


@compiled
def _runs_light(d: Drivers, i: int, light: int, seed: np.uint64) -> bool:
    question = (d[i].actor * 8191 + d[i].approach) * 8191 + light
    return d[i].ignore_lights > 0 and settled(seed, question) * 100.0 < d[i].ignore_lights


@compiled
def _runs_sign(d: Drivers, i: int, link: int, seed: np.uint64) -> bool:
    question = (d[i].actor * 131071 + d[i].approach) * 8191 + link
    return d[i].ignore_signs > 0 and settled(seed, question) * 100.0 < d[i].ignore_signs


@compiled
def _find_entry(net: Network, app: Approaches, d: Drivers, board: Board, i: int) -> None:
    entry = d[i].cleared
    if entry >= d[i].known:
        return
    room = _to_line(net, app, d, board.who[i].half, i, entry)
    board.who[i].to_line = room
    if room < 90.0:
        board.who[i].entry = entry
        board.who[i].leave = _run_end(net, app, d, i, entry)


@compiled
def _rank(app: Approaches, link: int) -> int:
    """Standing of those who come along a link: 2 for lights and main roads, 1 yield, 0 stop."""
    return 2 - app[link].sign if app[link].light < 0 else 2


@compiled
def _turn_to_ask(net: Network, app: Approaches, d: Drivers, board: Board, i: int) -> float:
    """Main roads before side roads, then first come, first served."""
    rank = _rank(app, d[i].route[board.who[i].entry - 1]) if board.who[i].entry > 0 else 2
    if board.who[i].speed < 0.5 and board.who[i].to_line < 3.0:
        return -1000.0 * rank - min(d[i].standing, 500.0)
    return -1000.0 * rank + board.who[i].to_line / max(board.who[i].speed, 1.0)


@compiled
def _objection(
    net: Network,
    conf: Conflicts,
    app: Approaches,
    d: Drivers,
    b: Bodies,
    board: Board,
    lights: Bytes,
    shown: Floats,
    seed: np.uint64,
    i: int,
) -> int:
    """Return the `Reason` why driver `i` may not enter, 0 if it may."""
    entry, room, speed = board.who[i].entry, board.who[i].to_line, board.who[i].speed
    approach = d[i].route[entry - 1] if entry > 0 else -1
    if room > speed * speed / 4.0 + speed + 10.0:
        return Reason.QUEUE.value
    light = app[approach].light if approach >= 0 else -1
    if light >= 0 and room > -1.5 and not _runs_light(d, i, light, seed):
        waited = room < 1.0 and d[i].standing > 1.5 and shown[light] < 1.0
        turning = waited and net.links[d[i].route[entry]].turn < -0.5
        passes = speed * speed > 2.0 * 4.0 * max(room + STOP_SHORT, 0.1)
        if lights[light] == RED or (lights[light] == YELLOW and not (passes or turning)):
            return Reason.LIGHT.value
    if approach >= 0 and light < 0 and app[approach].sign == 2 and not d[i].halted:
        if room < 3.0 and speed < 0.2:
            d[i].halted = True
        if not d[i].halted and not _runs_sign(d, i, approach, seed):
            return Reason.SIGN.value
    if _queued(net, d, board, i):
        return Reason.QUEUE.value
    if not _room_to_leave(net, d, board, i):
        return Reason.ROOM.value
    return _in_the_way(net, conf, app, d, board, lights, i)


@compiled
def _queued(net: Network, d: Drivers, board: Board, i: int) -> bool:
    """Whether somebody ahead on the same approach waits for the same clearance."""
    link = d[i].route[board.who[i].entry]
    before = d[i].route[board.who[i].entry - 1]
    for j in range(len(d)):
        if j != i and board.who[j].entry > 0 and d[j].route[board.who[j].entry - 1] == before:
            if board.who[j].to_line < board.who[i].to_line - 1.0 and link >= 0:
                return True
    return False


@compiled
def _room_to_leave(net: Network, d: Drivers, board: Board, i: int) -> bool:
    """Whether the vehicle would fit behind whoever stands beyond the junction."""
    leave = board.who[i].leave
    through = board.who[i].to_line + STOP_SHORT
    for k in range(board.who[i].entry, leave):
        through += net.links[d[i].route[k]].length
    need = 2.0 * board.who[i].half + 1.5
    if d[i].gap_speed < 2.5 and d[i].gap < through + need and d[i].gap > board.who[i].to_line:
        return False
    if leave >= d[i].known:
        return True
    target = d[i].route[leave]
    room, queued = np.inf, 0.0
    for j in range(len(d)):
        if j == i or not d[j].placed:
            continue
        here = d[j].route[d[j].at]
        if _waits_longer_for(d, board, i, j, target):
            return False
        if here == target and board.who[j].speed < 2.5:
            room = min(room, d[j].station - board.who[j].half)
        elif here != target and _bound_for(d, j, target):
            queued += 2.0 * board.who[j].half + 2.5
    return room - queued > need


@compiled
def _waits_longer_for(d: Drivers, board: Board, i: int, j: int, target: int) -> bool:
    """Whether `j` has waited much longer for room on the same link: small cars do not jump in."""
    leave = board.who[j].leave
    if board.who[j].entry < 0 or d[j].reason < Reason.PRIORITY.value or leave >= d[j].known:
        return False
    return d[j].route[leave] == target and d[j].standing > d[i].standing + 10.0


@compiled
def _bound_for(d: Drivers, j: int, target: int) -> bool:
    """Whether driver `j` is cleared through a junction to a link but not there yet."""
    for k in range(d[j].at + 1, d[j].cleared):
        if d[j].route[k] == target:
            return True
    return False


@compiled
def _travel(distance: float, speed: float) -> float:
    """Seconds to cover a distance, speeding up to what suits a junction."""
    top = max(speed, 8.0)
    reach = (top * top - speed * speed) / (2.0 * 2.0)
    if distance <= 0.0:
        return 0.0
    if distance < reach:
        return float((np.sqrt(speed * speed + 2.0 * 2.0 * distance) - speed) / 2.0)
    return float((top - speed) / 2.0 + (distance - reach) / top)


@compiled
def _in_the_way(
    net: Network,
    conf: Conflicts,
    app: Approaches,
    d: Drivers,
    board: Board,
    lights: Bytes,
    i: int,
) -> int:
    ahead = board.who[i].to_line + STOP_SHORT
    if board.who[i].entry > 0:
        before = d[i].route[board.who[i].entry - 1]
        ahead += net.links[before].length - app[before].line
    for k in range(board.who[i].entry, board.who[i].leave):
        link = d[i].route[k]
        for z in range(conf.first[link], conf.first[link + 1]):
            other = conf.zones[z].other
            arrive = _travel(ahead + conf.zones[z].enter, board.who[i].speed)
            gone = _travel(
                ahead + conf.zones[z].leave + 2.0 * board.who[i].half, board.who[i].speed
            )
            entry = board.heads[other].held
            while entry >= 0:
                j = board.held[entry].driver
                left = conf.zones[z].other_leave + board.who[j].half - board.held[entry].where
                minds = j != i and _minds(conf, board, z, i, j)
                if minds and left > 0.0 and not _gone_in_time(d, board, j, left, arrive):
                    return Reason.CROSSING.value
                entry = board.held[entry].following
            entry = board.heads[other].coming
            while entry >= 0:
                j = board.coming[entry].driver
                to_zone = board.coming[entry].where + conf.zones[z].other_enter
                minds = j != i and _minds(conf, board, z, i, j)
                if minds and _gives_way(net, app, d, board, lights, i, j):
                    if _travel(to_zone, board.who[j].speed) < gone + GAP:
                        return Reason.PRIORITY.value
                entry = board.coming[entry].following
        ahead += net.links[link].length
    return 0


@compiled
def _minds(conf: Conflicts, board: Board, z: int, i: int, j: int) -> bool:
    """Whether two drivers would get in each other's way in a zone."""
    return not conf.zones[z].big or board.who[i].big or board.who[j].big


@compiled
def _gone_in_time(d: Drivers, board: Board, j: int, left: float, arrive: float) -> bool:
    """Whether a driver that rolls will have left a zone well before another arrives there."""
    if board.who[j].speed < 3.0 or d[j].acceleration < -0.5:
        return False
    return left / board.who[j].speed + GAP < arrive


@compiled
def _gives_way(
    net: Network, app: Approaches, d: Drivers, board: Board, lights: Bytes, i: int, j: int
) -> bool:
    """Whether `i` must let `j`, which is not cleared either, go first."""
    if board.who[j].entry <= 0 or board.who[i].entry <= 0:
        return False
    from_i, from_j = d[i].route[board.who[i].entry - 1], d[j].route[board.who[j].entry - 1]
    light = app[from_j].light
    if light >= 0 and lights[light] != GREEN:
        return False
    if _has_waited_longer(d, board, j, i):
        return True
    if _has_waited_longer(d, board, i, j) or (board.who[j].speed < 0.3 and d[j].standing > 2.0):
        return False
    rank_i, rank_j = _rank(app, from_i), _rank(app, from_j)
    if rank_i != rank_j:
        return rank_i < rank_j
    heading_i = net.points[net.links[from_i].first + net.links[from_i].count - 1].yaw
    heading_j = net.points[net.links[from_j].first + net.links[from_j].count - 1].yaw
    across = angle(heading_j - heading_i)
    turn_i = net.links[d[i].route[board.who[i].entry]].turn
    turn_j = net.links[d[j].route[board.who[j].entry]].turn
    if abs(across) > 2.1:
        return turn_i < -0.5 and turn_j >= -0.5
    from_the_right = -2.1 < across < -0.8
    return light < 0 and from_the_right and d[i].standing < 3.0


@compiled
def _has_waited_longer(d: Drivers, board: Board, i: int, j: int) -> bool:
    """Whether driver `i` has waited for a gap for so long that `j`, if it can stop, lets it go."""
    kept = d[i].reason == Reason.PRIORITY.value or d[i].reason == Reason.CROSSING.value
    can_stop = board.who[j].speed ** 2 < 2.0 * 2.5 * max(board.who[j].to_line, 0.0) + 0.1
    return kept and can_stop and d[i].standing > PATIENCE + d[j].standing


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
            _hold(board, link, i, rel)
        rel -= net.links[link].length
    board.who[i].entry = -1
    board.who[i].to_line = np.inf


@compiled
def _stop_distance(net: Network, conf: Conflicts, d: Drivers, board: Board, i: int) -> float:
    """Metres until the front bumper must stand: at the line, or before an elder's zone."""
    stop = max(board.who[i].to_line, 0.0)
    last = d[i].route[d[i].known - 1]
    if net.links[last].next_count == 0:
        stop = min(stop, max(d[i].horizon - board.who[i].half - 1.0, 0.0))
    ahead = -d[i].station
    for k in range(d[i].at, d[i].cleared):
        link = d[i].route[k]
        for z in range(conf.first[link], conf.first[link + 1]):
            room = ahead + conf.zones[z].enter - board.who[i].half - 0.3
            if -1.5 < room < stop and _elder_inside(conf, d, board, i, z):
                stop = max(room, 0.0)
        ahead += net.links[link].length
    return stop


@compiled
def _elder_inside(conf: Conflicts, d: Drivers, board: Board, i: int, z: int) -> bool:
    """Whether someone cleared before driver `i` has not left a zone yet."""
    entry = board.heads[conf.zones[z].other].held
    while entry >= 0:
        j = board.held[entry].driver
        left = conf.zones[z].other_leave + board.who[j].half - board.held[entry].where
        elder = d[j].ticket < d[i].ticket and _minds(conf, board, z, i, j)
        if elder and left > 0.0:
            return True
        entry = board.held[entry].following
    return False
