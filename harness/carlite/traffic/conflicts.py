"""Where the ways through a junction get in each other's way."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from harness.carlite.arrays import Bools, Floats, Ints
from harness.carlite.compiled import compiled
from harness.carlite.traffic.network import TrafficLink, TrafficNetwork
from harness.carlite.traffic.records import RecordRows, as_columns, make_record_dtype

CLEARANCE = 2.8
"""Centre lines nearer than this cannot be driven at the same time."""

CLEARANCE_ACROSS = 3.6
"""Likewise where they run at an angle, for the corners of long vehicles."""

CLEARANCE_BIG = 4.2
"""Likewise along a turn, for vehicles that need more than their lane to turn."""


class ConflictZone(Protocol):
    """What a link shares with another.

    Attributes:
        other: the other link. enter, leave: stations of the zone on this link;
            other_enter, other_leave: on the other.
        big: only vehicles that are long or wide get in each other's way here.
    """

    other: int
    enter: float
    leave: float
    other_enter: float
    other_leave: float
    big: bool


class ConflictZones(NamedTuple):
    """All zones by link: link `k` has `zones[first[k] : first[k + 1]]`."""

    first: Ints
    zones: RecordRows[ConflictZone]


ZONE = make_record_dtype(ConflictZone)


def find_conflict_zones(network: TrafficNetwork) -> ConflictZones:
    """Compare all links inside junctions whose surroundings overlap."""
    # (links inside junctions, 4) bounds; only pairs whose bounds overlap are measured
    inside = np.flatnonzero(as_columns(network.links)["junction"] >= 0)
    boxes = np.array([_compute_link_bounds(network, link) for link in inside.tolist()]).reshape(
        -1, 4
    )
    pairs = _find_overlapping_boxes(boxes)
    spans, big = np.zeros((len(pairs), 4)), np.zeros(len(pairs), np.bool_)
    if len(pairs):
        _measure_conflict_spans(network, inside[pairs], spans, big)
    # pairs that share ground: (pairs, 4) enter and leave of both, m
    shared = spans[:, 1] > spans[:, 0]
    a, b = inside[pairs[shared, 0]], inside[pairs[shared, 1]]
    spans, big = spans[shared], big[shared]
    # every pair both ways
    link, other = np.concatenate([a, b]), np.concatenate([b, a])
    zones = np.zeros(len(link), ZONE)
    zones["other"], zones["big"] = other, np.tile(big, 2)
    both = np.concatenate([spans, spans[:, [2, 3, 0, 1]]])
    for column, name in enumerate(("enter", "leave", "other_enter", "other_leave")):
        zones[name] = both[:, column]
    # zones of a link lie together
    order = np.lexsort((other, link))
    count = np.bincount(link, minlength=len(network.links))
    return ConflictZones(np.concatenate(([0], np.cumsum(count))).astype(np.int64), zones[order])


def _compute_link_bounds(network: TrafficNetwork, link: int) -> tuple[float, float, float, float]:
    points = network.get_link_points(link)
    x, y = points["x"], points["y"]
    return (
        x.min() - CLEARANCE_BIG / 2,
        y.min() - CLEARANCE_BIG / 2,
        x.max() + CLEARANCE_BIG / 2,
        y.max() + CLEARANCE_BIG / 2,
    )


def _find_overlapping_boxes(boxes: Floats) -> np.ndarray:
    """Return the (M, 2) pairs a < b of boxes (x, y, x, y) that overlap."""
    # each box against all later ones
    pairs = [
        np.column_stack((np.full(len(hits), k), hits))
        for k, box in enumerate(boxes)
        for hits in [
            k
            + 1
            + np.flatnonzero(
                (boxes[k + 1 :, 0] < box[2])
                & (boxes[k + 1 :, 2] > box[0])
                & (boxes[k + 1 :, 1] < box[3])
                & (boxes[k + 1 :, 3] > box[1])
            )
        ]
    ]
    return np.concatenate(pairs) if pairs else np.zeros((0, 2), np.int64)


@compiled
def _measure_conflict_spans(net: TrafficNetwork, pairs: Ints, spans: Floats, big: Bools) -> None:
    """Write for each pair the stations (enter a, leave a, enter b, leave b) of their zone.

    Links that part from the same start get none: there the follower minds the leader. Where one
    turns next to the other, only big vehicles conflict.
    """
    for k in range(len(pairs)):
        # pairs: (pairs, 2) links; spans: (pairs, 4) stations; big: (pairs,)
        a, b = net.links[pairs[k, 0]], net.links[pairs[k, 1]]
        start_a, start_b = net.points[a.first], net.points[b.first]
        if np.hypot(start_a.x - start_b.x, start_a.y - start_b.y) < 0.5:
            continue
        # for cars first; if those pass each other, for big vehicles
        _measure_conflict_span(net, a, b, CLEARANCE, CLEARANCE_ACROSS, spans[k])
        if spans[k, 1] <= spans[k, 0] and max(abs(a.turn), abs(b.turn)) > 0.5:
            _measure_conflict_span(net, a, b, CLEARANCE_BIG, CLEARANCE_BIG, spans[k])
            big[k] = True


@compiled
def _measure_conflict_span(
    net: TrafficNetwork, a: TrafficLink, b: TrafficLink, along: float, across: float, span: Floats
) -> None:
    enter_a, leave_a, enter_b, leave_b = np.inf, -np.inf, np.inf, -np.inf
    for i in range(a.count):
        p = net.points[a.first + i]
        for j in range(b.count):
            q = net.points[b.first + j]
            dx, dy = p.x - q.x, p.y - q.y
            # every pair of points: those that are nearer than vehicles are wide
            near = across if abs(np.sin(p.yaw - q.yaw)) > 0.35 else along
            if dx * dx + dy * dy < near * near and abs(p.z - q.z) < 3.0:
                enter_a, leave_a = min(enter_a, i * a.step), max(leave_a, i * a.step)
                enter_b, leave_b = min(enter_b, j * b.step), max(leave_b, j * b.step)
    # half a metre of margin at both ends
    if leave_a >= enter_a:
        span[0], span[1] = enter_a - 0.5, leave_a + 0.5
        span[2], span[3] = enter_b - 0.5, leave_b + 0.5
