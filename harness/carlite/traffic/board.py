"""Compiled: who is where before and inside junctions, noted at each step."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from harness.carlite.arrays import Ints
from harness.carlite.compiled import compiled
from harness.carlite.traffic.approaches import Approaches
from harness.carlite.traffic.drivers import ROUTE, Drivers
from harness.carlite.traffic.moment import TrafficStep, ignores_signal
from harness.carlite.traffic.network import TrafficNetwork
from harness.carlite.traffic.obstacles import Bodies
from harness.carlite.traffic.records import RecordRows, make_record_dtype

YELLOW, GREEN = 1, 2
STUB = 8.0
"""A link between two junctions shorter than this is no place to wait."""

LONG, WIDE = 3.0, 1.5
"""Half length and half width beyond which a vehicle is big."""

SETTING_OFF = 2.0
"""Metres per second squared that no driver exceeds when it sets off."""

STOP_SHORT = 1.0
"""Metres between a vehicle that waits and the line."""


class JunctionRequest(Protocol):
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


class BoardEntry(Protocol):
    """A driver in the list of a link; `following` is the next entry, -1 at the end."""

    following: int
    driver: int
    where: float


class ListHeads(Protocol):
    """First entries of the two lists of a link, -1 where empty."""

    held: int
    coming: int


ASKING, ENTRY, HEADS = (
    make_record_dtype(JunctionRequest),
    make_record_dtype(BoardEntry),
    make_record_dtype(ListHeads),
)


class JunctionBoard(NamedTuple):
    """Who is where, redrawn each step.

    Attributes:
        who: one per driver. heads: one per link.
        held: drivers cleared for a link, by their centre's station relative to its start.
        coming: drivers yet to be cleared, by metres from the front bumper to the link's start.
        used: entries taken in `held` and `coming`.
    """

    who: RecordRows[JunctionRequest]
    heads: RecordRows[ListHeads]
    held: RecordRows[BoardEntry]
    coming: RecordRows[BoardEntry]
    used: Ints


def make_board(drivers: int, links: int) -> JunctionBoard:
    """Make room for a board.

    Args:
        drivers: how many.
        links: how many.
    """
    size = drivers * ROUTE + 1
    return JunctionBoard(
        np.zeros(drivers, ASKING),
        np.zeros(links, HEADS),
        np.zeros(size, ENTRY),
        np.zeros(size, ENTRY),
        np.zeros(2, np.int64),
    )


@compiled
def fill_board(
    net: TrafficNetwork,
    app: Approaches,
    d: Drivers,
    b: Bodies,
    board: JunctionBoard,
    now: TrafficStep,
) -> None:
    """Note where everyone is, what each is cleared for and what it will ask for."""
    # forget the last step
    board.used[:] = 0
    for link in range(len(net.links)):
        board.heads[link].held = board.heads[link].coming = -1
    for i in range(len(d)):
        slot = d[i].body
        # the body of driver i, and its distance from the stop line while none is ahead
        board.who[i].entry = -1
        board.who[i].to_line = np.inf
        board.who[i].speed = np.hypot(b[slot].vx, b[slot].vy)
        board.who[i].half = b[slot].half_length
        board.who[i].big = b[slot].half_length > LONG or b[slot].half_width > WIDE
        if not d[i].placed:
            continue
        # how far it is cleared, and the junction that it comes to
        _extend_clearance(net, app, d, i)
        _revoke_clearance(net, app, d, board, now, i)
        _find_entry(net, app, d, board, i)
        # its place from the beginning of the first link of its route
        rel = d[i].station
        for k in range(d[i].at - 1, -1, -1):
            rel += net.links[d[i].route[k]].length
        # in junctions that it is cleared for
        for k in range(d[i].cleared):
            link = d[i].route[k]
            if net.links[link].junction >= 0:
                enter_cleared_driver(board, link, i, rel)
            rel -= net.links[link].length
        # in junctions that it comes to
        if board.who[i].entry >= 0:
            ahead = -rel - board.who[i].half
            for k in range(board.who[i].entry, board.who[i].leave):
                link = d[i].route[k]
                _enter_coming_driver(board, link, i, ahead)
                ahead += net.links[link].length


@compiled
def enter_cleared_driver(board: JunctionBoard, link: int, i: int, where: float) -> None:
    """Enter driver `i` among those cleared for a link.

    Args:
        board: of this step.
        link: number of the link.
        i: number of the driver.
        where: metres, as the entry keeps it.
    """
    entry = board.used[0]
    board.used[0] += 1
    board.held[entry].following, board.heads[link].held = board.heads[link].held, entry
    board.held[entry].driver, board.held[entry].where = i, where


@compiled
def _enter_coming_driver(board: JunctionBoard, link: int, i: int, where: float) -> None:
    """Enter driver `i` among those who will ask for a link."""
    entry = board.used[1]
    board.used[1] += 1
    board.coming[entry].following, board.heads[link].coming = board.heads[link].coming, entry
    board.coming[entry].driver, board.coming[entry].where = i, where


@compiled
def _extend_clearance(net: TrafficNetwork, app: Approaches, d: Drivers, i: int) -> None:
    """A vehicle inside a junction is cleared to its end; open road needs no clearance."""
    if d[i].cleared <= d[i].at:
        d[i].cleared = d[i].at + 1
        if net.links[d[i].route[d[i].at]].junction >= 0:
            d[i].cleared = max(_find_run_end(net, app, d, i, d[i].at), d[i].at + 1)
    if net.links[d[i].route[d[i].at]].junction >= 0:
        d[i].halted = False
    while d[i].cleared < d[i].known and net.links[d[i].route[d[i].cleared]].junction < 0:
        d[i].cleared += 1


@compiled
def _revoke_clearance(
    net: TrafficNetwork,
    app: Approaches,
    d: Drivers,
    board: JunctionBoard,
    now: TrafficStep,
    i: int,
) -> None:
    """Take a clearance back from who can still stop: its light has changed, or it does not go.

    Who was cleared at yellow, having waited to turn left, keeps it until red.
    """
    for k in range(d[i].at + 1, d[i].cleared):
        if net.links[d[i].route[k]].junction < 0 or net.links[d[i].route[k - 1]].junction >= 0:
            continue
        # too near to the line to stop before it
        room = _measure_line_distance(net, app, d, board.who[i].half, i, k)
        speed = board.who[i].speed
        if room < -0.3 or speed * speed > 2.0 * 2.5 * max(room, 0.0) + 0.1:
            continue
        # closed to it: neither green, nor yellow for one that has set off, nor ignored
        light = app[d[i].route[k - 1]].light
        closed = (
            light >= 0
            and now.lights[light] < GREEN
            and not (now.lights[light] == YELLOW and _has_set_off(d, board, now, light, i))
            and not ignores_signal(now, d[i], light, d[i].ignore_lights)
        )
        idle = d[i].standing > 1.0 and d[i].since_cleared > 3.0
        if closed or idle:
            d[i].cleared = k
            return


@compiled
def _has_set_off(d: Drivers, board: JunctionBoard, now: TrafficStep, light: int, i: int) -> bool:
    """Whether a driver was cleared, standing, since a light shows what it shows."""
    fresh = d[i].since_cleared < now.shown[light]
    return bool(fresh and board.who[i].speed < SETTING_OFF * d[i].since_cleared + 0.3)


@compiled
def _find_entry(
    net: TrafficNetwork, app: Approaches, d: Drivers, board: JunctionBoard, i: int
) -> None:
    entry = d[i].cleared
    if entry >= d[i].known:
        return
    room = _measure_line_distance(net, app, d, board.who[i].half, i, entry)
    board.who[i].to_line = room
    if room < 90.0:
        board.who[i].entry = entry
        board.who[i].leave = _find_run_end(net, app, d, i, entry)


@compiled
def _find_run_end(net: TrafficNetwork, app: Approaches, d: Drivers, i: int, start: int) -> int:
    """Index of the first link after the junction that begins at `start`, stubs included."""
    k = start
    while k < d[i].known:
        link = d[i].route[k]
        # a short link between two junctions is no place to wait at
        if net.links[link].junction < 0:
            stub = net.links[link].length < STUB and app[link].light < 0
            resumes = k + 1 < d[i].known and net.links[d[i].route[k + 1]].junction >= 0
            if not (stub and resumes):
                break
        k += 1
    return k


@compiled
def _measure_line_distance(
    net: TrafficNetwork, app: Approaches, d: Drivers, half: float, i: int, entry: int
) -> float:
    """Metres from the front bumper to where to wait before route link `entry`."""
    ahead = -d[i].station
    for k in range(d[i].at, entry - 1):
        ahead += net.links[d[i].route[k]].length
    if entry > d[i].at:
        ahead += app[d[i].route[entry - 1]].line
    return ahead - half - STOP_SHORT
