"""Curves of robustness, and the trade-off of scores and bytes: a marker and dashes per system.

Systems differ by colour, by marker and by dashes, so that a copy in black and white can be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analysis.drawing.canvas import Canvas, Point, Polyline, estimate_text_width, trim_text
from analysis.drawing.markers import SHAPES, add_marker
from analysis.drawing.palette import HUES
from analysis.drawing.plots import WIDTH
from analysis.drawing.scale import AxisScale, compute_axis_ends, format_tick
from analysis.figures.driving import join_arm_names
from analysis.statistics.intervals import IntervalEstimate
from analysis.surrogates import GOAL_TIME
from analysis.sweeps import AGE, LOSS, SHIFT
from analysis.tables.curves import ANY, SIZE, UNLIMITED
from analysis.tables.table import EstimatesTable
from harness.records.arms import CONDITION

HEIGHT = 190.0
LEFT, EDGE = 34.0, 26.0
"""Room for the numbers of the upright axis, and for what has no place on a logarithmic one."""
APART = 2.6
"""Units between the points of two systems at one size."""
SAMPLE = 26.0
"""Length of a line in the legend."""
DASHES = (None, (7.0, 3.0), (2.0, 2.5), (11.0, 2.5))
MARKER = 3.4
"""Radius of a marker."""
CURVE_SCORES: dict[str, tuple[str, str, tuple[float, float | None]]] = {
    "DS": ("driving score", "Driving score", (0.0, 100.0)),
    "CR %": ("drives with a collision, %", "Collision rate", (0.0, 100.0)),
    GOAL_TIME: ("time to goal of the drives that reached it, s", "Time to goal", (0.0, None)),
    "AP": ("average precision", "Average precision", (0.0, 1.0)),
}
"""Label of the upright axis, title of the figure, ends of the axis; None: as far as points are."""
MEASURED_AS = {
    AGE: "mean age of messages at first use, s",
    LOSS: "messages lost, %",
    SHIFT: "mean displacement of partners, m",
}
"""What sizes are measured by, in words."""
MOST_TICKS = 6
SMALL, LINE, APART_WORDS = 9.5, 14.0, 12.0
"""Size of small words, height of a line of them, and the least room between two texts."""
WIDE = 20.0
"""Ratio of the largest size to the smallest from which a logarithmic axis is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveStyle:
    """How a system is drawn."""

    colour: str
    marker: str
    dash: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A point of a figure.

    Attributes:
        title: shown where a pointer rests on the point.
        shape: of the marker, if not its curve's.
    """

    x: IntervalEstimate
    y: IntervalEstimate
    title: str
    shape: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledCurve:
    """The points of one line, and how it is drawn."""

    label: str
    style: CurveStyle
    data: tuple[CurvePoint, ...]
    level: bool = False  # the same at every size
    more: bool = False  # further points of the line of that name: not joined, not in the legend


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizontalAxis:
    """The horizontal axis: a scale, and the places at its edges for what it cannot show."""

    scale: AxisScale
    label: str
    zero: float | None = None  # where nothing at all lies, on a logarithmic axis
    unlimited: float | None = None
    aside: float = 0.0  # by how much a curve's points are moved, not to hide another's

    def place_value(self, value: float) -> float:
        """Return where a number lies."""
        if self.unlimited is not None and math.isinf(value):
            return self.unlimited + self.aside
        if self.zero is not None and value <= 0:
            return self.zero + self.aside
        return self.scale.place_value(value) + self.aside


def assign_styles(labels: Sequence[str]) -> dict[str, CurveStyle]:
    """Return a colour, a marker and dashes for each line."""
    return {
        label: CurveStyle(
            colour=HUES[number % len(HUES)],
            marker=SHAPES[number % len(SHAPES)],
            dash=DASHES[number % len(DASHES)],
        )
        for number, label in enumerate(dict.fromkeys(labels))
    }


def render_sweep_figures(table: EstimatesTable, sweep: str) -> Iterator[tuple[str, Canvas]]:
    """Yield a figure of each score over the sizes of one disturbance, with its title."""
    rows = [(names, cells) for names, cells in table.list_rows() if names[0] == sweep]
    # the points of each line, which has a look that is the same in all figures
    lines: dict[str, list[tuple[str, dict[str, IntervalEstimate]]]] = {}
    factors = table.by[1:-2]
    for names, cells in rows:
        values = dict(zip(factors, names[1:-2], strict=True))
        label = join_arm_names([value for name, value in values.items() if name != CONDITION])
        lines.setdefault(label, []).append((names[-2], cells))
    look = assign_styles(list(lines))
    # a figure for each score
    for measure in list_known_scores(table):
        curves = [
            StyledCurve(
                label=label,
                style=look[label],
                data=tuple(
                    CurvePoint(
                        x=replace_unlimited_size(cells[SIZE], asked),
                        y=cells[measure],
                        title=f"{label}, {asked}",
                    )
                    for asked, cells in points
                ),
                level=points[0][0] == ANY,
            )
            for label, points in lines.items()
        ]
        wording, title, ends = CURVE_SCORES[measure]
        across = make_horizontal_axis(curves, format_sweep_axis_label(rows[0][0][-1]))
        says = f"{wording} over {rows[0][0][-1]}, a line for each system, with 95 % intervals"
        yield (
            title,
            render_curve_figure(
                curves, across, up=(*compute_score_limits(ends, curves), wording), says=says
            ),
        )


def replace_unlimited_size(estimate: IntervalEstimate, asked: str) -> IntervalEstimate:
    """Return a size as it is plotted: no limit is beyond every number."""
    return replace(estimate, value=math.inf) if asked == UNLIMITED else estimate


def list_known_scores(table: EstimatesTable) -> list[str]:
    """Return the scores that a table has, and knows of some arm."""
    known = set(table.cells.loc[table.cells["value"].notna(), "measure"])
    return [name for name in CURVE_SCORES if name in known]


def compute_score_limits(
    ends: tuple[float, float | None], curves: Sequence[StyledCurve]
) -> tuple[float, float]:
    """Return the ends of the upright axis."""
    low, high = ends
    points = [
        end for curve in curves for datum in curve.data for end in (datum.y.value, datum.y.high)
    ]
    return low, high or 1.05 * max(end for end in points if math.isfinite(end))


def format_sweep_axis_label(axis: str) -> str:
    """Return the label of the horizontal axis: what was measured, or that it was only asked."""
    kind, _, name = axis.partition(": ")
    return f"{MEASURED_AS.get(name, name)} ({kind})" if kind == "measured" else axis


def make_horizontal_axis(
    curves: Sequence[StyledCurve], label: str, log: bool = False
) -> HorizontalAxis:
    """Return a horizontal axis on which all points have a place.

    Args:
        curves: those that are drawn.
        label: below the axis.
        log: ask for a logarithmic axis; a wide range gets one anyway.
    """
    # numbers that have a place, and the ends of their intervals
    values = [datum.x.value for curve in curves if not curve.level for datum in curve.data]
    ends = [
        end
        for curve in curves
        for datum in curve.data
        for end in (datum.x.value, datum.x.low, datum.x.high)
        if math.isfinite(end) and end > 0
    ]
    # zero and "no limit" have no place on a logarithmic axis: each gets an edge
    log = bool(ends) and (log or max(ends) / min(ends) >= WIDE)
    zero = log and any(value <= 0 for value in values)
    unlimited = any(math.isinf(value) for value in values)
    first, last = LEFT + EDGE * zero + 6 * (not log), WIDTH - 10 - EDGE * unlimited
    if log:
        low, high = (10**end for end in compute_axis_ends([math.log10(end) for end in ends]))
    else:
        low, high = 0.0, max(ends, default=1.0) * 1.03
    return HorizontalAxis(
        scale=AxisScale(low=low, high=high, first=first, last=last, log=log),
        label=f"{label}{' (logarithmic)' * log}",
        zero=LEFT + EDGE / 2 - 3 if zero else None,
        unlimited=WIDTH - EDGE / 2 - 6 if unlimited else None,
    )


def render_curve_figure(
    curves: Sequence[StyledCurve],
    across: HorizontalAxis,
    *,
    up: tuple[float, float, str],
    says: str,
    words: str = "",
) -> Canvas:
    """Draw curves, or their points only, below a legend of lines and markers, and of words.

    Args:
        curves: from the first to the last of the legend.
        across: the horizontal axis.
        up: ends of the vertical axis, and its label.
        says: description for screen readers.
        words: behind the legend.
    """
    # the legend takes as many rows as it needs
    lines = [curve for curve in curves if not curve.more]
    places = list(place_legend_entries(lines, SAMPLE))
    rows = 1 + max((line for line, _ in places), default=0)
    # words share the line of the upright axis's label, if there is room for both
    widths = estimate_text_width(up[2]) + estimate_text_width(words, SMALL) + APART_WORDS
    apart = bool(words) and widths > WIDTH
    top = 22 + 16 * rows + LINE * apart
    upright = AxisScale(low=up[0], high=up[1], first=top + HEIGHT, last=top)
    canvas = Canvas(WIDTH, top + HEIGHT + 36, says)
    for curve, (line, x) in zip(lines, places, strict=True):
        render_legend_entry(canvas, curve, (x, 8 + 16 * line), SAMPLE)
    render_grid(canvas, across, upright, up[2])
    if words:
        at = (WIDTH, top - 8 - LINE * apart)
        canvas.add_text(at, words, anchor="end", colour="quiet", size=SMALL)
    # curves, shifted so that intervals stay apart
    numbers = {curve.label: number for number, curve in enumerate(lines)}
    for curve in curves:
        aside = APART * (numbers[curve.label] - (len(lines) - 1) / 2)
        moved = replace(across, aside=aside)
        render_curve(canvas, curve, moved, up=upright, joined=not curve.more)
    return canvas


def place_legend_entries(
    curves: Sequence[StyledCurve], sample: float
) -> Iterator[tuple[int, float]]:
    """Yield the line of the legend and the place in it of each curve's name."""
    line, x = 0, 0.0
    for curve in curves:
        needed = sample + 5 + min(estimate_text_width(curve.label), WIDTH - sample - 6) + 14
        if x and x + needed > WIDTH + 14:
            line, x = line + 1, 0.0
        yield line, x
        x += needed


