"""Where the crossings of a town from a seed lie, how its streets bend, how high the ground is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from harness.authoring.plan import Via
from harness.authoring.seeded.grid import Cell, StreetChain
from harness.authoring.seeded.parameters import TownParameters
from harness.carlite.angles import wrap_to_pi

Point = tuple[float, float]

UNEQUAL = 0.14
"""How far a block's length may lie from the mean, as a share of it."""
JITTER, BOW, TURN, BEND = 6.0, 0.05, math.radians(8), 0.085
"""At curvature 1: metres that crossings move, bow of the whole grid as a share of its size, turn of
the whole town, and sideways bend of a street as a share of its length."""
KEPT_STRAIGHT = 24.0
"""Metres from a junction's middle in which a street does not bend."""
BEFORE_BEND = 3.0
"""Metres that stay straight on both sides of a bend that is no junction's."""
WIDEST_BEND, TIGHTEST_BEND, SHARP_BEND = 300.0, 40.0, 42.0
"""Radii in metres: of gentle bends at most, of bends without need at least, of corners at most."""
ONE_BEND = 0.6
"""Share of the bent streets with one bend; the others have two, one to each side."""
SMALLEST = 12.0
"""Metres, the radius below which a corner is no street."""
SHARP = math.radians(45)
GENTLE = math.radians(1.5)
"""Below this a bend is left out."""
BUMPS = 3
LEVEL = 0.004
"""Grades below this are built level."""
STEEPER = 1.5
"""Streets run level into their junctions: in the middle they are this many times as steep."""
INSIDE_JUNCTIONS = 42.0
"""Metres of a street, from middle to middle, that lie level in its two junctions."""
HIGHEST = 14.0
"""Metres between the lowest and the highest junction."""


@dataclass(frozen=True)
class CrossingGround:
    """The crossings of a grid: where they lie and how high."""

    points: dict[Cell, Point]
    heights: dict[Cell, float]


def snap_to_quarter(value: float) -> float:
    """Round to a quarter metre: exact in any float format, whatever the last bit of a sine."""
    return round(value * 4) / 4


def place_crossings(parameters: TownParameters, rng: np.random.Generator) -> dict[Cell, Point]:
    """Lay out the crossings: blocks of unequal size, bowed, turned and shaken by the curvature."""
    xs = _sample_line_stations(parameters.columns, parameters.block_width, rng)
    ys = _sample_line_stations(parameters.rows, parameters.block_depth, rng)
    bow_x, bow_y, turn = (2 * rng.random(3) - 1) * parameters.curvature
    cos, sin = math.cos(turn * TURN), math.sin(turn * TURN)
    half_x, half_y = xs[-1], ys[-1]
    result = {}
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            dx, dy = (2 * rng.random(2) - 1) * JITTER * parameters.curvature
            u = x + dx + bow_x * BOW * 2 * half_y * ((y / half_y) ** 2 - 0.5)
            v = y + dy + bow_y * BOW * 2 * half_x * ((x / half_x) ** 2 - 0.5)
            result[i, j] = snap_to_quarter(u * cos - v * sin), snap_to_quarter(u * sin + v * cos)
    return result


def _sample_line_stations(count: int, mean: float, rng: np.random.Generator) -> list[float]:
    """Return where the lines of the grid lie, their middle at 0."""
    lengths = 1 + UNEQUAL * (2 * rng.random(count) - 1)
    ends = np.concatenate([[0.0], np.cumsum(lengths)]) * (mean * count / lengths.sum())
    return [float(end - ends[-1] / 2) for end in ends]


def make_street_vias(
    chain: StreetChain, points: dict[Cell, Point], curvature: float, rng: np.random.Generator
) -> tuple[Via, ...]:
    """Return the bends of a street: those of the crossings it passes, or one of its own, or two."""
    side, form = 2 * rng.random() - 1, rng.random()
    corners = [points[cell] for cell in chain.cells]
    if len(chain.edges) > 1:
        return _refuse_tight_bends(make_rounded_corners(corners))
    start, end = corners
    shares = ((0.5, side),) if form < ONE_BEND else ((0.35, 0.6 * side), (0.65, -0.6 * side))
    bends = [
        move_point_aside(start, end, share, aside * BEND * curvature) for share, aside in shares
    ]
    bent = make_rounded_corners([start, *bends, end])
    return bent if all(via.radius >= TIGHTEST_BEND for via in bent) else ()


