"""Compiled: who goes first where ways through a junction meet."""

from __future__ import annotations

import numpy as np

from harness.carlite.angles import wrap_to_pi_in_kernel
from harness.carlite.compiled import compiled
from harness.carlite.traffic.approaches import Approaches
from harness.carlite.traffic.board import GREEN, STOP_SHORT, JunctionBoard
from harness.carlite.traffic.conflicts import ConflictZones
from harness.carlite.traffic.drivers import CROSSING, PRIORITY, Drivers, TrafficDriver
from harness.carlite.traffic.moment import TrafficStep, ignores_actor
from harness.carlite.traffic.network import TrafficNetwork

GAP = 1.5
"""Seconds kept between two vehicles that cross."""

PATIENCE = 15.0
"""Seconds of waiting after which those who have waited less give way."""


@compiled
def find_yield_reason(
    net: TrafficNetwork,
    conf: ConflictZones,
    app: Approaches,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
) -> int:
    """Return why driver `i` must wait for others that cross its way, 0 if it need not."""
    # metres from the front to the entry of the junction
    ahead = board.who[i].to_line + STOP_SHORT
    if board.who[i].entry > 0:
        before = d[i].route[board.who[i].entry - 1]
        ahead += net.links[before].length - app[before].line
    speed, length = board.who[i].speed, 2.0 * board.who[i].half
    for k in range(board.who[i].entry, board.who[i].leave):
        link = d[i].route[k]
        for z in range(conf.first[link], conf.first[link + 1]):
            # when it reaches the conflict zone, and when it has left it
            arrive = _estimate_travel_time(ahead + conf.zones[z].enter, speed)
            gone = _estimate_travel_time(ahead + conf.zones[z].leave + length, speed)
            if _is_zone_taken(conf, d, board, now, i, z, arrive):
                return CROSSING
            if _is_zone_owed(net, conf, app, d, board, now, i, z, gone):
                return PRIORITY
        ahead += net.links[link].length
    return 0


@compiled
def _is_zone_taken(
    conf: ConflictZones,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
    z: int,
    arrive: float,
) -> bool:
    """Whether a vehicle that is cleared for a zone will still be there."""
    entry = board.heads[conf.zones[z].other].held
    # all that are cleared for the other link, in a list linked by indices
    while entry >= 0:
        j = board.held[entry].driver
        left = conf.zones[z].other_leave + board.who[j].half - board.held[entry].where
        busy = (
            j != i and left > 0.0 and not _has_left_in_time(d[j], board.who[j].speed, left, arrive)
        )
        if busy and _minds_driver(conf, d, board, now, z, i, j):
            d[i].waits_for = d[j].actor
            return True
        entry = board.held[entry].following
    return False


@compiled
def _is_zone_owed(
    net: TrafficNetwork,
    conf: ConflictZones,
    app: Approaches,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
    z: int,
    gone: float,
) -> bool:
    """Whether a vehicle that goes first comes to a zone before driver `i` would have left it."""
    entry = board.heads[conf.zones[z].other].coming
    # all that come to the other link and are not cleared yet
    while entry >= 0:
        j = board.coming[entry].driver
        to_zone = board.coming[entry].where + conf.zones[z].other_enter
        near = j != i and _estimate_travel_time(to_zone, board.who[j].speed) < gone + GAP
        first = near and _must_give_way(net, app, d, board, now, i, j)
        if first and _minds_driver(conf, d, board, now, z, i, j):
            d[i].waits_for = d[j].actor
            return True
        entry = board.coming[entry].following
    return False


@compiled
def _minds_driver(
    conf: ConflictZones, d: Drivers, board: JunctionBoard, now: TrafficStep, z: int, i: int, j: int
) -> bool:
    """Whether driver `i` cares that `j` would get in its way in a zone."""
    if conf.zones[z].big and not (board.who[i].big or board.who[j].big):
        return False
    return not ignores_actor(now, d[i], d[j].actor, d[i].ignore_vehicles)


@compiled
def _has_left_in_time(other: TrafficDriver, speed: float, left: float, arrive: float) -> bool:
    """Whether a driver that rolls will have left a zone well before another arrives there."""
    return speed >= 3.0 and other.acceleration >= -0.5 and left / speed + GAP < arrive


@compiled
def _estimate_travel_time(distance: float, speed: float) -> float:
    """Seconds to cover a distance, speeding up to what suits a junction."""
    top = max(speed, 8.0)
    reach = (top * top - speed * speed) / (2.0 * 2.0)
    if distance <= 0.0:
        return 0.0
    if distance < reach:
        return float((np.sqrt(speed * speed + 2.0 * 2.0 * distance) - speed) / 2.0)
    return float((top - speed) / 2.0 + (distance - reach) / top)


