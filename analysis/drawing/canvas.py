"""A drawing before it is SVG or PNG: polylines, circles and labels with named colours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float]
Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyline:
    """A polyline, or a polygon if it is closed.

    Attributes:
        points: x and y in units of the drawing.
        stroke: colour of the line; empty for none.
        fill: colour inside; empty for none.
        title: shown where a pointer rests on it.
    """

    points: tuple[Point, ...]
    stroke: str = ""
    fill: str = ""
    width: float = 1.0
    closed: bool = False
    dashed: bool = False
    dash: tuple[float, float] = (3.0, 2.5)  # stroke and gap, if dashed
    opacity: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """A circle.

    Attributes:
        at: x and y of the centre.
        radius: in units of the drawing.
        fill: colour inside.
        stroke: colour of the outline; empty for none.
    """

    at: Point
    radius: float
    fill: str
    stroke: str = ""
    width: float = 1.4
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLabel:
    """A line of text; `at` is on its base line."""

    at: Point
    text: str
    size: float = 10.5
    anchor: Anchor = "start"
    colour: str = "ink"
    bold: bool = False


Mark: TypeAlias = Polyline | Circle | TextLabel


@dataclass(slots=True)
class Canvas:
    """Marks in the order in which they are drawn; x to the right, y down.

    Attributes:
        width: in units of the drawing, some 1/96 inch.
        height: the same.
        marks: lines, circles and texts.
    """

    width: float
    height: float
    description: str  # for screen readers
    marks: list[Mark] = field(default_factory=list)

    def add_line(self, points: Iterable[Point], stroke: str, width: float = 1.0) -> None:
        """Draw a polyline."""
        self.marks.append(Polyline(points=tuple(points), stroke=stroke, width=width))

    def add_dashed_line(self, points: Iterable[Point], stroke: str, width: float = 1.0) -> None:
        """Draw a dashed polyline."""
        self.marks.append(Polyline(points=tuple(points), stroke=stroke, width=width, dashed=True))

    def add_text(
        self,
        at: Point,
        text: str,
        *,
        anchor: Anchor = "start",
        colour: str = "ink",
        size: float = 10.5,
        bold: bool = False,
    ) -> None:
        """Write a line of text.

        Args:
            at: x and y of the baseline.
            text: one line.
            anchor: which end of the text is at `at`.
            colour: a name of the palette.
            size: of letters, in units of the drawing.
            bold: heavier letters.
        """
        self.marks.append(
            TextLabel(at=at, text=text, size=size, anchor=anchor, colour=colour, bold=bold)
        )


def estimate_text_width(text: str, size: float = 10.5) -> float:
    """Return the approximate width of a text.

    Args:
        text: one line.
        size: of letters, in units of the drawing.
    """
    narrow = sum(letter in "iljtf.,:;|!'() -/" for letter in text)
    return size * (0.63 * (len(text) - narrow) + 0.37 * narrow)


def trim_text(text: str, room: float, size: float = 10.5) -> str:
    """Return a text shortened in its middle to fit.

    Args:
        text: one line.
        room: width, in units of the drawing.
        size: of letters, in units of the drawing.

    Returns:
        With `…` in the middle where it was too long.
    """
    if estimate_text_width(text, size) <= room:
        return text
    keep = len(text)
    while keep > 2 and estimate_text_width(text, size) * keep / len(text) > room:
        keep -= 1
    front = (keep + 1) // 2
    return f"{text[:front]}…{text[len(text) - (keep - front) :]}"