def _refuse_tight_bends(bends: tuple[Via, ...]) -> tuple[Via, ...]:
    """Refuse bends that are too tight to drive."""
    tightest = min((via.radius for via in bends), default=math.inf)
    if tightest < SMALLEST:
        raise ValueError(f"a street has room for a bend of radius {tightest:g} m only")
    return bends


def move_point_aside(start: Point, end: Point, share: float, aside: float) -> Point:
    """Return a point at a share of a line's length, moved aside by another share of it."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    return (
        snap_to_quarter(start[0] + share * dx - aside * dy),
        snap_to_quarter(start[1] + share * dy + aside * dx),
    )


def make_rounded_corners(corners: list[Point]) -> tuple[Via, ...]:
    """Return the inner corners with the widest radius that leaves both ends straight."""
    # corners that hardly turn are dropped, one by one: dropping one changes the others
    while True:
        legs = [math.dist(a, b) for a, b in pairwise(corners)]
        turns = [_compute_corner_turn(*corners[k : k + 3]) for k in range(len(corners) - 2)]
        slight = [k for k, turn in enumerate(turns, start=1) if turn < GENTLE]
        if not slight:
            break
        del corners[slight[0]]
    # radii that leave room on both legs
    last = len(legs) - 1
    return tuple(
        Via(
            *corners[k + 1],
            _compute_bend_radius(
                turn,
                _compute_bend_room(legs[k], k == 0),
                _compute_bend_room(legs[k + 1], k + 1 == last),
            ),
        )
        for k, turn in enumerate(turns)
    )


def _compute_bend_room(leg: float, at_end: bool) -> float:
    """Return how much of a leg one bend may take."""
    return leg - KEPT_STRAIGHT if at_end else leg / 2 - BEFORE_BEND


def _compute_bend_radius(turn: float, before: float, after: float) -> float:
    widest = SHARP_BEND if turn > SHARP else WIDEST_BEND
    return math.floor(min(min(before, after) / math.tan(turn / 2), widest))


def _compute_corner_turn(a: Point, b: Point, c: Point) -> float:
    """Return by how much a course turns at its middle point."""
    before = math.atan2(b[1] - a[1], b[0] - a[0])
    after = math.atan2(c[1] - b[1], c[0] - b[0])
    return abs(wrap_to_pi(after - before))


def compute_street_length(street: StreetChain, points: dict[Cell, Point]) -> float:
    """Return a street's length from middle to middle, bends aside."""
    return sum(math.dist(points[a], points[b]) for a, b in pairwise(street.cells))


def sample_heights(
    points: dict[Cell, Point], streets: list[StreetChain], grade: float, rng: np.random.Generator
) -> dict[Cell, float]:
    """Return how high the crossings lie: hills, as high as the grade of the streets allows."""
    across = max(math.dist(a, b) for a in points.values() for b in points.values())
    hills = [
        (cell[0] - 0.5, cell[1] - 0.5, size - 0.35)
        for *cell, size in rng.random((BUMPS, 3)).tolist()
    ]
    raw = {cell: _sum_hill_heights(point, hills, across) for cell, point in points.items()}
    steepest = max(_compute_steepest_grade(street, points, raw) for street in streets)
    spread = max(raw.values()) - min(raw.values())
    if grade < LEVEL or steepest == 0:
        return dict.fromkeys(points, 0.0)
    scale = min(grade / steepest, HIGHEST / spread)
    low = min(raw.values())
    return {cell: math.floor((height - low) * scale * 20) / 20 for cell, height in raw.items()}


def _sum_hill_heights(
    point: Point, hills: list[tuple[float, float, float]], across: float
) -> float:
    """Sum up hills and hollows, each a third of the town wide."""
    return sum(
        size / (1 + (math.dist(point, (x * across, y * across)) / (across / 4)) ** 2)
        for x, y, size in hills
    )


def _compute_steepest_grade(
    street: StreetChain, points: dict[Cell, Point], raw: dict[Cell, float]
) -> float:
    """Return a street's steepest grade, were the raw heights metres."""
    run = compute_street_length(street, points)
    rise = abs(raw[street.cells[0]] - raw[street.cells[-1]])
    return STEEPER * rise / max(run - INSIDE_JUNCTIONS, 1.0)