@compiled
def _must_give_way(
    net: TrafficNetwork,
    app: Approaches,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
    j: int,
) -> bool:
    """Whether `i` must let `j`, which is not cleared either, go first."""
    if board.who[j].entry <= 0 or board.who[i].entry <= 0:
        return False
    from_i, from_j = d[i].route[board.who[i].entry - 1], d[j].route[board.who[j].entry - 1]
    # who has red gives way; patience beats rank
    light = app[from_j].light
    closed = light >= 0 and now.lights[light] != GREEN
    if closed or _has_waited_longer(d, board, j, i):
        return not closed
    if _has_waited_longer(d, board, i, j) or (board.who[j].speed < 0.3 and d[j].standing > 2.0):
        return False
    # signs and roads decide, then custom
    rank_i, rank_j = get_approach_rank(app, from_i), get_approach_rank(app, from_j)
    if rank_i != rank_j:
        return rank_i < rank_j
    return _yields_by_custom(net, d, board, i, j, light >= 0)


@compiled
def _yields_by_custom(
    net: TrafficNetwork, d: Drivers, board: JunctionBoard, i: int, j: int, signalised: bool
) -> bool:
    """Among equals: turning left waits for oncoming traffic; without lights, right before left."""
    from_i, from_j = d[i].route[board.who[i].entry - 1], d[j].route[board.who[j].entry - 1]
    # directions in which both enter the junction
    heading_i = net.points[net.links[from_i].first + net.links[from_i].count - 1].yaw
    heading_j = net.points[net.links[from_j].first + net.links[from_j].count - 1].yaw
    across = wrap_to_pi_in_kernel(heading_j - heading_i)
    # oncoming, or from the right
    if abs(across) > 2.1:
        turn_i = net.links[d[i].route[board.who[i].entry]].turn
        turn_j = net.links[d[j].route[board.who[j].entry]].turn
        return turn_i < -0.5 and turn_j >= -0.5
    return not signalised and -2.1 < across < -0.8 and d[i].standing < 3.0


@compiled
def _has_waited_longer(d: Drivers, board: JunctionBoard, i: int, j: int) -> bool:
    """Whether driver `i` has waited for a gap for so long that `j`, if it can stop, lets it go."""
    kept = d[i].reason == PRIORITY or d[i].reason == CROSSING
    can_stop = board.who[j].speed ** 2 < 2.0 * 2.5 * max(board.who[j].to_line, 0.0) + 0.1
    return kept and can_stop and d[i].standing > PATIENCE + d[j].standing


@compiled
def get_approach_rank(app: Approaches, link: int) -> int:
    """Standing of those who come along a link: 2 for lights and main roads, 1 yield, 0 stop."""
    return 2 - app[link].sign if app[link].light < 0 else 2


@compiled
def measure_stop_distance(
    net: TrafficNetwork,
    conf: ConflictZones,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
) -> float:
    """Metres until the front bumper must stand: at the line, or before an elder's zone."""
    stop = max(board.who[i].to_line, 0.0)
    # the end of a dead end
    last = d[i].route[d[i].known - 1]
    if net.links[last].next_count == 0:
        stop = min(stop, max(d[i].horizon - board.who[i].half - 1.0, 0.0))
    if d[i].let_go > 0.0:
        return stop
    # zones on the way that is cleared: who was cleared earlier goes first
    ahead = -d[i].station
    for k in range(d[i].at, d[i].cleared):
        link = d[i].route[k]
        for z in range(conf.first[link], conf.first[link + 1]):
            room = ahead + conf.zones[z].enter - board.who[i].half - 0.3
            if -1.5 < room < stop and _has_elder_inside(conf, d, board, now, i, z):
                stop = max(room, 0.0)
        ahead += net.links[link].length
    return stop


@compiled
def _has_elder_inside(
    conf: ConflictZones, d: Drivers, board: JunctionBoard, now: TrafficStep, i: int, z: int
) -> bool:
    """Whether someone cleared before driver `i` has not left a zone yet."""
    entry = board.heads[conf.zones[z].other].held
    # all that are cleared for the other link, in a list linked by indices
    while entry >= 0:
        j = board.held[entry].driver
        left = conf.zones[z].other_leave + board.who[j].half - board.held[entry].where
        elder = d[j].ticket < d[i].ticket and left > 0.0
        if elder and _minds_driver(conf, d, board, now, z, i, j):
            d[i].waits_for = d[j].actor
            return True
        entry = board.held[entry].following
    return False
