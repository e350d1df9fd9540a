"""Strips of paint from the OpenDRIVE file: lane markings, stop lines and crosswalks.

A broken line has 3 m of paint and 6 m of gap whatever lengths the file gives; CARLA's
maps give none. Kerbs and grass are markings in OpenDRIVE, but nothing is painted.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns.crosswalks import build_crosswalks
from harness.carlite.towns.model import LaneStopLine, TownSignal
from harness.carlite.towns.network import OpendriveNetwork, RoadMark, RoadRecord, SectionRecord
from harness.carlite.towns.opendrive import parse_opendrive
from harness.carlite.towns.reference_line import evaluate_cubic, evaluate_reference_line

DASH, PERIOD = 3.0, 9.0
DOT, DOT_PERIOD = 0.15, 1.2
PIECE = 1.5
STANDARD_WIDTH, BOLD_WIDTH = 0.12, 0.25
STOP_WIDTH, STRIPE_WIDTH, STRIPE_PERIOD = 0.4, 0.5, 1.0
WHITE = (226.0, 226.0, 220.0)
COLOURS = {
    "yellow": (214.0, 166.0, 44.0),
    "red": (186.0, 52.0, 44.0),
    "blue": (52.0, 96.0, 178.0),
    "green": (58.0, 138.0, 74.0),
    "orange": (222.0, 120.0, 36.0),
    "violet": (128.0, 74.0, 160.0),
}
LINES = {
    "solid": ("solid",),
    "broken": ("broken",),
    "solid solid": ("solid", "solid"),
    "solid broken": ("solid", "broken"),
    "broken solid": ("broken", "solid"),
    "broken broken": ("broken", "broken"),
    "botts dots": ("dots",),
    "edge": ("solid",),
    "custom": ("solid",),
}
STOPPING = ("traffic.traffic_light", "traffic.stop")
Part = tuple[Floats, Floats, float, tuple[float, float, float]]


def build_town_strips(opendrive: str, signals: tuple[TownSignal, ...]) -> tuple[Floats, Floats]:
    """Return what is painted in a town; nothing where there is no file.

    Args:
        opendrive: the file's text.
        signals: of the town, for their stop lines.

    Returns:
        (strips, 7) begin x y z, direction x y, length, half width, in metres; and (strips, 3)
        red, green and blue.
    """
    parts: list[Part] = []
    if opendrive:
        network = parse_opendrive(opendrive)
        parts += _list_lane_parts(network)
        for polygon in build_crosswalks(network):
            parts += _list_crosswalk_parts(polygon)
    for signal in signals:
        if signal.type_id in STOPPING:
            parts += [_make_stop_line(line) for line in signal.stop_lines]
    return _pack_strips(parts)


def _pack_strips(parts: list[Part]) -> tuple[Floats, Floats]:
    if not parts:
        return np.zeros((0, 7)), np.zeros((0, 3))
    # (pieces, 3) both ends; long pieces are cut so that few cells list each
    begin = np.concatenate([part[0] for part in parts])
    end = np.concatenate([part[1] for part in parts])
    counts = [len(part[0]) for part in parts]
    half = np.repeat([part[2] / 2 for part in parts], counts)
    colours = np.repeat(np.array([part[3] for part in parts]), counts, axis=0)
    cuts = np.ceil(np.hypot(*(end - begin)[:, :2].T) / PIECE * 0.999).astype(np.int64).clip(1)
    which = np.repeat(np.arange(len(begin)), cuts)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    step = (end - begin)[which] / cuts[which, None]
    at = begin[which] + step * nth[:, None]
    length = np.hypot(step[:, 0], step[:, 1])
    there = length > 1e-6
    along = step[:, :2] / np.maximum(length, 1e-6)[:, None]
    strips = np.column_stack([at[:, :2], at[:, 2] + step[:, 2] / 2, along, length, half[which]])
    return strips[there], colours[which][there]


def _list_lane_parts(network: OpendriveNetwork) -> list[Part]:
    parts: list[Part] = []
    for road in network.roads.values():
        for section in road.sections:
            for lane in section.lanes.values():
                marks = sorted(lane.marks, key=lambda mark: mark.s)
                # a lane may have no marking at all
                ends = [*(mark.s for mark in marks), section.end][1:]
                for mark, end in zip(marks, ends, strict=True):
                    parts += _list_mark_parts(
                        road, section, lane.id, mark=mark, end=min(end, section.end)
                    )
    return parts


def _list_mark_parts(
    road: RoadRecord, section: SectionRecord, lane: int, *, mark: RoadMark, end: float
) -> list[Part]:
    """Return the lines of one marking: one, or two with a line's width between them."""
    kinds = LINES.get(mark.kind, ())
    width = mark.width or (BOLD_WIDTH if mark.bold else STANDARD_WIDTH)
    colour = COLOURS.get(mark.colour, WHITE)
    # of two lines the first is the inner one; in the middle it is the left one
    outward = 1.0 if lane > 0 else -1.0
    parts: list[Part] = []
    for nth, kind in enumerate(kinds):
        shift = 0.0 if len(kinds) == 1 else (2 * nth - 1) * width * outward
        begin, stop = _cut_line(kind, max(mark.s, section.s), end)
        if len(begin):
            s = np.concatenate([begin, stop])
            points = _place_edge(road, section, lane, s=s, shift=shift)
            parts.append((points[: len(begin)], points[len(begin) :], width, colour))
    return parts