def render_legend_entry(canvas: Canvas, curve: StyledCurve, at: Point, sample: float) -> None:
    """Draw an entry of the legend: a piece of the line if there are lines, the marker, the name."""
    x, y = at
    if sample == SAMPLE:
        add_styled_line(canvas, [(x, y), (x + sample, y)], curve.style)
    if not curve.level:
        style = curve.style
        at = (x + sample / 2, y)
        add_marker(canvas, at, MARKER, colour=style.colour, shape=style.marker)
    name = trim_text(curve.label, WIDTH - sample - 6)
    canvas.add_text((x + sample + 5, y + 3.6), name, colour="quiet")


def render_grid(canvas: Canvas, across: HorizontalAxis, up: AxisScale, label: str) -> None:
    """Draw both axes, their numbers and labels, and the edges of a logarithmic one."""
    end = across.unlimited or across.scale.last
    canvas.add_text((0, up.last - 8), label, colour="quiet")
    # horizontal lines with their numbers, then the ticks below
    for tick in up.choose_ticks():
        y = up.place_value(tick)
        canvas.add_line([(LEFT, y), (WIDTH - 4, y)], "line", 0.7)
        canvas.add_text(
            (LEFT - 5, y + 3.4), format_tick(tick), anchor="end", colour="quiet", size=9.5
        )
    ticks = [
        (across.scale.place_value(tick), format_tick(tick))
        for tick in across.scale.choose_ticks(MOST_TICKS)
    ]
    ticks += [(across.zero, "0")] if across.zero is not None else []
    ticks += [(across.unlimited, UNLIMITED)] if across.unlimited is not None else []
    for x, words in ticks:
        canvas.add_line([(x, up.first), (x, up.first + 3)], "quiet", 0.8)
        canvas.add_text((x, up.first + 14), words, anchor="middle", colour="quiet", size=9.5)
    # dashed lines set off the edges, which are no places of the scale
    for edge, side in ((across.zero, across.scale.first), (across.unlimited, across.scale.last)):
        if edge is not None:
            x = (edge + side) / 2 if edge > side else side - 5
            canvas.add_dashed_line([(x, up.first), (x, up.last)], "quiet", 0.8)
    middle = (LEFT + end) / 2
    canvas.add_text((middle, up.first + 29), across.label, anchor="middle", colour="quiet")


