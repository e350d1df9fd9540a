"""Figures with axes: rows of dots with intervals (a forest plot), and lines over an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.drawing.canvas import Canvas, estimate_text_width, trim_text
from analysis.drawing.markers import add_marker
from analysis.drawing.scale import AxisScale, compute_axis_ends, format_tick

WIDTH = 380.0
ROW, APART, RADIUS = 17.0, 6.0, 3.2
LABELS = 176.0
"""Widest column of names, unless they would look the same."""
LETTER = 6.0
"""By which that column grows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalSpan:
    """A dot, its interval as a thin line, and perhaps its middle half as a thick one.

    Attributes:
        value: the dot, in the unit of the axis; NaN: not drawn.
        low: lower end of the interval; NaN: no interval.
        high: upper end.
        thick: ends of the middle half.
        colour: a name of the palette.
        unconfirmed: a test did not confirm the value: the marker is hollow.
        shape: of the marker.
        title: shown when pointed at.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    thick: tuple[float, float] | None = None
    colour: str = "accent"
    unconfirmed: bool = False
    shape: str = "circle"
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRow:
    """A line of a figure; without spans it is a heading.

    Attributes:
        label: to the left of the axis.
        spans: values with their intervals.
        note: to the right of the axis.
        strong: a heavier label.
        joined: colour of a line from the first to the last marker, all of which are in one line.
        apart: markers in one line that would hide each other are set one above the other.
    """

    label: str
    spans: tuple[IntervalSpan, ...] = ()
    note: str = ""
    strong: bool = False
    joined: str = ""
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotAxis:
    """The axis at the bottom.

    Attributes:
        label: below the axis.
        log: a logarithmic axis.
    """

    label: str
    keep: tuple[float, ...] = ()  # values that are always inside
    mark: float | None = None  # a reference line
    log: bool = False
    within: tuple[float, float] | None = None  # limits of the axis


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """An entry of the legend.

    Attributes:
        label: the words.
        colour: a name of the palette.
        unconfirmed: the sign is hollow.
        shape: of the sign.
    """

    label: str
    colour: str
    unconfirmed: bool = False
    shape: str = "circle"


def render_forest_plot(
    rows: Sequence[PlotRow],
    axis: PlotAxis,
    *,
    says: str,
    keys: Sequence[LegendEntry] = (),
    height: float = ROW,
) -> Canvas:
    """Draw rows above an axis; several spans of a row stand one below the other.

    Args:
        rows: from top to bottom.
        axis: its label and limits.
        says: description for screen readers.
        keys: the legend.
        height: of a row.

    Returns:
        A canvas of the usual width.
    """
    # room for labels and notes first; the axis gets the rest
    label_room = choose_label_room([row.label for row in rows])
    note_room = max((estimate_text_width(row.note, 9.5) for row in rows if row.spans), default=0.0)
    legend = wrap_legend(keys)
    top = 6 + 15 * len(legend) + (4 if legend else 0)
    bottom = top + height * len(rows)
    canvas = Canvas(WIDTH, bottom + 34, says)
    scale = fit_axis_scale(
        rows, axis, label_room + 6, WIDTH - (note_room + 12 if note_room else 10)
    )
    render_plot_legend(canvas, legend)
    render_plot_axis(canvas, scale, axis=axis, top=top, bottom=bottom)
    # each row in the middle of its height
    for number, row in enumerate(rows):
        render_plot_row(
            canvas, row, scale=scale, y=top + height * (number + 0.5), label_room=label_room
        )
    return canvas


def choose_label_room(labels: Sequence[str]) -> float:
    """Return the width of the column of names: no two of them may look the same.

    Names that are too long lose letters in their middle, which may be all that they differ in.

    Args:
        labels: names of the rows, and headings.
    """
    widest = max(map(estimate_text_width, labels)) + 8
    room = min(LABELS, widest)
    while room < widest and len({trim_text(label, room) for label in labels}) < len({*labels}):
        room += LETTER
    return room


def fit_axis_scale(rows: Sequence[PlotRow], axis: PlotAxis, first: float, last: float) -> AxisScale:
    """Return a scale that covers all rows."""
    spans = [span for row in rows for span in row.spans]
    ends = [end for span in spans for end in (span.value, span.low, span.high)]
    if axis.log:
        ends = [math.log10(end) for end in ends if math.isfinite(end) and end > 0]
        low, high = (
            10**number
            for number in compute_axis_ends(ends, [math.log10(number) for number in axis.keep])
        )
    else:
        low, high = compute_axis_ends(ends, axis.keep)
    if axis.within:
        low, high = max(low, axis.within[0]), min(high, axis.within[1])
    return AxisScale(low=low, high=high, first=first, last=last, log=axis.log)


def render_plot_axis(
    canvas: Canvas, scale: AxisScale, *, axis: PlotAxis, top: float, bottom: float
) -> None:
    """Draw ticks, grid lines and the label of the axis."""
    for tick in scale.choose_ticks():
        x = scale.place_value(tick)
        canvas.add_line([(x, top), (x, bottom)], "line", 0.7)
        canvas.add_text(
            (x, bottom + 12), format_tick(tick), anchor="middle", colour="quiet", size=9.5
        )
    if axis.mark is not None and scale.is_on_axis(axis.mark):
        x = scale.place_value(axis.mark)
        canvas.add_line([(x, top), (x, bottom)], "quiet", 1.1)
    canvas.add_text(
        ((scale.first + scale.last) / 2, bottom + 27), axis.label, anchor="middle", colour="quiet"
    )


def render_plot_row(
    canvas: Canvas, row: PlotRow, *, scale: AxisScale, y: float, label_room: float
) -> None:
    """Draw one row."""
    room = label_room if row.spans else WIDTH
    if row.label:
        canvas.add_text((0, y + 3.6), trim_text(row.label, room), bold=row.strong)
    if row.note:
        canvas.add_text((WIDTH, y + 3.4), row.note, anchor="end", colour="quiet", size=9.5)
    known = [span for span in row.spans if math.isfinite(span.value)]
    if row.joined and len(known) > 1:
        canvas.add_line(
            [(scale.place_value(known[0].value), y), (scale.place_value(known[-1].value), y)],
            row.joined,
            1.6,
        )
    if row.apart:
        places = [scale.place_value(span.value) for span in known]
        asides = spread_markers(places)
    else:
        middle = (len(known) - 1) / 2
        asides = [0.0 if row.joined else APART * (n - middle) for n in range(len(known))]
    for span, aside in zip(known, asides, strict=True):
        render_span(canvas, span, scale, y + aside)


def spread_markers(places: Sequence[float]) -> list[float]:
    """Return how far up or down markers in one line are set, so that none hides another.

    Args:
        places: of the markers, from left to right or in any order.
    """
    # runs of markers, each of which would touch the one before
    order = sorted(range(len(places)), key=lambda number: places[number])
    runs: list[list[int]] = []
    for number in order:
        if runs and places[number] - places[runs[-1][-1]] < 2 * RADIUS:
            runs[-1].append(number)
        else:
            runs.append([number])
    asides = [0.0] * len(places)
    for run in runs:
        for position, number in enumerate(run):
            asides[number] = APART * (position - (len(run) - 1) / 2)
    return asides


def render_span(canvas: Canvas, span: IntervalSpan, scale: AxisScale, y: float) -> None:
    """Draw a dot and its intervals; an end beyond the scale is an arrow."""
    # the interval
    if math.isfinite(span.low) and math.isfinite(span.high):
        ends = scale.place_value(span.low), scale.place_value(span.high)
        canvas.add_line([(ends[0], y), (ends[1], y)], span.colour, 1.3)
        for end, value, way in ((ends[0], span.low, 1), (ends[1], span.high, -1)):
            if not scale.is_on_axis(value):
                canvas.add_line(
                    [(end + 4 * way, y - 3), (end, y), (end + 4 * way, y + 3)], span.colour
                )
    # the inner interval, then the dot
    if span.thick:
        low, high = (scale.place_value(end) for end in span.thick)
        canvas.add_line([(low, y), (high, y)], span.colour, 4.0)
    if scale.is_on_axis(span.value):
        add_marker(
            canvas,
            (scale.place_value(span.value), y),
            RADIUS,
            colour=span.colour,
            shape=span.shape,
            unconfirmed=span.unconfirmed,
            title=span.title,
        )


def wrap_legend(keys: Sequence[LegendEntry]) -> list[list[LegendEntry]]:
    """Return the legend in lines that fit."""
    lines: list[list[LegendEntry]] = []
    x = WIDTH
    for key in keys:
        needed = 12 + estimate_text_width(key.label) + 12
        if x + needed > WIDTH:
            lines.append([])
            x = 0.0
        lines[-1].append(key)
        x += needed
    return lines


def render_plot_legend(canvas: Canvas, lines: Sequence[Sequence[LegendEntry]]) -> None:
    """Draw the legend at the top."""
    for number, line in enumerate(lines):
        x, y = 5.0, 9.0 + 15 * number
        for key in line:
            add_marker(
                canvas,
                (x, y),
                RADIUS,
                colour=key.colour,
                shape=key.shape,
                unconfirmed=key.unconfirmed,
            )
            canvas.add_text((x + 8, y + 3.6), trim_text(key.label, WIDTH - 20), colour="quiet")
            x += 12 + estimate_text_width(key.label) + 12


HEIGHT = 170.0


@dataclass(frozen=True, slots=True)
class PlotLine:
    """Values with their intervals, from left to right.

    Attributes:
        label: in the legend; a line without a label has no entry.
        colour: a name of the palette.
        shape: of the markers.
    """

    label: str
    points: tuple[tuple[float, float, float, float], ...]  # x, value, low, high
    colour: str
    shape: str = "circle"


def render_line_plot(
    lines: Sequence[PlotLine],
    x: tuple[float, float, str],
    *,
    y: tuple[float, float, str],
    says: str,
    apart: float = 0.0,
) -> Canvas:
    """Draw lines; `x` and `y` are the ends of the axes and their labels.

    Lines are set `apart` by so much of x, so that their intervals do not hide each other.

    Args:
        lines: from the first to the last of the legend.
        x: the ends of the axis, and its label.
        y: the ends of the axis, and its label.
        says: description for screen readers.
        apart: in units of x.

    Returns:
        A canvas of the usual width.
    """
    legend = wrap_legend(
        [LegendEntry(line.label, line.colour, shape=line.shape) for line in lines if line.label]
    )
    top = 24 + 15 * len(legend)
    # both axes below the legend
    across = AxisScale(low=x[0], high=x[1], first=30, last=WIDTH - 8)
    up = AxisScale(low=y[0], high=y[1], first=top + HEIGHT, last=top)
    canvas = Canvas(WIDTH, top + HEIGHT + 34, says)
    render_plot_legend(canvas, legend)
    canvas.add_text((0, top - 9), y[2], colour="quiet")
    # grid lines and numbers
    for tick in up.choose_ticks():
        canvas.add_line(
            [(across.first, up.place_value(tick)), (across.last, up.place_value(tick))], "line", 0.7
        )
        canvas.add_text(
            (24, up.place_value(tick) + 3.4),
            format_tick(tick),
            anchor="end",
            colour="quiet",
            size=9.5,
        )
    for tick in across.choose_ticks():
        canvas.add_text(
            (across.place_value(tick), up.first + 13),
            format_tick(tick),
            anchor="middle",
            colour="quiet",
            size=9.5,
        )
    canvas.add_text(
        ((across.first + across.last) / 2, up.first + 28), x[2], anchor="middle", colour="quiet"
    )
    # lines side by side, the middle one at its true place
    for number, line in enumerate(lines):
        render_line_series(
            canvas, line, across=across, up=up, aside=apart * (number - (len(lines) - 1) / 2)
        )
    return canvas


def render_line_series(
    canvas: Canvas, line: PlotLine, *, across: AxisScale, up: AxisScale, aside: float
) -> None:
    """Draw one line, interrupted where values are missing."""
    # the line, in pieces, with intervals
    piece: list[tuple[float, float]] = []
    # dots over the line
    for x, value, low, high in line.points:
        if not math.isfinite(value):
            canvas.add_line(piece, line.colour, 1.5)
            piece = []
            continue
        at = across.place_value(x + aside)
        if math.isfinite(low):
            canvas.add_line(
                [(at, up.place_value(low)), (at, up.place_value(high))], line.colour, 0.9
            )
        piece.append((at, up.place_value(value)))
    canvas.add_line(piece, line.colour, 1.5)
    for x, value, low, high in line.points:
        if math.isfinite(value):
            title = f"{line.label}, {x:g}: {value:.2f}"
            title += f" ({low:.2f} to {high:.2f})" if math.isfinite(low) else ""
            place = across.place_value(x + aside), up.place_value(value)
            add_marker(canvas, place, 2.4, colour=line.colour, shape=line.shape, title=title)
