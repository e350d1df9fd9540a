"""What stands beside the road in a film: the clock, speed, messages, errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.drawing.canvas import Canvas
from analysis.drawing.palette import KIND_OF_ERROR, brought
from analysis.drawing.scale import Scale, spread, tick_words
from analysis.drive import Drive, Moment
from analysis.figures.strips import SIZE, heard
from analysis.replay.scene import ages
from harness.vocabulary import PATTERNS, Floats

PANEL = 170.0
LEFT, RIGHT = 26.0, PANEL - 8
HEIGHT = 42.0
"""Of a curve."""
SHORTEST = 0.1
"""Seconds that a curve spans at least."""


def draw_panel(drive: Drive, shown: Sequence[Moment], now: Moment) -> Canvas:
    """Draw everything that changes and is not on the road."""
    canvas = Canvas(PANEL, SIZE, "clock, speed, messages and errors")
    canvas.words((4, 15), f"{now.time:.1f} s", size=16, bold=True)
    canvas.words((4, 28), f"{now.before:.1f} s before {drive.ending}", colour="quiet")
    across = Scale(shown[0].time, max(drive.end, shown[0].time + SHORTEST), LEFT, RIGHT)
    speeds = np.array([(each.time, 3.6 * float(each.state["speed"])) for each in shown])
    canvas.words((4, 48), "speed, km/h", colour="quiet")
    canvas.words((RIGHT, 48), f"{3.6 * float(now.state['speed']):.0f}", "end", bold=True)
    up = draw_axes(canvas, 55, across, speeds[:, 1], now.time)
    past = speeds[speeds[:, 0] <= now.time + 1e-6].tolist()
    canvas.line([(across.at(time), up.at(speed)) for time, speed in past], "accent", 1.4)
    told = np.column_stack(ages(drive.messages))
    told = told[(told[:, 0] >= across.low) & (told[:, 0] <= across.high)]
    canvas.words((4, 115), "messages' age at delivery, s", colour="quiet")
    up = draw_axes(canvas, 122, across, told[:, 1], now.time)
    canvas.words((4, 179), f"now: {heard(now.state)}", colour="quiet")
    for time, age in told[told[:, 0] <= now.time + 1e-6].tolist():
        canvas.dot((across.at(time), up.at(age)), 1.5, "accent")
    draw_errors(canvas, now)
    return canvas


def draw_axes(canvas: Canvas, top: float, across: Scale, values: Floats, now: float) -> Scale:
    """Draw a frame for a curve, and a line where the film is; return the scale upwards."""
    low, high = spread(values.tolist(), (0.0,))
    up = Scale(low, high, top + HEIGHT, top)
    for tick in up.ticks(3):
        canvas.line([(LEFT, up.at(tick)), (RIGHT, up.at(tick))], "line", 0.7)
        canvas.words((LEFT - 3, up.at(tick) + 3), tick_words(round(tick, 6)), "end", "quiet", 8.5)
    x = across.at(now)
    canvas.line([(x, top), (x, top + HEIGHT)], "quiet", 0.8)
    return up


def draw_errors(canvas: Canvas, now: Moment) -> None:
    """Draw how often each pattern is counted now."""
    canvas.words((4, 203), "errors now", colour="quiet")
    for number, pattern in enumerate(PATTERNS):
        x, y = 10 + 56 * (number % 3), 219 + 17 * (number // 3)
        count = int(now.state[pattern])
        colour = KIND_OF_ERROR[pattern]
        canvas.dot((x, y - 3.4), 3.2, colour, hollow=not brought(pattern))
        ink = "ink" if count else "quiet"
        canvas.words((x + 7, y), f"{pattern} {count}", colour=ink, size=9, bold=bool(count))