def render_curve(
    canvas: Canvas, curve: StyledCurve, across: HorizontalAxis, *, up: AxisScale, joined: bool
) -> None:
    """Draw the intervals, the line and the markers of one curve."""
    style = curve.style
    # a level has no x: a line across
    if curve.level:
        for datum in curve.data:
            if math.isfinite(datum.y.value):
                x, y = WIDTH - 12 + across.aside, up.place_value(datum.y.value)
                if math.isfinite(datum.y.low):
                    ends = [(x, up.place_value(datum.y.low)), (x, up.place_value(datum.y.high))]
                    canvas.add_line(ends, style.colour, 0.9)
                add_styled_line(
                    canvas, [(LEFT, y), (WIDTH - 4, y)], style, describe_curve_point(datum)
                )
        return
    # intervals below the line, the line below the markers
    there = [
        datum
        for datum in curve.data
        if math.isfinite(datum.y.value) and not math.isnan(datum.x.value)
    ]
    for datum in there:
        x, y = across.place_value(datum.x.value), up.place_value(datum.y.value)
        if math.isfinite(datum.y.low):
            canvas.add_line(
                [(x, up.place_value(datum.y.low)), (x, up.place_value(datum.y.high))],
                style.colour,
                0.9,
            )
    if joined:
        line = sorted(
            (across.place_value(datum.x.value), up.place_value(datum.y.value)) for datum in there
        )
        add_styled_line(canvas, line, style)
    for datum in there:
        at = across.place_value(datum.x.value), up.place_value(datum.y.value)
        add_marker(
            canvas,
            at,
            MARKER,
            colour=style.colour,
            shape=datum.shape or style.marker,
            title=describe_curve_point(datum),
        )


def describe_curve_point(datum: CurvePoint) -> str:
    """Return what a point says when it is pointed at."""
    y = datum.y
    interval = f" ({y.low:.2f} to {y.high:.2f})" if math.isfinite(y.low) else ""
    return f"{datum.title}: {y.value:.2f}{interval}, n {y.n}"


def add_styled_line(
    canvas: Canvas, points: Sequence[Point], style: CurveStyle, title: str = ""
) -> None:
    """Draw a line in a style."""
    if len(points) < 2:
        return
    canvas.marks.append(
        Polyline(
            points=tuple(points),
            stroke=style.colour,
            width=1.6,
            dashed=style.dash is not None,
            dash=style.dash or (3.0, 2.5),
            title=title,
        )
    )
