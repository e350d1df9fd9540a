"""What a town from a seed must offer besides being drivable: room for traffic and for hazards."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from harness.authoring.checks import DRIVABLE, LIGHT, SIGNS, Check, TownSubject, list_junction_arms
from harness.carlite.towns.model import LaneKind, Town

SPAWN_POINTS = 150
"""Places for vehicles, so that V2Xverse's 120 and their surroundings have room."""
LARGEST = 500.0
"""Metres from side to side."""
STEEPEST = 0.062
"""Metres of height for each metre: the steepest grade that may be asked for, and its rounding."""
STRAIGHT, STRAIGHT_ONES = 60.0, 4
"""Metres of a kerbside lane without junction or bend, and how many such stretches there must be."""
BENT = math.radians(4)
"""From here on a stretch is not straight."""
FOUR_ARMS = 4
PARKING = 200.0
"""Metres of parking lanes."""


def find_spawn_point_shortage(subject: TownSubject) -> Iterator[str]:
    """Yield if too few vehicles have room."""
    count = len(subject.town.spawn_points)
    if count < SPAWN_POINTS:
        yield f"{count} spawn points; {SPAWN_POINTS} are needed"


def find_excess_size(subject: TownSubject) -> Iterator[str]:
    """Yield if the town is larger than towns are meant to be."""
    width, depth = np.ptp(subject.town.lanes.points[:, :2], axis=0)
    if max(width, depth) > LARGEST:
        yield f"{width:.0f} by {depth:.0f} m; at most {LARGEST:.0f} m are allowed"


def find_steep_lanes(subject: TownSubject) -> Iterator[str]:
    """Yield driving lanes that are steeper than allowed."""
    lanes = subject.town.lanes
    for lane in np.flatnonzero(lanes.kind == LaneKind.DRIVING).tolist():
        points = lanes.points[lanes.first[lane] : lanes.first[lane] + lanes.count[lane]]
        run = np.hypot(*np.diff(points[:, :2], axis=0).T)
        grade = np.abs(np.diff(points[:, 2]))[run > 0.2] / run[run > 0.2]
        if grade.max(initial=0.0) > STEEPEST:
            yield f"road {lanes.key[lane, 0]} rises by {100 * grade.max():.1f} %"


def find_missing_junction_kinds(subject: TownSubject) -> Iterator[str]:
    """Yield if no four arms meet at lights, or no streets meet without lights."""
    lit = _find_lit_junctions(subject.town)
    arms = list_junction_arms(subject.town)
    if not any(len(roads) >= FOUR_ARMS for junction, roads in arms.items() if junction in lit):
        yield "no junction of four arms has lights"
    if not set(arms) - lit:
        yield "every junction has lights"
    signs = [signal for signal in subject.town.signals if signal.type_id in SIGNS]
    if not signs:
        yield "no stop or yield sign"


def _find_lit_junctions(town: Town) -> set[int]:
    """Return the junctions with lights: those that lanes held by a light lead into."""
    lanes = town.lanes
    held = [
        line.lane
        for signal in town.signals
        if signal.type_id == LIGHT
        for line in signal.stop_lines
    ]
    ahead = [int(lanes.next[lanes.next_first[lane]]) for lane in held if lanes.next_count[lane]]
    return {int(lanes.junction[lane]) for lane in ahead}


def find_missing_hazard_places(subject: TownSubject) -> Iterator[str]:
    """Yield if hazards find no avenue, no straight kerbside lane or no parked cars."""
    lanes = subject.town.lanes
    street = (lanes.kind == LaneKind.DRIVING) & (lanes.junction < 0)
    wide = street & (lanes.right >= 0)
    if lanes.length[wide].max(initial=0.0) < STRAIGHT / 2:
        yield "no street with two lanes in one direction"
    straight = [length for length in measure_straight_kerbs(subject.town) if length >= STRAIGHT]
    if len(straight) < STRAIGHT_ONES:
        yield f"{len(straight)} straight kerbside lanes of {STRAIGHT:.0f} m"
    parking = float(lanes.length[lanes.kind == LaneKind.PARKING].sum())
    if parking < PARKING:
        yield f"{parking:.0f} m of parking lanes"


def measure_straight_kerbs(town: Town) -> list[float]:
    """Return the longest straight stretch of the kerbside lane on each side of each road."""
    lanes = town.lanes
    kerbside = (lanes.kind == LaneKind.DRIVING) & (lanes.junction < 0) & (lanes.right < 0)
    sides: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for lane in np.flatnonzero(kerbside).tolist():
        sides[int(lanes.key[lane, 0]), bool(lanes.key[lane, 2] > 0)].append(lane)
    return [_measure_longest_straight(town, side) for _, side in sorted(sides.items())]


def _measure_longest_straight(town: Town, side: list[int]) -> float:
    lanes = town.lanes
    order = sorted(side, key=lambda lane: float(lanes.road_s[lanes.first[lane]]))
    # (points,) rows of the lanes, along the road
    points = np.concatenate(
        [np.arange(lanes.first[lane], lanes.first[lane] + lanes.count[lane]) for lane in order]
    )
    points = points[np.argsort(lanes.road_s[points], kind="stable")]
    yaw, station = np.unwrap(lanes.yaw[points]), lanes.road_s[points]
    longest, begin = 0.0, 0
    # two pointers: the longest stretch whose direction stays within a limit
    for end in range(len(points)):
        while abs(yaw[end] - yaw[begin]) > BENT:
            begin += 1
        longest = max(longest, float(station[end] - station[begin]))
    return longest


CHECKS: tuple[Check, ...] = (
    *DRIVABLE,
    find_spawn_point_shortage,
    find_excess_size,
    find_steep_lanes,
    find_missing_junction_kinds,
    find_missing_hazard_places,
)
"""What holds for every town from a seed."""