def _cut_line(kind: str, begin: float, end: float) -> tuple[Floats, Floats]:
    """Return stations where pieces of a line begin and end; those of dashes count from 0."""
    if end - begin < 1e-3:
        return np.zeros(0), np.zeros(0)
    if kind == "solid":
        s = np.linspace(begin, end, int(np.ceil((end - begin) / PIECE)) + 1)
        return s[:-1], s[1:]
    dash, period = (DASH, PERIOD) if kind == "broken" else (DOT, DOT_PERIOD)
    start = np.arange(np.floor(begin / period), np.ceil(end / period)) * period
    start = np.concatenate([start, start + dash / 2])
    low, high = np.maximum(start, begin), np.minimum(start + dash / 2, end)
    return low[high > low], high[high > low]


def _place_edge(
    road: RoadRecord, section: SectionRecord, lane: int, *, s: Floats, shift: float
) -> Floats:
    """Return points on a lane's outer edge, (stations, 3), in CARLA's frame."""
    x, y, heading = evaluate_reference_line(road.plan, s)
    z, _ = evaluate_cubic(road.elevation, s)
    t = evaluate_cubic(road.lane_offset, s)[0] + shift
    side = 1 if lane > 0 else -1
    for number in range(side, lane + side, side) if lane else ():
        if number in section.lanes:
            t = t + side * evaluate_cubic(section.lanes[number].width, s)[0]
    return np.column_stack([x - t * np.sin(heading), -(y + t * np.cos(heading)), z])


def _make_stop_line(line: LaneStopLine) -> Part:
    x, y, z = line.position
    ahead = np.array([np.cos(line.yaw), np.sin(line.yaw), 0.0])
    across = np.array([-ahead[1], ahead[0], 0.0]) * (line.width / 2 - 0.1)
    middle = np.array([x, y, z]) - ahead * STOP_WIDTH / 2
    return (middle - across)[None], (middle + across)[None], STOP_WIDTH, WHITE


def _list_crosswalk_parts(polygon: Floats) -> list[Part]:
    """Return the stripes of a crosswalk: along the road, one after another across it."""
    sides = np.diff(polygon[:, :2], axis=0)
    longest = sides[np.argmax(np.hypot(sides[:, 0], sides[:, 1]))]
    axis = longest / max(float(np.hypot(*longest)), 1e-9)
    # (corners,) along the way of the walkers, and aside
    along = polygon[:, :2] @ axis
    aside = polygon[:, :2] @ np.array([-axis[1], axis[0]])
    begins: list[list[float]] = []
    ends: list[list[float]] = []
    for at in np.arange(along.min() + STRIPE_PERIOD / 2, along.max(), STRIPE_PERIOD):
        # where the polygon's sides cross the stripe's middle line
        crossing = (along[:-1] < at) != (along[1:] < at)
        if crossing.sum() >= 2:
            share = (at - along[:-1][crossing]) / (along[1:] - along[:-1])[crossing]
            v = aside[:-1][crossing] + share * (aside[1:] - aside[:-1])[crossing]
            for ends_list, place in ((begins, v.min()), (ends, v.max())):
                place_of_end = at * axis + place * np.array([-axis[1], axis[0]])
                ends_list.append([place_of_end[0], place_of_end[1], polygon[:, 2].mean()])
    if not begins:
        return []
    return [(np.array(begins), np.array(ends), STRIPE_WIDTH, WHITE)]
