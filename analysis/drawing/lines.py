"""Figures of lines over an axis, as precision along the route."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.drawing.canvas import Canvas
from analysis.drawing.rows import WIDTH, Key, draw_legend, legend_lines
from analysis.drawing.scale import Scale, tick_words

HEIGHT = 170.0


@dataclass(frozen=True, slots=True)
class Line:
    """Values with their intervals, from left to right."""

    label: str
    points: tuple[tuple[float, float, float, float], ...]  # x, value, low, high
    colour: str
    hollow: bool = False


def draw_lines(
    lines: Sequence[Line],
    x: tuple[float, float, str],
    y: tuple[float, float, str],
    says: str,
    apart: float = 0.0,
) -> Canvas:
    """Draw lines; `x` and `y` are the ends of the axes and what is told along them.

    Lines are set `apart` by so much of x, so that their intervals do not hide each other.
    """
    legend = legend_lines([Key(each.label, each.colour, each.hollow) for each in lines])
    top = 24 + 15 * len(legend)
    across = Scale(x[0], x[1], 30, WIDTH - 8)
    up = Scale(y[0], y[1], top + HEIGHT, top)
    canvas = Canvas(WIDTH, top + HEIGHT + 34, says)
    draw_legend(canvas, legend)
    canvas.words((0, top - 9), y[2], colour="quiet")
    for tick in up.ticks():
        canvas.line([(across.first, up.at(tick)), (across.last, up.at(tick))], "line", 0.7)
        canvas.words((24, up.at(tick) + 3.4), tick_words(tick), "end", "quiet", 9.5)
    for tick in across.ticks():
        canvas.words((across.at(tick), up.first + 13), tick_words(tick), "middle", "quiet", 9.5)
    canvas.words(((across.first + across.last) / 2, up.first + 28), x[2], "middle", "quiet")
    for number, line in enumerate(lines):
        draw_line(canvas, line, across, up, apart * (number - (len(lines) - 1) / 2))
    return canvas


def draw_line(canvas: Canvas, line: Line, across: Scale, up: Scale, aside: float) -> None:
    """Draw one line, broken where it knows nothing."""
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
            told = f"{line.label}, {x:g}: {value:.2f}"
            told += f" ({low:.2f} to {high:.2f})" if math.isfinite(low) else ""
            place = across.at(x + aside), up.at(value)
            canvas.dot(place, 2.4, line.colour, line.hollow, told)
