"""What a town from a seed may be asked to be; the seed decides what is not given."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from harness.carlite.randomness import make_random_stream

Range = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class TownParameters:
    """How a town is laid out and built up; counts are whole numbers, shares go from 0 to 1."""

    columns: int  # blocks from west to east
    rows: int  # blocks from north to south
    block_width: float  # m from west to east, on average, between the middles of streets
    block_depth: float  # m from north to south
    avenues: float  # share of the streets through the town that are avenues; two at least
    street_lanes: int  # driving lanes each way of streets that are no avenue; avenues have 2
    curvature: float  # 0: a straight grid; 1: distorted blocks, bent streets
    removed: float  # share of the stretches between junctions that are not built
    grade: float  # slope of the steepest street, metres of height for each metre
    lights: float  # share of the junctions that have lights; crossings of avenues come first
    all_way: float  # share of the junctions without lights where all arms stop
    yields: float  # share of the other junctions where minor streets yield; elsewhere they stop
    pockets: float  # share of avenues' arms at lights with a left-turn lane, if there is room
    parking: float  # share of the kerbs with a parking lane
    parked: float  # share of the places in parking lanes that are taken
    setback: float  # m from the sidewalk's edge to the fronts of the nearest houses
    storeys: int  # number of storeys of the highest houses


RANGES: dict[str, Range] = {
    "columns": (3, 5),
    "rows": (3, 5),
    "block_width": (80.0, 150.0),
    "block_depth": (80.0, 150.0),
    "avenues": (0.25, 0.7),
    "street_lanes": (1, 2),
    "curvature": (0.0, 1.0),
    "removed": (0.0, 0.3),
    "grade": (0.0, 0.06),
    "lights": (0.3, 0.7),
    "all_way": (0.0, 0.4),
    "yields": (0.0, 1.0),
    "pockets": (0.0, 1.0),
    "parking": (0.2, 0.9),
    "parked": (0.3, 0.9),
    "setback": (0.3, 6.0),
    "storeys": (2, 12),
}
"""The lowest and the highest value of each parameter."""
WHOLE = {field.name for field in fields(TownParameters) if field.type == "int"}
EXTENT: Range = (380.0, 430.0)
"""Metres along each side that sampled blocks add up to, where that many blocks may."""
USUAL = {"street_lanes": (1, 1)}
"""Ranges of sampled values that are narrower than those of given ones."""


def sample_town_parameters(seed: int, **given: float) -> TownParameters:
    """Return a town's parameters: those given, the others from the seed, each by its own stream."""
    chosen = {
        name: _sample_parameter(seed, name, *USUAL.get(name, RANGES[name])) for name in RANGES
    }
    for side, count in (("block_width", "columns"), ("block_depth", "rows")):
        low, high = RANGES[side]
        length = _sample_parameter(seed, side, *EXTENT) / (given.get(count) or chosen[count])
        chosen[side] = round(min(max(length, low), high), 1)
    values: dict[str, Any] = {**chosen, **given}
    return TownParameters(**values)


def _sample_parameter(seed: int, name: str, low: float, high: float) -> float:
    share = float(make_random_stream(seed, "town", name).random())
    if name in WHOLE:
        return math.floor(low + share * (high - low + 1))
    return round(low + share * (high - low), 3)


def describe_refused_parameter(given: dict[str, float]) -> str:
    """Return what is wrong with the first given value that is out of range, or nothing."""
    for name, value in given.items():
        low, high = RANGES[name]
        if not low <= value <= high:
            return f"{name} = {value:g}: must be {low:g} to {high:g}"
    return ""
