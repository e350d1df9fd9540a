"""Two numbers of each arm against each other: one marker an arm, with its name next to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.drawing.canvas import Canvas, Point, estimate_text_width, trim_text
from analysis.drawing.markers import SHAPES, add_marker
from analysis.drawing.palette import HUES
from analysis.drawing.plots import WIDTH
from analysis.drawing.scale import AxisScale, compute_axis_ends
from analysis.figures.curves import HorizontalAxis, render_grid
from analysis.statistics.intervals import IntervalEstimate
from harness.records.arms import NONE
from harness.types.vocabulary import Floats

HEIGHT, MARKER, LETTERS = 270.0, 3.4, 9.5
"""Height between the axes, radius of a marker, size of names."""
FEW = 6
"""Arms whose intervals are drawn; of more, the length of the median one is written."""
NEAREST = 7.5
"""Least distance between the middles of two markers."""
ROUNDS = 60
"""Steps in which markers move apart."""
WAYS = tuple(
    (reach, math.radians(turn))
    for reach in (9.0, 15.0, 22.0, 30.0, 40.0, 52.0)
    for turn in (0, 180, 270, 90, 315, 45, 225, 135)
)
"""Where a name is tried: distance from its marker, direction."""
LEADER = 9.5
"""Distance from which a line joins a name and its marker."""
LONGEST_NAME = 110.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterPoint:
    """An arm in the figure.

    Attributes:
        label: what distinguishes the arm from the others, without its condition.
        condition: what disturbs it; decides colour and shape.
        title: shown where a pointer rests on the marker.
    """

    label: str
    condition: str
    x: IntervalEstimate
    y: IntervalEstimate
    title: str

    @property
    def is_known(self) -> bool:
        """Whether both numbers are there; a number beyond all others counts as there."""
        return math.isfinite(self.y.value) and not math.isnan(self.x.value)


@dataclass(frozen=True, slots=True)
class NameBox:
    """The place of a name, or of a marker: its left upper and its right lower corner."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: NameBox) -> bool:
        """Return whether two boxes have a common part."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def fit_upright_ends(
    points: Sequence[ScatterPoint], within: tuple[float, float | None]
) -> tuple[float, float]:
    """Return the ends of the upright axis: no farther than what is shown."""
    ends = list_shown_ends([point.y for point in points], len(points))
    low, high = compute_axis_ends(ends)
    return max(low, within[0]), high if within[1] is None else min(high, within[1])


def fit_horizontal_axis(points: Sequence[ScatterPoint], label: str) -> HorizontalAxis:
    """Return a horizontal axis that reaches no farther than what is shown."""
    low, high = compute_axis_ends(list_shown_ends([point.x for point in points], len(points)))
    return HorizontalAxis(
        scale=AxisScale(low=low, high=high, first=40.0, last=WIDTH - 10), label=label
    )


def list_shown_ends(estimates: Sequence[IntervalEstimate], count: int) -> list[float]:
    """Return the values that have to be on an axis, with the intervals of few arms."""
    ends = [estimate.value for estimate in estimates]
    if count <= FEW:
        ends += [end for estimate in estimates for end in (estimate.low, estimate.high)]
    return ends


def render_scatter_figure(
    points: Sequence[ScatterPoint],
    across: HorizontalAxis,
    *,
    up: tuple[float, float, str],
    says: str,
) -> Canvas:
    """Draw a marker and a name for each arm, and a line from each arm to itself undisturbed.

    Markers that would hide each other are moved apart; a line leads to the true place.

    Args:
        points: of all arms.
        across: the horizontal axis.
        up: ends of the upright axis, and its label.
        says: description for screen readers.
    """
    known = [point for point in points if point.is_known]
    conditions = sorted({point.condition for point in known}, key=lambda name: (name != NONE, name))
    top = 22.0 + 16 * (len(conditions) > 1)
    upright = AxisScale(low=up[0], high=up[1], first=top + HEIGHT, last=top)
    canvas = Canvas(WIDTH, top + HEIGHT + 36 + 12 * (len(known) > FEW), says)
    render_grid(canvas, across, upright, up[2])
    if len(conditions) > 1:
        render_condition_legend(canvas, conditions)
    places = [
        (across.place_value(point.x.value), upright.place_value(point.y.value)) for point in known
    ]
    moved = move_markers_apart(places)
    render_intervals(canvas, known, across, upright)
    # from undisturbed to disturbed, and from each marker to its true place
    plain = {
        point.label: at for point, at in zip(known, moved, strict=True) if point.condition == NONE
    }
    for point, at, place in zip(known, moved, places, strict=True):
        if point.condition != NONE and point.label in plain:
            canvas.add_line([plain[point.label], at], "line", 1.0)
        if math.dist(at, place) > 1.0:
            canvas.add_line([place, at], "quiet", 0.7)
    for point, at in zip(known, moved, strict=True):
        style = conditions.index(point.condition)
        add_marker(
            canvas,
            at,
            MARKER,
            colour=HUES[style % len(HUES)],
            shape=SHAPES[style % len(SHAPES)],
            title=point.title,
        )
    render_names(canvas, known, moved, top)
    return canvas


def render_condition_legend(canvas: Canvas, conditions: Sequence[str]) -> None:
    """Draw which marker stands for which condition."""
    x = 6.0
    for number, name in enumerate(conditions):
        add_marker(
            canvas,
            (x, 8.0),
            MARKER,
            colour=HUES[number % len(HUES)],
            shape=SHAPES[number % len(SHAPES)],
        )
        shown = trim_text(name, LONGEST_NAME)
        canvas.add_text((x + 9, 11.6), shown, colour="quiet")
        x += 9 + estimate_text_width(shown) + 16


def render_intervals(
    canvas: Canvas, known: Sequence[ScatterPoint], across: HorizontalAxis, up: AxisScale
) -> None:
    """Draw the intervals of few arms, or write below the axis how long the median one is."""
    if len(known) <= FEW:
        for point in known:
            x, y = across.place_value(point.x.value), up.place_value(point.y.value)
            if math.isfinite(point.y.low):
                ends = up.place_value(point.y.low), up.place_value(point.y.high)
                canvas.add_line([(x, ends[0]), (x, ends[1])], "quiet", 0.7)
            if math.isfinite(point.x.low) and math.isfinite(point.x.value):
                reach = across.place_value(point.x.low), across.place_value(point.x.high)
                canvas.add_line([(reach[0], y), (reach[1], y)], "quiet", 0.7)
        return
    halves = [compute_median_half([getattr(point, axis) for point in known]) for axis in ("x", "y")]
    if all(map(math.isfinite, halves)):
        words = f"median 95 % interval: ±{halves[0]:.2g} across, ±{halves[1]:.2g} up"
        at = (WIDTH - 4, up.first + 43)
        canvas.add_text(at, words, anchor="end", colour="quiet", size=LETTERS)


def compute_median_half(estimates: Sequence[IntervalEstimate]) -> float:
    """Return half the length of the median interval; NaN if no estimate has one."""
    halves = [(estimate.high - estimate.low) / 2 for estimate in estimates]
    known = [half for half in halves if math.isfinite(half)]
    return float(np.median(known)) if known else math.nan


def move_markers_apart(places: Sequence[Point]) -> list[Point]:
    """Return places at which no marker hides another, near the true ones."""
    at: Floats = np.array(places, np.float64).reshape(-1, 2)
    # the same place twice has no direction: turn by number
    for number in range(len(at)):
        same = (np.abs(at[:number] - at[number]) < 1e-6).all(axis=1).sum()
        at[number] += 0.01 * same * np.array([math.cos(2.4 * number), math.sin(2.4 * number)])
    for _ in range(ROUNDS):
        away = at[:, None] - at[None]
        gap = np.linalg.norm(away, axis=2)
        near = (gap < NEAREST) & ~np.eye(len(at), dtype=np.bool_)
        if not near.any():
            break
        push = np.where(near, (NEAREST - gap) / 2 + 0.05, 0.0)
        at += (away / np.maximum(gap, 1e-9)[..., None] * push[..., None]).sum(axis=1)
    return [(float(x), float(y)) for x, y in at]


def render_names(
    canvas: Canvas, known: Sequence[ScatterPoint], places: Sequence[Point], top: float
) -> None:
    """Write the name of each arm next to its marker, where it hides nothing."""
    several = len({point.label for point in known}) > 1
    taken = [make_marker_box(at) for at in places]
    for point, at in zip(known, places, strict=True):
        name = trim_text(point.label if several else point.condition, LONGEST_NAME, LETTERS)
        middle, box = choose_name_place(name, at, taken, top)
        taken.append(box)
        end = (min(max(at[0], box.left), box.right), min(max(at[1], box.top), box.bottom))
        if math.dist(end, at) > LEADER:
            canvas.add_line([at, end], "quiet", 0.5)
        base = (middle[0], middle[1] + 0.35 * LETTERS)
        canvas.add_text(base, name, anchor="middle", size=LETTERS)


def make_marker_box(at: Point) -> NameBox:
    """Return the box that a marker takes."""
    reach = MARKER + 1.2
    return NameBox(at[0] - reach, at[1] - reach, at[0] + reach, at[1] + reach)


def choose_name_place(
    name: str, at: Point, taken: Sequence[NameBox], top: float
) -> tuple[Point, NameBox]:
    """Return the middle of a name and its box: the nearest free one, or the one most free."""
    width = estimate_text_width(name, LETTERS)
    tried: list[tuple[int, int, Point, NameBox]] = []
    for middle in iterate_name_middles(at, width):
        box = NameBox(
            middle[0] - width / 2,
            middle[1] - LETTERS / 2 - 0.5,
            middle[0] + width / 2,
            middle[1] + LETTERS / 2 + 0.5,
        )
        inside = box.left >= 36 and box.right <= WIDTH and top - 4 <= box.top
        inside = inside and box.bottom <= top + HEIGHT + 2
        hits = sum(box.overlaps(other) for other in taken) + 10 * (not inside)
        if not hits:
            return middle, box
        tried.append((hits, len(tried), middle, box))
    *_, middle, box = min(tried, key=lambda option: option[:2])
    return middle, box


def iterate_name_middles(at: Point, width: float) -> Iterator[Point]:
    """Yield the middles of a name of some width round its marker, the nearest first."""
    for reach, turn in WAYS:
        aside = math.cos(turn)
        shift = aside * reach + math.copysign(width / 2, aside) * (abs(aside) > 0.1)
        yield at[0] + shift, at[1] + math.sin(turn) * reach
