"""Markers of figures: shapes, and the one rule of what is hollow."""

from __future__ import annotations

import math

from analysis.drawing.canvas import Canvas, Circle, Point, Polyline

CORNERS = {"square": 4, "triangle": 3, "diamond": 4, "down": 3}
"""The markers with corners, and how many they have."""
FIRST = {"square": 45.0, "triangle": -90.0, "diamond": 0.0, "down": 90.0}
"""Degrees at which a marker's first corner lies."""
SHAPES = ("circle", *CORNERS)
"""Shapes that lines and systems get in turn."""
CROSS = "cross"
"""Two strokes, which have no inside."""
LARGER = 1.35
"""Radius of a shape with corners, as a share of a circle that looks as large."""
EDGE = 1.4
"""Width of a marker's outline."""


def choose_marker_fill(colour: str, unconfirmed: bool) -> str:
    """Return the fill of a marker: hollow means that a test did not confirm the result.

    Hollow has this meaning in all figures, and no other one. A difference that is not statistically
    significant is hollow. A critical size that a second drive did not confirm is hollow. Everything
    else is filled, results that are not tested too. Arms, patterns and conditions differ by colour
    and shape.

    Args:
        colour: a name of the palette.
        unconfirmed: a test was made of the result, and did not confirm it.
    """
    return "paper" if unconfirmed else colour


def add_marker(
    canvas: Canvas,
    at: Point,
    radius: float,
    *,
    colour: str,
    shape: str = "circle",
    unconfirmed: bool = False,
    title: str = "",
) -> None:
    """Draw a marker.

    Args:
        canvas: the drawing.
        at: x and y.
        radius: of a circle, in units of the drawing; other shapes look as large.
        colour: a name of the palette.
        shape: one of `SHAPES`, or `CROSS`.
        unconfirmed: a test did not confirm the result: hollow.
        title: shown where a pointer rests on the marker.
    """
    fill = choose_marker_fill(colour, unconfirmed)
    if shape == "circle":
        canvas.marks.append(Circle(at=at, radius=radius, fill=fill, stroke=colour, title=title))
        return
    x, y = at
    if shape == CROSS:
        for way in (1.0, -1.0):
            ends = (x - radius, y - way * radius), (x + radius, y + way * radius)
            canvas.marks.append(Polyline(points=ends, stroke=colour, width=EDGE, title=title))
        return
    count = CORNERS[shape]
    turns = [math.radians(FIRST[shape] + 360 * turn / count) for turn in range(count)]
    points = tuple(
        (x + LARGER * radius * math.cos(turn), y + LARGER * radius * math.sin(turn))
        for turn in turns
    )
    canvas.marks.append(
        Polyline(points=points, stroke=colour, fill=fill, width=EDGE, closed=True, title=title)
    )
