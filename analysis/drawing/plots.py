"""Figures with axes: rows of dots with intervals (a forest plot), and lines over an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.drawing.canvas import Canvas, shortened, width_of
from analysis.drawing.scale import Scale, spread, tick_words

WIDTH = 380.0
ROW, APART = 17.0, 6.0
LABELS = 176.0
"""Widest column of names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A dot, its interval as a thin line, and perhaps its middle half as a thick one."""

    value: float
    low: float = math.nan
    high: float = math.nan
    thick: tuple[float, float] | None = None
    colour: str = "accent"
    hollow: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a figure; without spans it is a heading."""

    label: str
    spans: tuple[Span, ...] = ()
    note: str = ""
    strong: bool = False
    joined: str = ""  # colour of a line from the first to the last dot


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The axis at the bottom."""

    label: str
    keep: tuple[float, ...] = ()  # values that are always inside
    mark: float | None = None  # a reference line
    log: bool = False
    within: tuple[float, float] | None = None  # limits of the axis


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """An entry of the legend."""

    label: str
    colour: str
    hollow: bool = False


def render_rows(
    rows: Sequence[Row],
    axis: Axis,
    *,
    says: str,
    keys: Sequence[LegendEntry] = (),
    height: float = ROW,
) -> Canvas:
    """Draw rows above an axis; several spans of a row stand one below the other."""
    label_room = min(LABELS, max(width_of(row.label) for row in rows) + 8)
    note_room = max((width_of(row.note, 9.5) for row in rows if row.spans), default=0.0)
    legend = legend_lines(keys)
    top = 6 + 15 * len(legend) + (4 if legend else 0)
    bottom = top + height * len(rows)
    canvas = Canvas(WIDTH, bottom + 34, says)
    scale = scale_of(rows, axis, label_room + 6, WIDTH - (note_room + 12 if note_room else 10))
    render_legend(canvas, legend)
    render_axis(canvas, scale, axis=axis, top=top, bottom=bottom)
    for number, row in enumerate(rows):
        render_row(canvas, row, scale=scale, y=top + height * (number + 0.5), label_room=label_room)
    return canvas


def scale_of(rows: Sequence[Row], axis: Axis, first: float, last: float) -> Scale:
    """Return a scale that covers all rows."""
    spans = [span for row in rows for span in row.spans]
    ends = [end for span in spans for end in (span.value, span.low, span.high)]
    if axis.log:
        ends = [math.log10(end) for end in ends if math.isfinite(end) and end > 0]
        low, high = (
            10**number for number in spread(ends, [math.log10(number) for number in axis.keep])
        )
    else:
        low, high = spread(ends, axis.keep)
    if axis.within:
        low, high = max(low, axis.within[0]), min(high, axis.within[1])
    return Scale(low=low, high=high, first=first, last=last, log=axis.log)


def render_axis(canvas: Canvas, scale: Scale, *, axis: Axis, top: float, bottom: float) -> None:
    """Draw ticks, grid lines and the label of the axis."""
    for tick in scale.ticks():
        x = scale.at(tick)
        canvas.line([(x, top), (x, bottom)], "line", 0.7)
        canvas.text((x, bottom + 12), tick_words(tick), anchor="middle", colour="quiet", size=9.5)
    if axis.mark is not None and scale.inside(axis.mark):
        x = scale.at(axis.mark)
        canvas.line([(x, top), (x, bottom)], "quiet", 1.1)
    canvas.text(
        ((scale.first + scale.last) / 2, bottom + 27), axis.label, anchor="middle", colour="quiet"
    )


def render_row(canvas: Canvas, row: Row, *, scale: Scale, y: float, label_room: float) -> None:
    """Draw one row."""
    room = label_room if row.spans else WIDTH
    if row.label:
        canvas.text((0, y + 3.6), shortened(row.label, room), bold=row.strong)
    if row.note:
        canvas.text((WIDTH, y + 3.4), row.note, anchor="end", colour="quiet", size=9.5)
    known = [span for span in row.spans if math.isfinite(span.value)]
    if row.joined and len(known) > 1:
        canvas.line(
            [(scale.at(known[0].value), y), (scale.at(known[-1].value), y)], row.joined, 1.6
        )
    for number, span in enumerate(known):
        aside = 0.0 if row.joined else APART * (number - (len(known) - 1) / 2)
        render_span(canvas, span, scale, y + aside)


def render_span(canvas: Canvas, span: Span, scale: Scale, y: float) -> None:
    """Draw a dot and its intervals; an end beyond the scale is an arrow."""
    if math.isfinite(span.low) and math.isfinite(span.high):
        ends = scale.at(span.low), scale.at(span.high)
        canvas.line([(ends[0], y), (ends[1], y)], span.colour, 1.3)
        for end, value, way in ((ends[0], span.low, 1), (ends[1], span.high, -1)):
            if not scale.inside(value):
                canvas.line([(end + 4 * way, y - 3), (end, y), (end + 4 * way, y + 3)], span.colour)
    if span.thick:
        low, high = (scale.at(end) for end in span.thick)
        canvas.line([(low, y), (high, y)], span.colour, 4.0)
    if scale.inside(span.value):
        canvas.dot(
            (scale.at(span.value), y), 3.2, colour=span.colour, hollow=span.hollow, title=span.title
        )


def legend_lines(keys: Sequence[LegendEntry]) -> list[list[LegendEntry]]:
    """Return the legend in lines that fit."""
    lines: list[list[LegendEntry]] = []
    x = WIDTH
    for key in keys:
        needed = 12 + width_of(key.label) + 12
        if x + needed > WIDTH:
            lines.append([])
            x = 0.0
        lines[-1].append(key)
        x += needed
    return lines


def render_legend(canvas: Canvas, lines: Sequence[Sequence[LegendEntry]]) -> None:
    """Draw the legend at the top."""
    for number, line in enumerate(lines):
        x, y = 5.0, 9.0 + 15 * number
        for key in line:
            canvas.dot((x, y), 3.2, colour=key.colour, hollow=key.hollow)
            canvas.text((x + 8, y + 3.6), shortened(key.label, WIDTH - 20), colour="quiet")
            x += 12 + width_of(key.label) + 12


HEIGHT = 170.0


@dataclass(frozen=True, slots=True)
class Line:
    """Values with their intervals, from left to right."""

    label: str
    points: tuple[tuple[float, float, float, float], ...]  # x, value, low, high
    colour: str
    hollow: bool = False


def render_lines(
    lines: Sequence[Line],
    x: tuple[float, float, str],
    *,
    y: tuple[float, float, str],
    says: str,
    apart: float = 0.0,
) -> Canvas:
    """Draw lines; `x` and `y` are the ends of the axes and their labels.

    Lines are set `apart` by so much of x, so that their intervals do not hide each other.
    """
    legend = legend_lines([LegendEntry(line.label, line.colour, line.hollow) for line in lines])
    top = 24 + 15 * len(legend)
    across = Scale(low=x[0], high=x[1], first=30, last=WIDTH - 8)
    up = Scale(low=y[0], high=y[1], first=top + HEIGHT, last=top)
    canvas = Canvas(WIDTH, top + HEIGHT + 34, says)
    render_legend(canvas, legend)
    canvas.text((0, top - 9), y[2], colour="quiet")
    for tick in up.ticks():
        canvas.line([(across.first, up.at(tick)), (across.last, up.at(tick))], "line", 0.7)
        canvas.text(
            (24, up.at(tick) + 3.4), tick_words(tick), anchor="end", colour="quiet", size=9.5
        )
    for tick in across.ticks():
        canvas.text(
            (across.at(tick), up.first + 13),
            tick_words(tick),
            anchor="middle",
            colour="quiet",
            size=9.5,
        )
    canvas.text(
        ((across.first + across.last) / 2, up.first + 28), x[2], anchor="middle", colour="quiet"
    )
    for number, line in enumerate(lines):
        render_line(
            canvas, line, across=across, up=up, aside=apart * (number - (len(lines) - 1) / 2)
        )
    return canvas


def render_line(canvas: Canvas, line: Line, *, across: Scale, up: Scale, aside: float) -> None:
    """Draw one line, interrupted where values are missing."""
    piece: list[tuple[float, float]] = []
    for x, value, low, high in line.points:
        if not math.isfinite(value):
            canvas.line(piece, line.colour, 1.5)
            piece = []
            continue
        at = across.at(x + aside)
        if math.isfinite(low):
            canvas.line([(at, up.at(low)), (at, up.at(high))], line.colour, 0.9)
        piece.append((at, up.at(value)))
    canvas.line(piece, line.colour, 1.5)
    for x, value, low, high in line.points:
        if math.isfinite(value):
            title = f"{line.label}, {x:g}: {value:.2f}"
            title += f" ({low:.2f} to {high:.2f})" if math.isfinite(low) else ""
            place = across.at(x + aside), up.at(value)
            canvas.dot(place, 2.4, colour=line.colour, hollow=line.hollow, title=title)
